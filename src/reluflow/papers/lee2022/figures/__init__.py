"""The figures of Lee, Sim & Ye (2022), one module each, and the runs and settings they share."""
