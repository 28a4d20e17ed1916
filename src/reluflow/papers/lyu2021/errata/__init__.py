"""Errata of Lyu, Li, Wang & Arora (2021), arXiv v3: what is printed, where it fails, what holds instead [lyu2021]."""

from reluflow.papers.lyu2021.errata.cone import E2, E4, E5, E6, E7, E8, E11, E15, E16
from reluflow.papers.lyu2021.errata.flow import E1, E3, E9, E10, E12, E13, E14, E17, E18, E19, E20

ERRATA = (E1, E2, E3, E4, E5, E6, E7, E8, E9, E10, E11, E12, E13, E14, E15, E16, E17, E18, E19, E20)
