"""reluflow: a laboratory for how small-initialisation ReLU networks learn."""

__version__ = "0.1.0"
