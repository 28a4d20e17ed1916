"""The laboratory in a real browser: geometry behind the pointer, the exact flows behind drags, frames a second.

A drag is made of moves of the mouse as the browser gets them from the system, a random 8 to 25 ms apart, and the
browser itself tells when the frame that shows each of them was on the screen (its trace, `EventLatency`). Times on the
clock, and beside them processor times, which other work on the machine does not change (Linux).

python benchmarks/laboratory.py [PATH OF CHROMIUM]
"""

import asyncio
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from lab.conftest import ARGUMENTS
from lab.running import start_laboratory, stop

MOVES = 200
RELEASES, FEW_MOVES = 3, 20  # of every run below, the fastest counts; and moves before each


def on_the_circle(n: int) -> dict:
    """A classifier of n points in the plane with 200 neurons."""
    rng = np.random.default_rng(0)
    angles = np.sort(rng.uniform(0, 2 * np.pi, n))
    X = np.column_stack([np.cos(angles), np.sin(angles)]).round(3).tolist()
    y = np.sign(np.cos(angles - 0.4)).tolist()
    return {"name": "points", "X": X, "y": y, "loss": "logistic", "width": 200, "scale": "1e-3"}


RUNS = {
    "min-toy": {"name": "min-toy", "loss": "exponential", "width": 60, "scale": "1e-4"},
    "n = 10, m = 200": on_the_circle(10),
    "n = 60, m = 200": on_the_circle(60),
    "three points, m = 2,000": {"name": "three-points", "width": 2000},
    "three points, infinite width": {"name": "three-points", "width": "inf"},
}


async def main() -> None:
    from playwright.async_api import async_playwright

    browser = sys.argv[1] if len(sys.argv) > 1 else shutil.which("chromium")
    laboratory = start_laboratory()
    try:
        async with async_playwright() as playwright:
            with tempfile.TemporaryDirectory() as folder:
                context = await playwright.chromium.launch_persistent_context(
                    folder, executable_path=browser, args=ARGUMENTS, viewport={"width": 1600, "height": 950}
                )
                page = context.pages[0]
                await page.goto(laboratory.url)
                await page.wait_for_selector("#data")
                await page.evaluate("reluflow.settled()")
                measured = {
                    **await dragging(page, laboratory.process.pid),
                    **await scrubbing(page),
                    "releases": {name: await released(page, laboratory.process.pid, run) for name, run in RUNS.items()},
                    "load": os.getloadavg()[0],
                }
                print(json.dumps(measured, indent=2))
                await context.close()
    finally:
        stop(laboratory)


# The clock of a page goes on from the moment the button is up; all of it in the page, so that nothing waits for Python.
_WATCH = """() => { window.seen = new Promise((resolve) => {
  const frame = () => new Promise((drawn) => requestAnimationFrame(drawn)), seen = [];
  addEventListener("pointerup", async (event) => {
    const began = event.timeStamp;
    while (!(reluflow.marks().answered > began)) { // the run as far as it is known, then all of it
      await frame();
      const { early, answered } = reluflow.marks(), mark = Math.max(early ?? 0, answered ?? 0);
      if (mark <= began || mark === seen.at(-1)?.mark) continue;
      await frame(); // it is drawn by then
      seen.push({ mark, after: performance.now() - began, ...reluflow.summary() });
    }
    resolve(seen);
  }, { once: true });
}); }"""


async def dragging(page, server: int) -> dict:
    """n = 10, m = 200: from each move of the pointer to the frame that shows it, and from the last one to the flow."""
    await page.evaluate("(state) => reluflow.set(state)", {"version": 1, "run": on_the_circle(10)})
    await page.evaluate(_WATCH)
    session = await page.context.new_cdp_session(page)
    await session.send("Performance.enable", {"timeDomain": "threadTicks"})  # processor time of the page's own thread
    mouse = await at_first_sample(page, session)
    await mouse("mousePressed", 0)
    before = await page_seconds(session)
    answers = await page.evaluate("reluflow.answers()")
    trace = await start_trace(session)
    await move(mouse, MOVES)
    waits = await trace()
    drawing = await page_seconds(session) - before
    answers = await page.evaluate("reluflow.answers()") - answers
    painting = await page.evaluate("reluflow.timing()")
    before = server_seconds(server)
    await mouse("mouseReleased", MOVES)
    seen = await page.evaluate("window.seen")
    computing = server_seconds(server) - before
    first, last = seen[0], seen[-1]
    return {
        "geometry_on_screen_ms_p95": round(float(np.percentile(waits, 95)), 1),
        "geometry_on_screen_ms_median": round(float(np.median(waits)), 1),
        "geometry_on_screen_ms_largest": round(max(waits), 1),
        "moves_seen": len(waits),
        "runs_that_came_in_the_drag": answers,
        "geometry_work_ms_median": round(float(np.median(painting)), 1),
        "geometry_work_ms_p95": round(float(np.percentile(painting, 95)), 1),
        "page_processor_ms_per_move": round(1000 * drawing / MOVES, 1),
        "flow_after_drag_ms": round(first["after"]),
        "flow_after_drag_up_to": {key: first[key] for key in ("time", "loss", "outcome")},
        "whole_flow_after_drag_ms": round(last["after"]),
        "server_processor_ms": round(1000 * computing),
    }


