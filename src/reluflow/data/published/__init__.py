"""The exact point sets of the papers, one module per paper key; `papers/<key>/data.py` gives them their names."""
