"""Theorems and assumptions as objects that judge, never train."""
