"""The figures of Min, Mallada & Vidal (2024), one module each, and the runs and measures they share."""
