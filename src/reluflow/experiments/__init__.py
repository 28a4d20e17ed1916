"""Describe runs, run them, keep them, and gather the evidence theorems ask for."""
