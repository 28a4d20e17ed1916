"""Boursier & Flammarion (2024): early alignment, its phases and what they lead to [boursier2024]."""
