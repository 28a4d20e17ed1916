"""Chistikov, Englert & Lazic (2023): one neuron learnt from correlated inputs [chistikov2023]."""
