"""Figures of Min, Zhu & Vidal (2025) [min2025]."""
