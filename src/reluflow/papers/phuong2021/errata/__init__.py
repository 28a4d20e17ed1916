"""Errata of Phuong & Lampert (2021), ICLR version: what is printed, where it fails, and what holds instead."""

from reluflow.papers.phuong2021.errata.dynamics import P1, P7, P8, P9, P11, P14, P15, P16
from reluflow.papers.phuong2021.errata.geometry import P2, P3, P4, P5, P6, P10, P12, P13

ERRATA = (P1, P2, P3, P4, P5, P6, P7, P8, P9, P10, P11, P12, P13, P14, P15, P16)
