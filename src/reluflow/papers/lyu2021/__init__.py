"""Figures and Table 1 of Lyu, Li, Wang & Arora (2021)."""
