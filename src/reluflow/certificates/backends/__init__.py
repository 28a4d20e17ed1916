"""One file per LP/QP package, imported nowhere else."""
