"""The figures of Phuong & Lampert (2021), one module each, and the runs and measures they share."""
