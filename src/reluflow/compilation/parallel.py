"""Compile kernels before they are needed, in as many processes as there are cores, each kernel once.

A kernel is handed out when those it calls are done: its process then finds them in Numba's cache on disk, and so does
every later process. What is compiled here is what would be compiled at the first call, from the same source, for the
same types and by the same compiler; no number depends on it.
"""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from types import ModuleType
from typing import Any

import reluflow
from reluflow.compilation.dependencies import called_by, digest_of
from reluflow.compilation.kernel import KERNELS
from reluflow.compilation.signature import signature_of
from reluflow.workers.starting import available_cores

Progress = Callable[[int, int], None]  # kernels done, kernels in all
_STOP_SECONDS = 5.0


def compile_kernels(
    modules: Iterable[ModuleType], *, on_progress: Progress | None = None, processes: int | None = None
) -> int:
    """Compile the kernels of some modules, and those they call, unless all are known to be in the cache.

    Parameters
    ----------
    modules
        Files of kernels.
    on_progress
        Called with how many of how many are done, and called only where something must be compiled.
    processes
        How many to use; by default one per core.

    Returns
    -------
    int
        How many kernels were compiled or found in the cache one by one; 0 where all were known to be there.

    Notes
    -----
    Where a process cannot be started, or dies, what it leaves is compiled when it is first called.
    """
    files = {module.__name__ for module in modules}
    wanted = _with_callees(name for name in KERNELS if name.partition(":")[0] in files)
    records = _Records()
    missing = [name for name in wanted if not records.has(name)]
    if not missing:
        return 0
    done = _compile_in_processes({name: wanted[name] for name in missing}, on_progress, processes or available_cores())
    records.add(done)
    return len(done)


def load_compiled(modules: Iterable[ModuleType]) -> None:
    """Load the kernels of some modules, and those they call, as far as they are known to be in the cache."""
    files = {module.__name__ for module in modules}
    wanted = _with_callees(name for name in KERNELS if name.partition(":")[0] in files)
    records = _Records()
    for name in wanted:
        if records.has(name):
            KERNELS[name].compile(signature_of(KERNELS[name].py_func))


def _with_callees(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The kernels with declared types among the names and all that they call, each with those it calls itself."""
    by_identity = {id(dispatcher): name for name, dispatcher in KERNELS.items()}
    found: dict[str, tuple[str, ...]] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        function = KERNELS[name].py_func
        if name in found or signature_of(function) is None:
            continue
        callees = [by_identity[id(d)] for d in called_by(function) if id(d) in by_identity]
        found[name] = tuple(callee for callee in callees if signature_of(KERNELS[callee].py_func) is not None)
        waiting += found[name]
    return found


def _costs(callees: dict[str, tuple[str, ...]]) -> dict[str, int]:
    """What is waiting for each kernel, itself included, in bytes of Python's code: the longest chain goes first."""
    own = {name: len(KERNELS[name].py_func.__code__.co_code) for name in callees}
    callers: dict[str, list[str]] = {name: [] for name in callees}
    for name, called in callees.items():
        for callee in called:
            if callee in callers:
                callers[callee].append(name)
    total: dict[str, int] = {}

    def chain(name: str) -> int:
        if name not in total:
            total[name] = own[name] + max((chain(caller) for caller in callers[name]), default=0)
        return total[name]

    for name in callees:
        chain(name)
    return total


def _compile_in_processes(
    callees: dict[str, tuple[str, ...]], on_progress: Progress | None, processes: int
) -> list[str]:
    """Hand the kernels out, and return those that were compiled."""
    costs = _costs(callees)
    waiting = sorted(callees, key=lambda name: -costs[name])
    answers: SimpleQueue[tuple[_Compiler, str]] = SimpleQueue()
    workers = [_Compiler(answers) for _ in range(min(processes, len(waiting)))]
    idle, done, given = list(workers), [], 0
    try:
        if on_progress is not None:
            on_progress(0, len(callees))
        while (idle and waiting) or given:
            for name in list(waiting):
                if not idle:
                    break
                if all(callee in done for callee in callees[name] if callee in callees):
                    waiting.remove(name)
                    given += 1
                    idle.pop().compile(name)
            if not given:  # kernels whose callees were lost with a process
                break
            try:
                worker, name = answers.get(timeout=600.0)
            except Empty:
                break
            given -= 1
            if name:
                done.append(name)
                idle.append(worker)
                if on_progress is not None:
                    on_progress(len(done), len(callees))
    finally:
        for worker in workers:
            worker.stop()
    return done


class _Compiler:
    """A process that compiles one kernel after another; an empty answer says that it has died."""

    def __init__(self, answers: SimpleQueue[tuple[_Compiler, str]]) -> None:
        command = [sys.executable, "-m", "reluflow.compilation.worker"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self._answers = answers
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put((self, line.strip()))
        self._answers.put((self, ""))

    def compile(self, name: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{name}\n")
            self._process.stdin.flush()
        except BrokenPipeError:  # it has died, and its empty answer says so
            return

    def stop(self) -> None:
        self._process.kill()
        self._process.wait(_STOP_SECONDS)


class _Records:
    """Which kernels the cache holds: a file beside each folder of it, with a line for each kernel that was compiled.

    A line has the kernel's name and a digest of all it depends on, so that one compiled from other source, by another
    Numba or for another processor is not taken for it. Like Numba's own index it goes by the content of files.
    """

    def __init__(self) -> None:
        self._lines: dict[Path, frozenset[str]] = {}
        self._surroundings = _surroundings()

    def has(self, name: str) -> bool:
        """Whether a kernel is known to be in the cache."""
        path = self._path(name)
        if path not in self._lines:
            lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else ()
            self._lines[path] = frozenset(lines)
        return self._line(name) in self._lines[path]

    def add(self, names: Sequence[str]) -> None:
        """Write down what was compiled; where the disk refuses, it is looked for again the next time."""
        for path in {self._path(name) for name in names}:
            lines = set(path.read_text(encoding="utf-8").splitlines()) if path.is_file() else set()
            lines |= {self._line(name) for name in names if self._path(name) == path}
            partial = path.with_suffix(f".{os.getpid()}")
            try:
                partial.write_text("\n".join(sorted(lines)), encoding="utf-8")
                partial.replace(path)
            except OSError:
                partial.unlink(missing_ok=True)

    @staticmethod
    def _path(name: str) -> Path:
        return Path(KERNELS[name]._cache.cache_path) / "compiled-kernels.txt"

    def _line(self, name: str) -> str:
        depends_on = f"{self._surroundings} {digest_of(KERNELS[name].py_func)}"
        return f"{name} {hashlib.sha256(depends_on.encode()).hexdigest()[:16]}"


def _surroundings() -> str:
    """The version of reluflow, the compiler and the processor."""
    import llvmlite.binding as llvm
    import numba

    compiler = (numba.__version__, llvm.llvm_version_info, platform.python_version_tuple()[:2])
    processor = (llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
    chosen: Any = numba.config
    return f"{reluflow.__version__} {(compiler, processor, chosen.CPU_NAME, chosen.CPU_FEATURES)!r}"
