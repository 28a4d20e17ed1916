"""A wheel that carries compiled kernels: in an empty home nothing is compiled, and another processor compiles."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_TRAIN = """
import sys
import numpy as np
import reluflow
from reluflow.compilation.kernel import KERNELS
from reluflow.warm_up import Work, warm_up

assert reluflow.__file__.startswith(sys.argv[1]), reluflow.__file__
asked = warm_up(Work.EVENT_DRIVEN_FLOW) if sys.argv[2] == "all" else 0
data = reluflow.load("three-points")
network = reluflow.balanced_initialization(data, width=20, scale=1e-3, rng=np.random.default_rng(0))
problem = reluflow.TrainingProblem(data, reluflow.SquareLoss(), network)
run = reluflow.train(problem, reluflow.EventDrivenFlow(), until=5.0)
misses = sum(sum(d.stats.cache_misses.values()) for d in KERNELS.values())
hits = sum(sum(d.stats.cache_hits.values()) for d in KERNELS.values())
print(asked, hits > 10, misses > 10, run.loss.hex())
"""


@pytest.mark.slow
def test_a_wheel_with_kernels_compiles_nothing_where_it_fits_and_everything_where_it_does_not(tmp_path):
    built = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "wheel_with_kernels.py"), str(tmp_path / "dist")],
        capture_output=True, text=True, check=True, timeout=900,
    )  # fmt: skip
    wheel, place, home = built.stdout.split()[-1], tmp_path / "installed", tmp_path / "home"
    home.mkdir()
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(place), wheel]
    subprocess.run(install, check=True, timeout=300)

    def answer(what: str, **more: str) -> list[str]:
        environment = {**os.environ, "HOME": str(home), "PYTHONPATH": str(place), **more}
        command = [sys.executable, "-c", _TRAIN, str(place), what]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=True)
        return ran.stdout.split()

    carried = answer("all")
    assert carried[:3] == ["0", "True", "False"]
    other = answer("nothing", NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="")
    assert other[1:3] == ["False", "True"]
    elsewhere = answer("nothing", NUMBA_CACHE_DIR=str(tmp_path / "own"))
    assert elsewhere[1:3] == ["False", "True"]
    assert elsewhere[3] == carried[3]  # the same machine code, carried or compiled
