"""A laboratory in a process of its own, and a real browser to look at it."""

import shutil

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
            viewport={"width": 1280, "height": 860},
        )
        context.set_default_timeout(60_000)
        yield context
        context.close()


@pytest.fixture
def open_page(chromium, laboratory):
    """Open the page with a state after #; a console error or a request to elsewhere fails the test."""
    pages, complaints = [], []

    def opened(fragment="", *, settle=True, expect_errors=False):
        page = chromium.new_page()
        pages.append(page)
        if not expect_errors:
            page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: _check_request(request.url, laboratory, complaints))
        page.goto(laboratory.url + (f"#{fragment}" if fragment else ""))
        page.wait_for_selector("#data")
        if settle:
            page.evaluate("reluflow.settled()")
        return page

    yield opened
    for page in pages:
        page.close()
    assert complaints == []


def _check_request(url: str, laboratory: Laboratory, complaints: list[str]) -> None:
    if not url.startswith((laboratory.url, "data:", "blob:")):
        complaints.append(f"a request left the page: {url}")
