"""Side-by-side timings: ours against a peer, in the same run, as ratios with the agreement of the results."""
