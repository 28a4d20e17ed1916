"""Errata of Min, Zhu & Vidal (2025): what is printed, where it fails, and what holds instead [min2025]."""

from reluflow.papers.min2025.errata.limit import E4, E5, E6, E8, E10, E11, E15, E16
from reluflow.papers.min2025.errata.separation import E1, E2, E3, E7, E9, E12, E13, E14, E17

ERRATA = (E1, E2, E3, E4, E5, E6, E7, E8, E9, E10, E11, E12, E13, E14, E15, E16, E17)
