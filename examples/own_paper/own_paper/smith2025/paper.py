"""How the paper is cited."""

from reluflow.found_papers import Paper

PAPER = Paper("smith2025", "Smith", 2025, "Losses that fall", "the loss of two points")
