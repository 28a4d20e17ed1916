"""The laboratory in a real browser: geometry behind the pointer, the exact flow behind a drag, frames a second.

Times on the clock, and beside them processor times, which other work on the machine does not change (Linux).

python benchmarks/lab.py [PATH OF CHROMIUM]
"""

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from web.conftest import ARGUMENTS
from web.running import start_laboratory, stop

MOVES = 120


def main() -> None:
    from playwright.sync_api import sync_playwright

    browser = sys.argv[1] if len(sys.argv) > 1 else shutil.which("chromium")
    laboratory = start_laboratory()
    try:
        with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
            context = playwright.chromium.launch_persistent_context(
                folder, executable_path=browser, args=ARGUMENTS, viewport={"width": 1600, "height": 950}
            )
            page = context.pages[0]
            page.goto(laboratory.url)
            page.wait_for_selector("#data")
            page.evaluate("reluflow.settled()")
            measured = {**dragging(page, laboratory.process.pid), **scrubbing(page), "load": os.getloadavg()[0]}
            print(json.dumps(measured, indent=2))
            context.close()
    finally:
        stop(laboratory)


_DRAG = """async (moves) => {
  const canvas = document.querySelector(".plane"), box = canvas.getBoundingClientRect();
  const [x, y] = reluflow.plane().samples[0], waits = [];
  window.send = (type, k) => canvas.dispatchEvent(new PointerEvent(type, { clientX: box.left + x - 0.4 * k,
    clientY: box.top + y + 0.55 * k, pointerId: 1, bubbles: true, cancelable: true }));
  canvas.setPointerCapture = () => {};
  send("pointerdown", 0);
  for (let k = 1; k <= moves; k++) {
    const began = performance.now();
    send("pointermove", k);
    await new Promise((resolve) => requestAnimationFrame(resolve)); // after the one that draws
    waits.push(performance.now() - began);
  }
  return { waits, painting: reluflow.timing() };
}"""

_DROP = """async (moves) => {
  const began = performance.now(), seen = [], frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  send("pointerup", moves);
  while (!(reluflow.marks().answered > began)) { // the run as far as it is known, then all of it
    await frame();
    const { early, answered } = reluflow.marks(), mark = Math.max(early ?? 0, answered ?? 0);
    if (mark <= began || mark === seen.at(-1)?.mark) continue;
    await frame(); // it is drawn by then
    const { time, loss, outcome } = reluflow.run();
    seen.push({ mark, after: performance.now() - began, time, loss, outcome });
  }
  return seen;
}"""


def dragging(page, server: int) -> dict:
    """n = 10, m = 200: from a pointer event to the redrawn geometry, and from the last one to the new flow."""
    rng = np.random.default_rng(0)
    angles = np.sort(rng.uniform(0, 2 * np.pi, 10))
    X = np.column_stack([np.cos(angles), np.sin(angles)]).round(3).tolist()
    y = np.sign(np.cos(angles - 0.4)).tolist()
    state = {"version": 1, "run": {"name": "ten", "X": X, "y": y, "loss": "logistic", "width": 200, "scale": "1e-3"}}
    page.evaluate("(state) => reluflow.set(state)", state)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})  # processor time of the page's own thread
    before = page_seconds(session)
    drag = page.evaluate(_DRAG, MOVES)
    drawing = page_seconds(session) - before
    before = server_seconds(server)
    seen = page.evaluate(_DROP, MOVES)
    computing = server_seconds(server) - before
    waits, painting, first, last = drag["waits"], drag["painting"], seen[0], seen[-1]
    return {
        "geometry_on_screen_ms_p95": round(float(np.percentile(waits, 95)), 1),
        "geometry_on_screen_ms_median": round(float(np.median(waits)), 1),
        "geometry_work_ms_median": round(float(np.median(painting)), 1),
        "geometry_work_ms_p95": round(float(np.percentile(painting, 95)), 1),
        "page_processor_ms_per_move": round(1000 * drawing / MOVES, 1),
        "flow_after_drag_ms": round(first["after"]),
        "flow_after_drag_up_to": {key: first[key] for key in ("time", "loss", "outcome")},
        "whole_flow_after_drag_ms": round(last["after"]),
        "server_processor_ms": round(1000 * computing),
    }


def page_seconds(session) -> float:
    """Processor time the thread of the page has had."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return next(one["value"] for one in metrics if one["name"] == "TaskDuration")


def server_seconds(server: int) -> float:
    """Processor time the server and its processes have had."""
    total = 0.0
    for process in [server, *map(int, Path(f"/proc/{server}/task/{server}/children").read_text().split())]:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def scrubbing(page) -> dict:
    """m = 2,000: frames drawn one after the other, each at another moment of the run."""
    page.evaluate("(state) => reluflow.set(state)", {"version": 1, "run": {"width": 2000}})
    paints = page.evaluate(
        """async () => {
          const paints = [];
          for (let k = 0; k < 240; k++) {
            const began = performance.now();
            reluflow.paint((k % 120) / 120);
            paints.push(performance.now() - began);
            await new Promise((resolve) => requestAnimationFrame(resolve));
          }
          return paints;
        }"""
    )
    return {
        "paint_m2000_ms_median": round(float(np.median(paints)), 2),
        "paint_m2000_ms_p95": round(float(np.percentile(paints, 95)), 2),
        "frames_per_second_m2000": round(1000 / float(np.mean(paints))),
    }


if __name__ == "__main__":
    main()
