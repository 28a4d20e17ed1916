"""Ten thousand malformed messages: the server lives, its memory stays flat, and nothing but sentences comes back."""

import asyncio
import json
import os
import random

import pytest
import websockets
from websockets.exceptions import ConnectionClosed

from lab.apart import run_apart
from reluflow.lab.state import DEFAULTS, FIELDS
from reluflow.lab.wire import unpack

MESSAGES = 10_000
KINDS = ("ping", "data", "geometry", "diagnosis", "run", "verdict", "report")
ODD = (
    None, True, -1, 0, 1e308, -1e308, 2**63, 10**400, "", "\x00", "é" * 50, "../../etc/passwd", "__import__('os')",
    [], {}, [[]], [[[1]]], {"a": {"b": {}}}, "1e-99999", "NaN", "cos\nsystem\n(S'id'\ntR.", [1, "2"], "inf",
)  # fmt: skip


def malformed(source: random.Random) -> str | bytes:
    """A message that no page would send: broken text, wrong types, odd values, bytes, pickles."""
    kind = source.randrange(8)
    if kind == 0:
        return source.randbytes(source.randrange(200))
    if kind == 1:
        return "".join(chr(source.choice((source.randrange(32, 127), source.randrange(160, 900)))) for _ in range(60))
    if kind == 2:
        return "[" * source.randrange(1, 5000)
    if kind == 3:
        return json.dumps(source.choice(ODD[:6]))
    message = {"ask": source.choice(KINDS), "id": source.randrange(10**6), "state": dict(DEFAULTS)}
    if kind == 4:
        message["state"][source.choice(FIELDS)] = source.choice(
            [odd for odd in ODD if odd not in (True, 0, None, "inf")]
        )
    elif kind == 5:
        message[source.choice(("ask", "id", "tag", "state", "key", "brief", "path", "eval"))] = source.choice(ODD[1:-1])
        message["state"] = source.choice(ODD[3:])
    elif kind == 6:
        message["state"] = {**message["state"], source.choice(("path", "__class__", "file", "code")): "x"}
    else:
        text = json.dumps(message)
        cut = source.randrange(1, len(text) - 1)
        return text[:cut]
    return json.dumps(message)


def resident(process: int) -> float:
    """Memory of a process in megabytes."""
    with open(f"/proc/{process}/statm") as status:
        return int(status.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is read from /proc, which is not here")
def test_ten_thousand_malformed_messages(laboratory):
    source = random.Random(7)
    whats = set()

    async def listen(page):
        async for frame in page:
            whats.add(unpack(frame)[0]["what"])

    async def shower(count):
        async with websockets.connect(laboratory.socket, origin=laboratory.origin, max_size=None) as page:
            listener = asyncio.ensure_future(listen(page))
            for _ in range(count):
                await page.send(malformed(source))
            await asyncio.sleep(0.5)
            listener.cancel()

    async def is_alive():
        async with websockets.connect(laboratory.socket, origin=laboratory.origin, max_size=None) as page:
            await page.recv()
            await page.send(json.dumps({"ask": "data", "id": 5, "state": {"width": 7}}))
            header, arrays = unpack(await asyncio.wait_for(page.recv(), 60))
            assert header["what"] == "data"
            assert arrays["w"].shape == (7, 2)

    run_apart(shower(1000))
    before = resident(laboratory.process.pid)
    for _ in range(9):
        run_apart(shower((MESSAGES - 1000) // 9))
    assert laboratory.process.poll() is None
    run_apart(is_alive())
    assert resident(laboratory.process.pid) - before < 30
    assert "error" in whats
    known = {"hello", "error", "stage", "data", "geometry", "diagnosis", "run", "limit", "done", "pong", "verdict"}
    assert whats <= known | {"report"}


def test_a_message_too_large_closes_the_line_and_nothing_else(laboratory):
    async def talk():
        async with websockets.connect(laboratory.socket, origin=laboratory.origin) as page:
            await page.recv()
            await page.send("x" * (2 << 20))
            with pytest.raises(ConnectionClosed):
                await page.recv()
        async with websockets.connect(laboratory.socket, origin=laboratory.origin) as page:
            assert unpack(await page.recv())[0]["what"] == "hello"

    run_apart(talk())
