"""The whole story of one dataset: its stages, its findings, its report."""
