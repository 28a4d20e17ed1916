"""Memory of the laboratory's processes: after a page has used all of them, and when they have been idle.

RSS counts what processes share in each of them, PSS divides it by how many share it, so that its sum is what the
machine gives. Linux only.

python benchmarks/lab_memory.py [SECONDS]     idle time after which a worker leaves, by default 20 here
"""

import asyncio
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import websockets

_LABORATORY = "from reluflow.lab import computing; computing.IDLE = {}; from reluflow.cli.main import run; run()"
_REQUESTS = (
    {"ask": "geometry"},
    {"ask": "run"},
    {"ask": "run", "tag": "ghost"},
    {"ask": "verdict", "key": "boursier2024:lemma1"},
)


def main() -> None:
    idle_seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
    command = [sys.executable, "-c", _LABORATORY.format(idle_seconds), "lab", "--no-browser"]
    laboratory = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        url = laboratory.stdout.readline().split()[-1]
        asyncio.run(use_everything(url))
        show("used", laboratory.pid)
        time.sleep(idle_seconds + 3.0)
        show("idle", laboratory.pid)
    finally:
        laboratory.send_signal(signal.SIGINT)
        laboratory.wait()


async def use_everything(url: str) -> None:
    from reluflow.lab.wire import unpack

    origin = "/".join(url.split("/")[:3])
    async with websockets.connect(url.replace("http", "ws", 1) + "socket", origin=origin, max_size=None) as page:
        for number, request in enumerate(_REQUESTS, start=1):
            await page.send(json.dumps({"id": number, "state": {}, **request}))
            header = {}
            while (header.get("what"), header.get("id")) != ("done", number):
                header, _ = unpack(await page.recv())


def show(when: str, pid: int) -> None:
    processes = [one for one in processes_of(pid) if memory(one, "Rss")]
    rss, pss = (sum(memory(one, kind) for one in processes) for kind in ("Rss", "Pss"))
    print(f"{when}: {len(processes)} processes, RSS {rss:.0f} MB, PSS {pss:.0f} MB", flush=True)


def processes_of(pid: int) -> list[int]:
    """A process and all that it has started."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    children = [int(word) for thread in threads for word in (thread / "children").read_text().split()]
    return [pid, *(one for child in children for one in processes_of(child))]


def memory(pid: int, kind: str) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except ProcessLookupError:  # it has ended, and its status has not been asked for
        return 0.0
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{kind}:")) / 1024


if __name__ == "__main__":
    main()
