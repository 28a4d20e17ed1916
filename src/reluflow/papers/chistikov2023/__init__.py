"""Figures of Chistikov, Englert & Lazic (2023) [chistikov2023]."""
