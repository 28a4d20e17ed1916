"""Gradient descent: plain, grouped by activation pattern, stochastic."""
