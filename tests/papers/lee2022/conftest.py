"""The run that Figures 1 and 2 share, computed once for the tests of both."""

import pytest

from reluflow.papers.lee2022.figures.nine_starts_run import QUICK, compute
from reluflow.papers.workbench import Workbench


@pytest.fixture(scope="session")
def nine_starts():
    return compute(QUICK, Workbench("lee2022/fig1", QUICK))
