"""Boursier & Flammarion (2024): its point sets, assumptions, results, errata and figures [boursier2024]."""
