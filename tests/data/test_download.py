"""Downloads, from a server on this machine: whole and right, or one sentence and nothing changed."""

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from data.idx_files import fake_digits, write_fake
from reluflow.data import download
from reluflow.data.download import DIGESTS, download_mnist
from reluflow.data.mnist import mnist_pair
from reluflow.errors import DownloadError, InvalidInputError


class Server(ThreadingHTTPServer):
    """Serves `files`; `behaviour` makes it cut, change, refuse, hang up or never stop."""

    files: dict[str, bytes]
    behaviour: str = "good"
    requests: list[str]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        name = self.path.rsplit("/", 1)[-1]
        self.server.requests.append(name)
        behaviour = self.server.behaviour
        if behaviour == "refuse" or name not in self.server.files:
            self.send_error(404)
            return
        if behaviour == "hang up":
            self.connection.close()
            return
        content = self.server.files[name]
        self.send_response(200)
        if behaviour == "endless":
            self.end_headers()
            for _ in range(20):
                self.wfile.write(bytes(1000))
            return
        if behaviour != "silent cut":
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if behaviour == "change":
            content = content[:-1] + bytes([content[-1] ^ 1])
        self.wfile.write(content[: len(content) // 2] if "cut" in behaviour else content)

    def log_message(self, *_: object) -> None:
        """Keep the test output clean."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    source = tmp_path / "served"
    source.mkdir()
    write_fake(source, compressed=True)
    instance = Server(("127.0.0.1", 0), Handler)
    instance.files = {path.name: path.read_bytes() for path in sorted(source.iterdir())}
    instance.requests = []
    thread = threading.Thread(target=instance.serve_forever, daemon=True)
    thread.start()
    yield instance
    instance.shutdown()
    instance.server_close()


def address(server: Server) -> str:
    return f"http://127.0.0.1:{server.server_port}/mnist"


def digests(server: Server) -> dict[str, str]:
    return {name: hashlib.sha256(content).hexdigest() for name, content in server.files.items()}


def test_the_digests_are_four_and_whole() -> None:
    assert len(DIGESTS) == 4
    assert all(len(digest) == 64 and int(digest, 16) for digest in DIGESTS.values())


@pytest.mark.parametrize("slash", ["", "/"])
def test_download_then_read_then_nothing_to_do(server: Server, tmp_path: Path, slash: str) -> None:
    folder = tmp_path / "new" / "data"
    paths = download_mnist(folder, base_url=address(server) + slash, digests=digests(server))
    assert [path.name for path in paths] == list(server.files)
    assert sorted(path.name for path in folder.iterdir()) == sorted(server.files)
    images, labels = fake_digits()
    assert mnist_pair(0, 1, source="full", folder=folder).n == 2 * (labels == 0).sum()
    assert len(images) == 30
    server.requests.clear()
    download_mnist(folder, base_url=address(server), digests=digests(server))
    assert server.requests == []


def test_default_folder_is_that_of_the_reader(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELUFLOW_DATA", str(tmp_path / "variable"))
    paths = download_mnist(base_url=address(server), digests=digests(server))
    assert {path.parent for path in paths} == {tmp_path / "variable"}


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ("refuse", "the server answered 404"),
        ("cut", "broke off after"),
        ("silent cut", "must have the SHA-256"),
        ("change", "must have the SHA-256"),
        ("hang up", "could not be fetched"),
    ],
)
def test_failure_is_one_sentence_and_leaves_the_old_file(
    server: Server, tmp_path: Path, behaviour: str, words: str
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    first = next(iter(server.files))
    (folder / first).write_bytes(b"an older, different file")
    server.behaviour = behaviour
    with pytest.raises(DownloadError, match=words) as caught:
        download_mnist(folder, base_url=address(server), digests=digests(server))
    assert "\n" not in str(caught.value)
    assert first in str(caught.value)
    assert [path.name for path in folder.iterdir()] == [first]
    assert (folder / first).read_bytes() == b"an older, different file"
    server.behaviour = "good"
    download_mnist(folder, base_url=address(server), digests=digests(server))
    assert (folder / first).read_bytes() == server.files[first]


def test_endless_answer_is_cut_off(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "_LARGEST", 5000)
    server.behaviour = "endless"
    with pytest.raises(DownloadError, match="sent more than 5,000 bytes"):
        download_mnist(tmp_path / "data", base_url=address(server), digests=digests(server))
    assert list((tmp_path / "data").iterdir()) == []


def test_interrupted_set_is_completed(server: Server, tmp_path: Path) -> None:
    names = list(server.files)
    whole = dict(server.files)
    del server.files[names[1]]
    wanted = {name: hashlib.sha256(content).hexdigest() for name, content in whole.items()}
    with pytest.raises(DownloadError, match=names[1]):
        download_mnist(tmp_path / "data", base_url=address(server), digests=wanted)
    server.files = whole
    server.requests.clear()
    download_mnist(tmp_path / "data", base_url=address(server), digests=wanted)
    assert server.requests == [names[1]]


def test_no_server_no_folder_no_scheme(server: Server, tmp_path: Path) -> None:
    where, wanted = address(server), digests(server)
    server.shutdown()
    server.server_close()
    with pytest.raises(DownloadError, match=r"could not be fetched: .*by hand, or use the bundled images"):
        download_mnist(tmp_path / "data", base_url=where, digests=wanted)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DownloadError, match="could not be made a folder"):
        download_mnist(tmp_path / "file", base_url=where, digests=wanted)
    with pytest.raises(InvalidInputError, match="must start with https:// or http://"):
        download_mnist(tmp_path / "data", base_url="file:///etc", digests=wanted)
