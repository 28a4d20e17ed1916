"""Who may talk to the laboratory, what it answers, and that the latest request wins."""

import asyncio
import http.client
import itertools
import json
import os
import signal
import socket
import time

import pytest
import websockets
from websockets.exceptions import ConnectionClosed, InvalidStatus

from lab.apart import run_apart
from lab.running import start_laboratory, stop
from reluflow.cli.main import run as run_command
from reluflow.lab.answers import Request
from reluflow.lab.computing import Computing, Job
from reluflow.lab.server import Address, bind
from reluflow.lab.state import read_state
from reluflow.lab.wire import unpack
from sweep.sweep_cases import children, descendants


def get(laboratory, path, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", laboratory.port, timeout=10)
    connection.putrequest("GET", path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    response = connection.getresponse()
    return response.status, dict(response.getheaders()), response.read()


def path_of(laboratory):
    return laboratory.url.partition(str(laboratory.port))[2]


async def connect(laboratory, **changes):
    settings = {"origin": laboratory.origin, "max_size": None, **changes}
    return await websockets.connect(settings.pop("url", laboratory.socket), **settings)


async def ask(connection, **message):
    await connection.send(json.dumps({"id": 1, "state": {}, **message}))


async def receive(connection, *whats):
    while True:
        header, arrays = unpack(await asyncio.wait_for(connection.recv(), 120))
        if header["what"] in whats and header.get("outcome") != "running":
            return header, arrays


def test_the_page_is_served_with_its_guards(laboratory):
    status, headers, body = get(laboratory, path_of(laboratory))
    assert status == 200
    assert b"reluflow" in body
    headers = {name.lower(): value for name, value in headers.items()}
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in headers
    assert get(laboratory, path_of(laboratory) + "main.js")[1]["content-type"].startswith("text/javascript")


def test_a_browser_keeps_the_files_of_a_page_and_no_refusal(laboratory):
    """Forty files were asked for again by every page and every reload, a quarter of the work of opening one."""
    for path, kept in ((path_of(laboratory) + "app.js", "private, max-age=86400"), ("/wrong/app.js", "no-store")):
        _, headers, _ = get(laboratory, path)
        assert {name.lower(): value for name, value in headers.items()}["cache-control"] == kept


@pytest.mark.parametrize("path", ["/", "/wrong/", "/wrong/socket", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd"])
def test_without_the_token_there_is_nothing(laboratory, path):
    status, _, body = get(laboratory, path)
    assert status == 404
    assert b"reluflow lab" in body or b"Not found" in body
    assert path_of(laboratory).strip("/").encode() not in body


@pytest.mark.parametrize("name", ["../server.py", "..%2fserver.py", "%2e%2e/server.py", "lab/main.js", "server.py"])
def test_only_the_files_of_the_page_are_served(laboratory, name):
    assert get(laboratory, path_of(laboratory) + name)[0] == 404


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:80", ""])
def test_another_host_name_is_refused(laboratory, host):
    """DNS rebinding: a page elsewhere whose name was pointed at 127.0.0.1 sends its own name as Host."""
    assert get(laboratory, path_of(laboratory), Host=host)[0] in (400, 403)


@pytest.mark.parametrize(
    "changes",
    [
        {"origin": "http://evil.example"},
        {"origin": None},
        {"origin": "null"},
        {"origin": "http://127.0.0.1"},
        {"url": "wrong-token"},
    ],
    ids=lambda changes: str(changes)[:40],
)
def test_a_socket_from_elsewhere_is_refused(laboratory, changes):
    if changes.get("url"):
        changes = {"url": f"ws://127.0.0.1:{laboratory.port}/{'A' * 32}/socket"}

    async def attempt():
        with pytest.raises(InvalidStatus) as refused:
            await connect(laboratory, **changes)
        assert refused.value.response.status_code in (400, 403)

    run_apart(attempt())


def test_a_socket_under_another_host_name_is_refused(laboratory):
    handshake = {
        "Host": "evil.example",
        "Origin": laboratory.origin,
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    }
    assert get(laboratory, path_of(laboratory) + "socket", **handshake)[0] == 403


def test_it_listens_on_the_loopback_address_only(laboratory):
    """Bound to every address it would answer on 127.0.0.2 as well, which is this machine too."""
    socket.create_connection(("127.0.0.1", laboratory.port), timeout=2).close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", laboratory.port), timeout=2)


def test_addresses_are_compared_in_full():
    address = Address(8000, "secret")
    assert address.is_known_host("localhost:8000")
    assert not address.is_known_host(None)
    assert not address.is_own_origin("https://127.0.0.1:8000")
    assert not address.is_token("secre")
    assert not address.is_token("sécret")


def test_a_port_that_is_taken_is_refused_and_the_usual_one_gives_way():
    with bind(None) as first:
        port = first.getsockname()[1]
        first.listen()
        with bind(None) as second:
            assert second.getsockname()[1] != port
        with pytest.raises(SystemExit) as end:
            run_command(["lab", "--no-browser", "--port", str(port)])
        assert end.value.code == 2


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["no-such"], "neither a registered dataset"),
        (["mnist-0-1"], "the laboratory takes n up to 500, got 2,000"),
        (["http://127.0.0.1:8642/token/"], "must be a link with its state after #"),
        (["--port", "0"], "--port"),
    ],
)
def test_what_cannot_be_opened_is_refused(words, sentence, capsys):
    with pytest.raises(SystemExit) as end:
        run_command(["lab", "--no-browser", *words])
    assert end.value.code == 2
    assert sentence in capsys.readouterr().err


def test_every_kind_of_request_is_answered(laboratory):
    async def talk():
        async with await connect(laboratory) as page:
            hello, _ = await receive(page, "hello")
            assert hello["version"] == 1
            assert "three-points" in [entry["name"] for entry in hello["datasets"]]
            await ask(page, ask="data", state={"width": 10})
            data, arrays = await receive(page, "data")
            assert data["command"].startswith("reluflow train three-points")
            assert arrays["X"].shape == (3, 2)
            await ask(page, ask="geometry", id=2, state={"width": 10})
            geometry, arrays = await receive(page, "geometry")
            assert [row["kind"] for row in geometry["extremal"]] == ["maximum"]
            assert len(arrays["target"]) == 10
            await ask(page, ask="run", id=3, state={"width": 10})
            run, _ = await receive(page, "run")
            assert run["outcome"] == "stationary"
            assert (await receive(page, "limit"))[0]["kind"] == "local-minimum"
            await ask(page, ask="diagnosis", id=4)
            diagnosis, _ = await receive(page, "diagnosis")
            assert "three-point-box" in [one["key"] for one in diagnosis["conditions"]]
            await ask(page, ask="verdict", id=5, key="boursier2024:lemma1")
            verdict, _ = await receive(page, "verdict")
            assert verdict["verdict"] == "holds"
            await ask(page, ask="verdict", id=6, key="no:such")
            assert "`theorem` must be a key" in (await receive(page, "error"))[0]["sentence"]
            await ask(page, ask="report", id=7, state={"width": 10})
            report, _ = await receive(page, "report")
            assert report["html"].startswith("<!")

    run_apart(talk())


def test_the_latest_request_wins_and_a_slow_one_is_given_up(laboratory):
    """A drag sends many requests; only the last is answered, and what came before does not hold it up."""
    slow = {"name": "min-toy", "loss": "logistic", "width": 4000, "scale": "1e-300"}

    async def talk():
        async with await connect(laboratory) as page:
            for number in range(1, 20):
                await ask(page, ask="run", id=number, state={**slow, "seed": number})
                await asyncio.sleep(0.01)
            began = time.monotonic()
            await ask(page, ask="run", id=99, state={"width": 10})
            run, _ = await receive(page, "run")
            assert run["id"] == 99
            assert time.monotonic() - began < 15

    run_apart(talk())


def test_geometry_and_signs_of_life_do_not_wait_for_a_flow(laboratory):
    slow = {"name": "min-toy", "loss": "logistic", "width": 4000, "scale": "1e-300"}

    async def talk():
        async with await connect(laboratory) as page:
            await ask(page, ask="geometry", id=1, state={"width": 10})
            await receive(page, "geometry")
            await ask(page, ask="run", id=2, state=slow)
            await ask(page, ask="ping", id=3)
            await ask(page, ask="geometry", id=4, state={"width": 10})
            heard = [(await receive(page, "pong", "geometry", "limit"))[0]["what"] for _ in range(2)]
            assert heard == ["pong", "geometry"]

    run_apart(talk())


def test_a_refusal_says_what_it_refuses(laboratory):
    """The page dropped such an answer as one to an older request, and went on waiting for the run."""

    async def talk():
        async with await connect(laboratory) as page:
            await ask(page, ask="run", id=5, tag="ghost", state={"width": 0})
            refusal, _ = await receive(page, "error")
            assert (refusal["id"], refusal["of"], refusal["tag"]) == (5, "run", "ghost")
            await ask(page, ask="geometry", id=6, brief=True)
            assert "`brief` must be true or false" in (await receive(page, "error"))[0]["sentence"]

    run_apart(talk())


def test_an_answer_ends_with_a_word(laboratory):
    async def talk():
        async with await connect(laboratory) as page:
            await ask(page, ask="run", id=5, state={"width": 10})
            heard = []
            while not heard or heard[-1][0] != "done":
                header, _ = await receive(page, "run", "limit", "done")
                heard.append((header["what"], header["id"]))
            assert heard[:2] == [("run", 5), ("limit", 5)]

    run_apart(talk())


def test_a_page_that_leaves_takes_its_requests_with_it(laboratory):
    slow = {"name": "min-toy", "loss": "logistic", "width": 4000, "scale": "1e-300"}

    async def talk():
        for number in range(5):
            page = await connect(laboratory)
            await ask(page, ask="run", id=number, state={**slow, "seed": number})
            await page.close()
        async with await connect(laboratory) as page:
            began = time.monotonic()
            await ask(page, ask="run", id=50, state={"width": 10})
            assert (await receive(page, "run"))[0]["id"] == 50
            assert time.monotonic() - began < 15

    run_apart(talk())


def test_two_pages_do_not_disturb_each_other(laboratory):
    async def talk():
        async with await connect(laboratory) as one, await connect(laboratory) as two:
            await ask(one, ask="run", id=1, state={"width": 10})
            await ask(two, ask="run", id=1, state={"width": 12})
            (first, _), (second, _) = await asyncio.gather(receive(one, "run"), receive(two, "run"))
            assert (first["num_neurons"], second["num_neurons"]) == (10, 12)

    run_apart(talk())


def test_pages_are_bounded_in_number(laboratory, idle_pages):
    while idle_pages:  # they would count
        idle_pages.pop().close()

    async def talk():
        pages = [await connect(laboratory) for _ in range(16)]
        last = await connect(laboratory)
        with pytest.raises(ConnectionClosed):
            await last.recv()
        for page in pages:
            await page.close()

    run_apart(talk())


def test_it_ends_on_ctrl_c_with_all_its_processes():
    started = start_laboratory("min-toy")

    async def talk():
        async with await connect(started) as page:
            hello, _ = await receive(page, "hello")
            assert hello["state"]["name"] == "min-toy"
            assert hello["state"]["loss"] == "exponential"
            await ask(page, ask="run", state={"width": 5})
            await receive(page, "run")

    run_apart(talk())
    processes = descendants(started.process.pid)
    assert processes
    assert stop(started) == 0
    time.sleep(0.5)
    assert not [process for process in processes if os.path.exists(f"/proc/{process}") and _is_alive(process)]


def _is_alive(process):
    with open(f"/proc/{process}/stat") as status:
        return status.read().rpartition(")")[2].split()[0] != "Z"


def test_requests_of_one_kind_wait_for_each_other_and_none_is_lost():
    """The computing process threw away what was asked before it looked up, and that page waited a minute in vain."""
    heard = []

    async def compute():
        computing = Computing({"flow": 1})

        async def do(number):
            async def send(kind, content):
                heard.append((number, kind))

            state = read_state({"width": 4, "seed": number})
            await computing.do("flow", Job(Request(number, "run", "main", state, "", 60.0, is_brief=True), send))

        try:
            await asyncio.gather(do(1), do(2))
        finally:
            computing.close()

    run_apart(compute())
    assert {kind for _, kind in heard} == {"frame"}
    assert [number for number, _ in itertools.groupby(heard)] == [(1, "frame"), (2, "frame")]


def test_a_computing_process_that_dies_is_said_and_replaced():
    heard = []

    async def compute():
        computing = Computing({"flow": 1})

        async def send(kind, content):
            heard.append((kind, content))

        long = read_state({"name": "min-toy", "loss": "logistic", "width": 4000, "scale": "1e-300"})
        short = read_state({"width": 4})
        try:
            dying = asyncio.ensure_future(computing.do("flow", Job(Request(1, "run", "main", long, "", 60.0), send)))
            while not heard:
                await asyncio.sleep(0.05)
            (worker,) = children(computing._starter._program.pid)
            os.kill(worker, signal.SIGKILL)
            await dying
            await computing.do("flow", Job(Request(2, "run", "main", short, "", 60.0, is_brief=True), send))
        finally:
            computing.close()

    run_apart(compute())
    assert ("error", "The computing process ended; ask again, with less if it was too much.") in heard
    assert heard[-1][0] == "frame"
