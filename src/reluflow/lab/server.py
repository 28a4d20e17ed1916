"""The server: loopback only, one random word in the address, nothing but numbers and words from closed lists taken in.

Who may talk to it: a page served by it. Every request must name this host (against DNS rebinding), carry the token in
its path, and, for the socket, come from a page of this origin.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import socket
from collections.abc import Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from reluflow.errors import InvalidInputError, ReluflowError
from reluflow.lab.saved_page import shell
from reluflow.lab.session import Laboratory, serve_socket

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request as HttpRequest
    from starlette.responses import Response
    from starlette.websockets import WebSocket

HOST = "127.0.0.1"
USUAL_PORT = 8642  # tried first, so that a link of yesterday meets a server that can say what to do with it
LARGEST_MESSAGE = 1 << 20
_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self' ws://127.0.0.1:{port} ws://localhost:{port}; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_STRANGER = (
    "<!doctype html><html lang=en><meta charset=utf-8><title>reluflow laboratory</title>"
    "<h1>This address is not known here</h1><p>Each start of the laboratory has its own address, printed by "
    "<code>reluflow lab</code>. To open a link of an earlier start, pass it on: "
    "<code>reluflow lab 'THE WHOLE LINK'</code>.</p></html>"
)


@dataclass(frozen=True)
class Address:
    """Where the server is, and the word that opens it."""

    port: int
    token: str

    @property
    def url(self) -> str:
        """What is printed and opened."""
        return f"http://{HOST}:{self.port}/{self.token}/"

    @property
    def hosts(self) -> tuple[str, str]:
        """The names by which a browser may call it."""
        return f"{HOST}:{self.port}", f"localhost:{self.port}"

    def is_known_host(self, host: str | None) -> bool:
        """Whether a request names this server."""
        return host in self.hosts

    def is_own_origin(self, origin: str | None) -> bool:
        """Whether a socket is opened by a page of this server."""
        return origin in tuple(f"http://{host}" for host in self.hosts)

    def is_token(self, token: str) -> bool:
        """Compared in constant time."""
        return hmac.compare_digest(token.encode(), self.token.encode())


def make_app(address: Address, laboratory: Laboratory) -> Starlette:
    """The application: the page's files under the token, and the socket."""
    from starlette.applications import Starlette
    from starlette.responses import HTMLResponse, Response
    from starlette.routing import Route, WebSocketRoute

    page = _page_files()  # as long as the server lives they are the same, and the next one has another address
    kept = {"Cache-Control": "private, max-age=86400"}
    headers = {**_HEADERS, "Content-Security-Policy": _POLICY.replace("{port}", str(address.port))}

    async def serve_file(request: HttpRequest) -> Response:
        if not address.is_known_host(request.headers.get("host")):
            return Response("Unknown host.", 403, headers=headers)
        path = request.path_params["path"]
        token, _, name = path.partition("/")
        if not address.is_token(token):
            return HTMLResponse(_STRANGER, 404, headers=headers)
        found = page.get(name or "index.html")
        if found is None or "/" not in path:
            return Response("Not found.", 404, headers=headers)
        content, kind = found
        return Response(content, headers=headers | kept, media_type=kind)

    async def open_socket(websocket: WebSocket) -> None:
        is_ours = (
            address.is_known_host(websocket.headers.get("host"))
            and address.is_own_origin(websocket.headers.get("origin"))
            and address.is_token(websocket.path_params["token"])
        )
        if not is_ours:
            await websocket.close(1008)
            return
        await serve_socket(websocket, laboratory)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> Any:
        warming = asyncio.ensure_future(laboratory.warm_up())
        yield
        warming.cancel()
        laboratory.close()

    routes = [
        WebSocketRoute("/{token}/socket", open_socket),
        Route("/{path:path}", serve_file, methods=["GET", "HEAD"]),
    ]
    return Starlette(routes=routes, lifespan=lifespan)


def _page_files() -> dict[str, tuple[bytes, str]]:
    """The browser side, read once; only these names are ever served."""
    folder = files("reluflow.lab") / "page"
    found = {}
    for entry in folder.iterdir():
        kind = _TYPES.get("." + entry.name.rpartition(".")[2])
        if kind is not None:
            found[entry.name] = (entry.read_bytes(), kind)
    found["saved.html"] = (shell().encode(), "text/html")  # filled by the button "Save as a web page"
    return found


def bind(port: int | None) -> socket.socket:
    """A listening socket on the loopback address; without a port the usual one, or any if that is taken."""
    for candidate in (USUAL_PORT, 0) if port is None else (port,):
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, candidate))
        except OSError as error:
            listener.close()
            if candidate == USUAL_PORT and port is None:
                continue
            raise InvalidInputError(
                f"`--port` must be a free port, got {candidate}: {error.strerror}; leave it out to take any."
            ) from error
        return listener
    raise InvalidInputError("`--port` must be a free port; none was found.")


def serve(
    state: dict[str, Any], *, port: int | None = None, on_ready: Callable[[str], None], fragment: str = ""
) -> None:
    """Serve the laboratory until Ctrl-C.

    Parameters
    ----------
    state
        What the page opens with.
    port
        By default the usual one, or any if that is taken.
    on_ready
        Called with the address once a browser can open it.
    fragment
        The part of a link after #, opened instead of `state`.
    """
    try:
        import uvicorn
    except ImportError as error:
        raise ReluflowError(
            "The laboratory needs uvicorn, which is not installed: pip install 'reluflow[lab]'."
        ) from error
    listener = bind(port)
    address = Address(listener.getsockname()[1], secrets.token_urlsafe(24))
    config = uvicorn.Config(
        make_app(address, Laboratory(state)),
        log_level="critical",
        access_log=False,
        ws_max_size=LARGEST_MESSAGE,
        ws_per_message_deflate=False,  # 0.3 s for a run of 2,000 neurons, to send a fifth less over the loopback
        ws_ping_interval=20.0,
        ws_ping_timeout=60.0,
        timeout_graceful_shutdown=1,
        server_header=False,
        date_header=False,
    )
    listener.listen(64)  # from here on a browser that connects waits until it is served
    on_ready(address.url + (f"#{fragment}" if fragment else ""))
    try:
        uvicorn.Server(config).run(sockets=[listener])
    except KeyboardInterrupt:
        return  # Ctrl-C is how it ends
    finally:
        listener.close()
