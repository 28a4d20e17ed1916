"""The figures of Chistikov, Englert & Lazic (2023), one module each, and the runs and measures they share."""
