"""`python -m reluflow`: the command `reluflow`."""

from reluflow.cli.main import run

run()
