"""Lyu, Li, Wang & Arora (2021): margin maximisation and simplicity bias [lyu2021]."""
