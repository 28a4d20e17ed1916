"""What the tests of studies share."""

import pytest

from reluflow.study import flow_summary


@pytest.fixture
def ctrl_c_in_the_run(monkeypatch):
    """Ctrl-C comes after the third step of a study's run, until `undo()`."""
    train = flow_summary.train

    def stop(run):
        if run.steps >= 3:
            raise KeyboardInterrupt

    def interrupted(problem, solver, **options):
        return train(problem, solver, **options | {"progress": stop})

    monkeypatch.setattr(flow_summary, "train", interrupted)
    return monkeypatch
