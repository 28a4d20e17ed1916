"""The figures of Lyu, Li, Wang & Arora (2021), one module each, and the runs and measures they share."""
