"""The figures of Boursier & Flammarion (2024), one module each, and the runs and measures they share."""
