"""The settings in which results of Lyu et al. (2021) are stated, where it is not that of most [lyu2021]."""

from __future__ import annotations

from reluflow.theory.setting import Setting

ONE_POSITIVE_NEURON = Setting(loss="logistic", leak=None, init="lee", width=1, scale="1e-3")  # "lee" draws a = |w| > 0
TWO_NEURONS = Setting(loss="logistic", leak=None, init="lyu-balanced", width=2, scale="1e-3")
# The losing sign's share falls like (log t)^(-1/3) only: from 1e-8 some draws are 0.07 from their limit at ln t = 700,
# from 1e-30 all of ten were close enough to identify it. Twelve neurons are all of one sign with chance 1 in 2048.
TWELVE_BALANCED_NEURONS = Setting(loss="logistic", leak=None, init="lyu-balanced", width=12, scale="1e-30")
BALANCED_SETTING = Setting(loss="logistic", leak=None, init="lyu-balanced", width=6, scale="1e-3")
RELU_SETTING = Setting(loss="logistic", leak=0.0, init="lyu-balanced", width=6, scale="1e-3")
