"""Lee, Sim & Ye (2022): how it is cited, and the setting its results are stated in."""

from __future__ import annotations

from reluflow.found_papers import Paper
from reluflow.theory.setting import Setting

PAPER = Paper(
    "lee2022",
    "Lee, Sim & Ye",
    2022,
    "Magnitude and Angle Dynamics in Training Single ReLU Neurons",
    "magnitude and angle of a single neuron",
    place=4,
)

SETTING = Setting(loss="square", init="lee", width=1, scale="0.3")
EXAMPLE = "lee-single-neuron:n=2000,d=5,layers=1,std=0.45"
