"""Experiments of one group."""