async def at_first_sample(page, session):
    """What sends an event of the mouse, k moves away from where the first sample is now."""
    box, (x, y) = await page.locator(".plane").bounding_box(), await page.evaluate("reluflow.plane().samples[0]")

    async def mouse(kind: str, k: int) -> None:
        place = {"x": box["x"] + x - 0.25 * k, "y": box["y"] + y + 0.35 * k}
        pressed = {"button": "left", "buttons": int(kind != "mouseReleased"), "clickCount": int(kind != "mouseMoved")}
        await session.send("Input.dispatchMouseEvent", {"type": kind, **place, **pressed})

    return mouse


async def move(mouse, moves: int) -> None:
    """Move the mouse; it does not wait for the screen."""
    rng, sent = np.random.default_rng(0), []
    for k in range(1, moves + 1):
        sent.append(asyncio.ensure_future(mouse("mouseMoved", k)))
        await asyncio.sleep(rng.uniform(0.008, 0.025))
    await asyncio.gather(*sent)


async def released(page, server: int, run: dict) -> dict:
    """A run after its first sample was dragged and let go: until a part of it was seen, and all of it; the fastest."""
    session = await page.context.new_cdp_session(page)
    await session.send("Performance.enable", {"timeDomain": "threadTicks"})
    firsts, wholes, computed, drawn = [], [], [], []
    for _ in range(RELEASES):
        await page.evaluate("(state) => reluflow.set(state)", {"version": 1, "run": run})
        await page.evaluate("reluflow.settled()")
        await page.evaluate(_WATCH)
        mouse = await at_first_sample(page, session)
        await mouse("mousePressed", 0)
        await move(mouse, FEW_MOVES)
        before = server_seconds(server), await page_seconds(session)
        await mouse("mouseReleased", FEW_MOVES)
        seen = await page.evaluate("window.seen")
        computed.append(server_seconds(server) - before[0])
        drawn.append(await page_seconds(session) - before[1])
        firsts.append(seen[0]["after"])
        wholes.append(seen[-1]["after"])
    end = {key: seen[-1][key] for key in ("loss", "outcome")}
    fastest = {"first": min(firsts), "whole": min(wholes)}
    processor = {"server_processor": 1000 * min(computed), "page_processor": 1000 * min(drawn)}
    return {f"{name}_ms": round(value) for name, value in (fastest | processor).items()} | end


async def start_trace(session):
    """Record what becomes of input events; what is returned ends it and gives the milliseconds of every move."""
    events, done = [], asyncio.Event()
    session.on("Tracing.dataCollected", lambda part: events.extend(part["value"]))
    session.on("Tracing.tracingComplete", lambda _: done.set())
    await session.send("Tracing.start", {"traceConfig": {"includedCategories": ["input"]}})

    async def ended() -> list[float]:
        await session.send("Tracing.end")
        await done.wait()
        began, waits = {}, []
        for event in sorted(events, key=lambda one: one["ts"]):
            if event["name"] != "EventLatency":
                continue
            key = (event["pid"], json.dumps(event.get("id2", event.get("id"))))
            if event["ph"] == "b" and event["args"]["event_latency"]["event_type"] == "MOUSE_DRAGGED":
                began[key] = event["ts"]
            elif event["ph"] == "e" and key in began:
                waits.append((event["ts"] - began.pop(key)) / 1000)
        if len(waits) < 0.9 * MOVES:
            raise SystemExit(
                f"The browser told of {len(waits)} of {MOVES} moves; `EventLatency` may have another name."
            )
        return waits

    return ended


async def page_seconds(session) -> float:
    """Processor time the thread of the page has had."""
    metrics = await session.send("Performance.getMetrics")
    return next(one["value"] for one in metrics["metrics"] if one["name"] == "TaskDuration")


def server_seconds(server: int) -> float:
    """Processor time the server has had, and the processes that it and those have started."""
    fields = Path(f"/proc/{server}/stat").read_text().rpartition(")")[2].split()
    children = [pid for path in Path(f"/proc/{server}/task").glob("*/children") for pid in path.read_text().split()]
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return own + sum(server_seconds(int(pid)) for pid in children)


async def scrubbing(page) -> dict:
    """m = 2,000: frames drawn one after the other, each at another moment of the run; at most as many as the screen."""
    await page.evaluate("(state) => reluflow.set(state)", {"version": 1, "run": {"width": 2000}})
    paints, frames = await page.evaluate(
        """async () => {
          const paints = [], frames = [], frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
          let before = await frame();
          for (let k = 0; k < 240; k++) {
            const began = performance.now();
            reluflow.paint((k % 120) / 120);
            paints.push(performance.now() - began);
            const now = await frame();
            frames.push(now - before);
            before = now;
          }
          return [paints, frames];
        }"""
    )
    return {
        "paint_m2000_ms_median": round(float(np.median(paints)), 2),
        "paint_m2000_ms_p95": round(float(np.percentile(paints, 95)), 2),
        "frames_per_second_m2000": round(1000 / float(np.mean(frames)), 1),
        "frames_later_than_17_ms": round(float(np.mean(np.array(frames) > 17.5)), 3),
    }


if __name__ == "__main__":
    asyncio.run(main())
