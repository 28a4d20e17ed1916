"""The figures of Boursier & Flammarion (2024) [boursier2024]."""
