"""The figures of Lee, Sim & Ye (2022) [lee2022]."""
