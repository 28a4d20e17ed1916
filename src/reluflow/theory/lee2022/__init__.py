"""Lee, Sim & Ye (2022): magnitude and angle of a single neuron [lee2022]."""
