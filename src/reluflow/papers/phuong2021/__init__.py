"""The figures of Phuong & Lampert (2021) [phuong2021]."""
