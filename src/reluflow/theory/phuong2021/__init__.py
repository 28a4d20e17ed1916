"""Phuong & Lampert (2021): orthogonally separable data [phuong2021]."""
