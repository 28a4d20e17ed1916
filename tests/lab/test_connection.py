"""A machine that slept, two tabs, a run shown before it has ended: the page comes back to the state it showed."""

import time

import pytest

from reluflow.lab import adapter
from reluflow.lab.state import read_state

SLOW = "v=1&name=min-toy&loss=logistic&width=2000&scale=1e-300"
# asked in one go, as a run of two seconds may end between two questions
UNFINISHED = (
    "window.reluflow?.run()?.outcome === 'running' && !document.querySelector('#busy').hidden"
    " && document.querySelector('#says-panel').innerText.includes('{}')"
)


def until(page, expression, seconds=60):
    """Wait until an expression is true; by asking again, since the page allows no evaluation of text."""
    for _ in range(20 * seconds):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"{expression} did not become true")


@pytest.fixture
def sleeper(open_page, chromium):
    """A page whose line can fall silent: open on both sides, and nothing passes, as after a sleep."""
    asleep, sockets = [], []

    def route(socket):
        server = socket.connect_to_server()
        number = len(sockets)
        sockets.append(socket)

        def is_silent():
            return bool(asleep) and number < asleep[0]

        socket.on_message(lambda message: None if is_silent() else server.send(message))
        server.on_message(lambda message: None if is_silent() else socket.send(message))

    def opened(fragment):
        page = open_page("v=1&width=5", expect_errors=True)
        page.route_web_socket("**/socket", route)
        page.goto(page.url.partition("#")[0] + "#" + fragment)
        page.reload()
        page.wait_for_selector("#data")
        page.evaluate("reluflow.settled()")
        return page

    def sleep():
        asleep[:] = [len(sockets)]
        return len(sockets)

    return opened, sleep, sockets


@pytest.mark.slow
def test_a_line_that_is_open_and_silent_is_replaced(sleeper):
    """After a sleep the socket was open and dead: nothing closed it, and the page waited for ever."""
    opened, sleep, sockets = sleeper
    page = opened("v=1&width=9")
    before = page.evaluate("reluflow.state()")
    loss = page.evaluate("reluflow.run().loss")
    old = sleep()
    page.fill("#seed", "5")
    page.keyboard.press("Enter")
    began = time.monotonic()
    until(page, f"reluflow.run() && reluflow.run().loss !== {loss!r}", 30)
    page.evaluate("reluflow.settled()")
    assert time.monotonic() - began < 25
    assert len(sockets) > old
    assert page.evaluate("[reluflow.state().run.seed, reluflow.run().num_neurons]") == [5, 9]
    assert page.evaluate("reluflow.state().view") == before["view"]


def test_a_page_that_is_looked_at_again_asks_at_once(sleeper):
    opened, sleep, sockets = sleeper
    page = opened("v=1&width=9")
    old = sleep()
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    for _ in range(300):  # the words "not connected" may be gone before one can look
        if len(sockets) > old:
            break
        page.wait_for_timeout(50)
    until(page, "document.getElementById('connection').textContent === ''", 15)
    assert len(sockets) > old


@pytest.mark.slow
def test_a_quiet_line_that_lives_is_kept(sleeper):
    opened, _, sockets = sleeper
    page = opened("v=1&width=9")
    count = len(sockets)
    page.wait_for_timeout(11_000)  # two beats and the silence allowed after each
    assert len(sockets) == count


def test_two_tabs_have_each_its_own_run(open_page):
    one, two = open_page("v=1&width=9", settle=False), open_page("v=1&width=11", settle=False)
    for page, width in ((one, 9), (two, 11)):
        page.evaluate("reluflow.settled()")
        assert page.evaluate("reluflow.run().num_neurons") == width
    two.fill("#seed", "3")
    two.keyboard.press("Enter")
    one.fill("#seed", "4")
    one.keyboard.press("Enter")
    for page, (width, seed) in ((one, (9, 4)), (two, (11, 3))):
        page.evaluate("reluflow.settled()")
        state = read_state({"width": width, "seed": seed})
        ours = adapter.run_of(state, adapter.problem_of(state), lambda run: None)
        assert page.evaluate("reluflow.run().loss") == ours.loss
        assert page.evaluate("[reluflow.state().run.width, reluflow.state().run.seed]") == [width, seed]


def test_a_tab_that_closes_lets_the_other_go_on(open_page):
    one = open_page("v=1&width=9")
    two = open_page(SLOW, settle=False)
    two.wait_for_timeout(300)
    two.close()
    one.fill("#seed", "6")
    one.keyboard.press("Enter")
    one.evaluate("reluflow.settled()")
    assert one.evaluate("[reluflow.run().num_neurons, reluflow.state().run.seed]") == [9, 6]


def test_a_long_run_is_shown_before_it_has_ended_and_keeps_the_cursor(open_page):
    """What is known is drawn early and said to be unfinished; where one scrubbed meanwhile, the whole run stands."""
    page = open_page(SLOW, settle=False)
    page.click("#tab-end")
    until(page, UNFINISHED.format("shown when the run is over"))
    page.reload()
    until(page, UNFINISHED.format("the rest is being computed"))
    page.locator(".time").fill("0.5")
    page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
    shown = float(page.locator(".plane").get_attribute("data-time"))
    page.evaluate("reluflow.settled()")
    assert page.evaluate("reluflow.run().outcome") in ("direction-converged", "interrupted")
    assert page.is_hidden("#busy")
    assert float(page.locator(".plane").get_attribute("data-time")) == pytest.approx(shown, rel=0.05)


def test_settled_means_drawn_also_for_pasted_data(open_page):
    """After own data were pasted the promise once came true while the page still said "being computed"."""
    page = open_page("v=1&width=30")
    page.click("summary:has-text('Your own data')")
    rows = "\n".join(f"{0.1 * k - 0.8:.2f},{(0.37 * k) % 1.3 - 0.6:.2f},{1 if k % 3 else -1}" for k in range(16))
    page.fill("#paste", rows)
    page.click("#use-data")
    page.evaluate("reluflow.settled()")
    assert "being computed" not in page.inner_text("body")
    assert page.is_hidden("#busy")
    assert page.evaluate("reluflow.run().num_neurons") == 30
    page.click("#tab-diagnosis")
    page.evaluate("reluflow.settled()")
    assert page.locator("#says-panel table").count() == 1


def test_a_run_that_is_refused_is_not_said_to_be_computed(open_page):
    """The sentence of the refusal passed, and below it the page went on saying that the flow was being computed."""
    page = open_page("v=1&width=2001", settle=False)  # a run of seconds, which the next takes the place of
    until(page, "reluflow.geometry() !== null")
    page.click("summary:has-text('Your own data')")
    page.fill("#paste", "\n".join(f"{k + 1},{(7 * k) % 11},{1 if k % 3 else -1}" for k in range(500)))
    page.click("#use-data")
    page.evaluate("reluflow.settled()")
    assert "the laboratory takes n times the number of neurons up to 1,000,000" in page.inner_text("#says-panel")
    assert "being computed" not in page.inner_text("body")
