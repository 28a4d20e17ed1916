"""Start and stop a laboratory in a process of its own."""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Laboratory:
    url: str
    process: subprocess.Popen

    @property
    def port(self) -> int:
        return int(self.url.split(":")[2].partition("/")[0])

    @property
    def socket(self) -> str:
        return self.url.replace("http", "ws", 1) + "socket"

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def start_laboratory(*words: str) -> Laboratory:
    source = str(Path(__file__).resolve().parents[2] / "src")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-c", "from reluflow.cli.main import run; run()", "lab", "--no-browser", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    line = process.stdout.readline()
    assert line.startswith("Laboratory at http://127.0.0.1:"), line
    return Laboratory(line.split()[-1], process)


def stop(laboratory: Laboratory) -> int:
    if laboratory.process.poll() is None:
        laboratory.process.send_signal(signal.SIGINT)
    return laboratory.process.wait(60)  # a busy machine takes its time to finish what is being compiled
