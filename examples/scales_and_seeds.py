"""A small sweep: how often does the run end at the least-squares line, over the scale?"""

from matplotlib.figure import Figure

import reluflow

result = reluflow.sweep(
    reluflow.Experiment("three-points", width=20),
    over={"scale": "1..1e-2:log:5", "seed": range(6)},
    measure=["end", "loss"],
    executor="serial",
)
frame = result.frame()
share = (frame["end"] == "least-squares").groupby(frame["scale"].astype(float)).mean()
print(share)
figure = Figure(figsize=(5.6, 3.4), layout="constrained")
axes = figure.add_subplot()
axes.semilogx(share.index, share.values, "o-")
axes.set(xlabel="initial scale", ylabel="share of seeds that end at the line", ylim=(-0.05, 1.05))
figure.savefig("scales_and_seeds.png", dpi=150)
