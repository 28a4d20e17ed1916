"""The first minute on a new machine: how long the first command of each kind takes, with nothing compiled before.

Each row is a command in a fresh clone of this repository, with an empty home and no compiled kernels; the last one also
installs everything. Run it on a quiet machine: the goals are for two cores with nothing else to do.

python benchmarks/first_minute.py [train] [study] [lab] [make]
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GOALS = {"train": 12.0, "study": 40.0, "lab": 20.0, "make": 75.0}
_TABLE = "length,width,kind\n" + "\n".join(
    f"{x:.3f},{y:.3f},{'long' if x > y else 'wide'}" for x, y in [(0.3 * i % 2.1, 0.7 * i % 1.9) for i in range(1, 21)]
)


def main() -> None:
    chosen = sys.argv[1:] or list(GOALS)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        home, clone = Path(folder, "home"), Path(folder, "clone")
        home.mkdir()
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        environment = {**os.environ, "HOME": str(home), "XDG_CACHE_HOME": str(home / ".cache")}
        environment |= {"PYTHONPATH": str(clone / "src"), "PYTHONPYCACHEPREFIX": ""}
        print(f"{'first':<8}{'seconds':>9}{'goal':>7}{'again':>9}   load {os.getloadavg()[0]:.1f}")
        for name in chosen:
            forget_compiled(clone)
            first = MEASURES[name](clone, environment)
            again = MEASURES[name](clone, environment)
            print(f"{name:<8}{first:>9.1f}{GOALS[name]:>7.0f}{again:>9.1f}", flush=True)


def forget_compiled(clone: Path) -> None:
    for path in (clone / "src").rglob("__pycache__/*"):
        if path.suffix in (".nbi", ".nbc") or path.name == "compiled-kernels.txt":
            path.unlink()


def timed(command: list[str], clone: Path, environment: dict[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, cwd=clone, env=environment, check=True, stdout=subprocess.DEVNULL, timeout=900)
    return time.perf_counter() - began


def reluflow(*words: str) -> list[str]:
    return [sys.executable, "-m", "reluflow", *words]


def train(clone: Path, environment: dict[str, str]) -> float:
    return timed(reluflow("train", "three-points"), clone, environment)


def study(clone: Path, environment: dict[str, str]) -> float:
    (clone / "mine.csv").write_text(_TABLE)
    out = tempfile.mkdtemp(dir=clone)
    return timed(reluflow("study", "mine.csv", "--out", out), clone, environment)


def lab(clone: Path, environment: dict[str, str]) -> float:
    """From starting the laboratory to the first whole exact run, asked for over the page's own socket."""
    from websockets.sync.client import connect

    from reluflow.lab.wire import unpack

    began = time.perf_counter()
    command = reluflow("lab", "--no-browser")
    with subprocess.Popen(command, cwd=clone, env=environment, stdout=subprocess.PIPE, text=True) as server:
        try:
            url = server.stdout.readline().split()[-1]
            origin = "/".join(url.split("/")[:3])
            with connect(url.replace("http", "ws", 1) + "socket", origin=origin, max_size=None) as socket:
                unpack(socket.recv())
                socket.send(json.dumps({"ask": "run", "id": 1, "tag": "main", "state": {}}))
                while unpack(socket.recv(timeout=600))[0].get("what") != "done":
                    continue
            return time.perf_counter() - began
        finally:
            server.send_signal(signal.SIGINT)


def make(clone: Path, environment: dict[str, str]) -> float:
    """`make study` in the clone, with installing; the second time nothing is installed."""
    bare = {name: value for name, value in environment.items() if name != "PYTHONPATH"}
    return timed(["make", "study"], clone, bare)


MEASURES = {"train": train, "study": study, "lab": lab, "make": make}

if __name__ == "__main__":
    main()
