"""Kernels on disk: taken only where nothing that they are made of has changed, by new processes and old versions."""

import json
import subprocess
import sys

import pytest

_NEW_PROCESSES = """
import json, os, sys, traceback
import numba
for line in sys.stdin:
    code, arguments = json.loads(line)
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        os.dup2(write, 1)
        sys.argv, sys.dont_write_bytecode, status = ["-c", *arguments], True, 0
        try:
            exec(code, {"__name__": "__main__"})
        except BaseException:
            traceback.print_exc()
            status = 1
        sys.stdout.flush()
        os._exit(status)
    os.close(write)
    said = os.fdopen(read).read()
    print(json.dumps([os.waitpid(child, 0)[1], said]), flush=True)
"""


@pytest.fixture(scope="module")
def in_a_new_process():
    """Run code in a process that has loaded Numba, which takes most of the second of a new one, and nothing of ours.

    It writes no bytecode: of two files of one second Python would take the first.
    """
    with subprocess.Popen(
        [sys.executable, "-c", _NEW_PROCESSES], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:

        def run(code, *arguments):
            parent.stdin.write(json.dumps([code, [str(word) for word in arguments]]) + "\n")
            parent.stdin.flush()
            status, said = json.loads(parent.stdout.readline())
            assert status == 0
            return said

        yield run


def test_kernels_of_another_version_are_not_taken_from_disk(tmp_path, in_a_new_process):
    """After an update in place kernels of the old version lay there: one whose named tuple had another name crashed.

    Numba compares the source of a kernel alone: one that calls a changed kernel would have been taken as it was.
    """
    (tmp_path / "doubling.py").write_text(
        "from reluflow.compilation.kernel import kernel\n\n\n@kernel()\n"
        "def double(x: float) -> float:\n    return 2.0 * x\n"
    )
    code = (
        "import sys; sys.path.insert(0, {folder!r})\n"
        "import reluflow; reluflow.__version__ = {version!r}\n"
        "from doubling import double\ndouble(1.0)\nprint(len(double.stats.cache_hits))"
    )

    def hits(version):
        return in_a_new_process(code.format(folder=str(tmp_path), version=version)).strip()

    assert [hits("1.0"), hits("1.0"), hits("1.1"), hits("1.1")] == ["0", "1", "0", "1"]


_FACTORS = """
from reluflow.compilation.kernel import kernel
from reluflow.compilation.library import KernelLibrary

KernelLibrary.is_large = {is_large}  # whether kernels are called where they are or copied into their callers

@kernel()
def factor(x: float) -> float:
    if x < 0.0:
        raise ValueError("negative")
    return {factor}
"""
_SUMS = """
from factors import factor
from reluflow.arrays import FloatVector
from reluflow.compilation.kernel import kernel

@kernel()
def scaled(x: float) -> float:
    return factor(x) * x

@kernel(entry=True)
def total(values: FloatVector) -> float:
    result = 0.0
    for value in values:
        result += scaled(value)
    return result
"""
_CALL = """
import sys; sys.path.insert(0, sys.argv[1])
import numpy as np
from sums import factor, scaled, total
print(total(np.array([1.0, 2.0])), *("compiled" if k.stats.cache_misses else "found" for k in (total, scaled, factor)))
try:
    total(np.array([-1.0]))
except ValueError as error:
    print(error)
"""


@pytest.fixture
def sum_in_a_new_process(tmp_path, in_a_new_process):
    """The sum, and which of the three kernels were compiled for it."""

    def run() -> str:
        total, error = in_a_new_process(_CALL, tmp_path).splitlines()
        assert error == "negative"
        return total

    return run


def test_a_kernel_is_loaded_after_those_that_it_calls_where_they_are(tmp_path, sum_in_a_new_process):
    """One that is not on disk is compiled: its file was lost, or the process that compiled it was killed."""
    (tmp_path / "factors.py").write_text(_FACTORS.format(is_large=True, factor="3.0"))
    (tmp_path / "sums.py").write_text(_SUMS)
    assert sum_in_a_new_process() == "9.0 compiled compiled compiled"
    assert sum_in_a_new_process() == "9.0 found found found"
    for path in (tmp_path / "__pycache__").glob("factors.factor*"):
        path.unlink()
    assert sum_in_a_new_process() == "9.0 found found compiled"
    assert sum_in_a_new_process() == "9.0 found found found"


@pytest.mark.parametrize("is_large", [True, False])
def test_a_kernel_is_compiled_again_when_one_that_it_calls_has_changed(tmp_path, is_large, sum_in_a_new_process):
    """Numba looks at the kernel's own file, and took the copy of the callee as it had been."""
    (tmp_path / "sums.py").write_text(_SUMS)
    for factor, total in (("3.0", "9.0"), ("5.0", "15.0")):
        (tmp_path / "factors.py").write_text(_FACTORS.format(is_large=is_large, factor=factor))
        assert sum_in_a_new_process() == f"{total} compiled compiled compiled"
    assert sum_in_a_new_process().startswith("15.0 found")


def test_a_kernel_is_compiled_again_when_a_constant_of_another_file_has_changed(tmp_path, sum_in_a_new_process):
    """After a change in a table of tuned constants the machine code of the old ones was run."""
    (tmp_path / "sums.py").write_text(_SUMS)
    source = "import tuning\nfrom tuning import SUMMAND\n" + _FACTORS.format(
        is_large=True, factor="tuning.FACTOR + SUMMAND"
    )
    (tmp_path / "factors.py").write_text(source)
    for factor, summand, total in ((3.0, 0.0, "9.0"), (5.0, 0.0, "15.0"), (5.0, 1.0, "18.0")):
        (tmp_path / "tuning.py").write_text(f"FACTOR = {factor}\nSUMMAND = {summand}\n")
        assert sum_in_a_new_process() == f"{total} compiled compiled compiled"
    assert sum_in_a_new_process() == "18.0 found found found"


def test_with_a_version_of_numba_that_was_not_tried_kernels_are_compiled_as_numba_does_it(tmp_path):
    """Numba 0.61 has no `_reload_init`, and what a later version has nobody knows: no command worked there."""
    source = """
import sys
import numba
numba.__version__ = "0.99.0"
import numpy as np
from reluflow.arrays import FloatVector
from reluflow.compilation.kernel import KERNELS, kernel
from reluflow.compilation.source_cache import PlainDispatcher

@kernel()
def doubled(x: float) -> float:
    return 2.0 * x

@kernel()
def total(values: FloatVector) -> float:
    return doubled(np.sum(values))

is_plain = all(type(one) is PlainDispatcher for one in KERNELS.values())
print(total(np.ones(3)), is_plain, "reluflow.compilation.library" in sys.modules, sum(total.stats.cache_hits.values()))
"""
    path = tmp_path / "kernels_of_one.py"
    path.write_text(source)
    said = [subprocess.run([sys.executable, path], capture_output=True, text=True, check=True).stdout for _ in range(2)]
    assert said == ["6.0 True False 0\n", "6.0 True False 1\n"]
