"""A laboratory in a process of its own, and a real browser to look at it."""

import shutil
from itertools import count

import pytest

from lab.running import Laboratory, start_laboratory, stop

ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
VIEWPORT = {"width": 1280, "height": 860}
ADDRESSES = count()
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


@pytest.fixture(scope="session")
def laboratory():
    started = start_laboratory()
    yield started
    assert stop(started) == 0


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    """One browser for all tests; they are skipped, with this sentence, only where there is none."""
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip(f"No browser was found ({', '.join(NAMES)}); install chromium to run the tests of the page.")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            str(tmp_path_factory.mktemp("browser")),
            executable_path=path,
            args=ARGUMENTS,
            viewport=VIEWPORT,
        )
        context.set_default_timeout(60_000)
        yield context
        context.close()


@pytest.fixture(scope="session")
def idle_pages():
    """Pages that tests have opened and left."""
    return []


@pytest.fixture
def open_page(chromium, laboratory, idle_pages):
    """Open the page with a state after #; a console error or a request to elsewhere fails the test.

    It is loaded into what an earlier test has left, under an address of its own so that nothing is restored: a new tab
    takes as much work as the page.
    """
    pages, complaints = [], []

    def note_error(message):
        if message.type == "error":
            complaints.append(message.text)

    listeners = {
        "console": note_error,
        "pageerror": lambda error: complaints.append(str(error)),
        "request": lambda request: _check_request(request.url, laboratory, complaints),
    }

    def opened(fragment="", *, settle=True, expect_errors=False):
        page = chromium.new_page() if expect_errors or not idle_pages else idle_pages.pop()
        page.bring_to_front()  # a tab behind another is not drawn
        heard = {name: hear for name, hear in listeners.items() if not expect_errors or name != "console"}
        for name, hear in heard.items():
            page.on(name, hear)
        pages.append((page, heard, not expect_errors))
        page.goto(f"{laboratory.url}?{next(ADDRESSES)}" + (f"#{fragment}" if fragment else ""))
        page.wait_for_selector("#data")
        if settle:
            page.evaluate("reluflow.settled()")
        return page

    yield opened
    for page, heard, is_kept in pages:
        if not is_kept:
            page.close()
        elif not page.is_closed():
            for name, hear in heard.items():
                page.remove_listener(name, hear)
            page.set_viewport_size(VIEWPORT)
            page.emulate_media(color_scheme="light", media="screen")
            page.mouse.move(0, 0)
            idle_pages.append(page)
    assert complaints == []


def _check_request(url: str, laboratory: Laboratory, complaints: list[str]) -> None:
    if not url.startswith((laboratory.url, "data:", "blob:")):
        complaints.append(f"a request left the page: {url}")
