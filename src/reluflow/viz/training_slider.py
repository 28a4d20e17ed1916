"""A run as one interactive page: a slider over its moments; no network, no library, readable on a phone."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reluflow.data.atomic import replacing
from reluflow.errors import InvalidInputError
from reluflow.viz.polar import angles_of, boundary_angles
from reluflow.viz.style import BLACK, BLUE, GREY, NEGATIVE, ORANGE, POSITIVE
from reluflow.viz.training_moments import Backdrop, TrainingMoment, relative_norms

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.4 system-ui, sans-serif; color: #1a1a1a; background: #fff; margin: 0 auto; max-width: 60rem;
  padding: .75rem; }
h1 { font-size: 1.15rem; margin: .2rem 0 .5rem; }
.views { display: flex; flex-wrap: wrap; gap: .5rem; } canvas { flex: 1 1 18rem; width: 18rem; aspect-ratio: 1.15; }
.row { display: flex; gap: .75rem; align-items: center; margin-top: .5rem; } input { flex: 1; min-width: 8rem; }
button { font: inherit; padding: .35rem 1rem; } .legend { font-size: .85rem; color: #333; }
"""

_SCRIPT = """
const run = JSON.parse(document.getElementById("run").textContent);
const [left, right] = document.querySelectorAll("canvas");
const slider = document.getElementById("moment"), words = document.getElementById("words");
const button = document.getElementById("play");
let timer = null;

function sheet(canvas) {
  const box = canvas.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
  canvas.width = box.width * ratio; canvas.height = box.height * ratio;
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio); pen.font = "12px system-ui, sans-serif"; pen.lineJoin = "round";
  return [pen, box.width, box.height];
}

function drawFunction(moment) {
  const [pen, width, height] = sheet(left), pad = 34, [low, high] = run.limits, grid = run.grid;
  const first = grid[0], last = grid[grid.length - 1];
  const x = v => pad + (v - first) / (last - first) * (width - pad - 8);
  const y = v => height - pad - (v - low) / (high - low) * (height - pad - 8);
  pen.strokeStyle = pen.fillStyle = "#333"; pen.lineWidth = 1;
  pen.strokeRect(pad, 8, width - pad - 8, height - pad - 8);
  for (let k = 0; k <= 4; k++) {
    const u = first + k / 4 * (last - first), v = low + k / 4 * (high - low);
    pen.textAlign = "center"; pen.fillText(+u.toFixed(2), x(u), height - pad + 16);
    pen.textAlign = "right"; pen.fillText(+v.toFixed(2), pad - 4, y(v) + 4);
  }
  pen.textAlign = "center"; pen.fillText("input x", width / 2, height - 4);
  pen.save(); pen.beginPath(); pen.rect(pad, 8, width - pad - 8, height - pad - 8); pen.clip();
  const curve = (values, colour, size, dash) => {
    pen.beginPath(); pen.strokeStyle = colour; pen.lineWidth = size; pen.setLineDash(dash);
    values.forEach((v, k) => k ? pen.lineTo(x(grid[k]), y(v)) : pen.moveTo(x(grid[k]), y(v))); pen.stroke();
  };
  curve(run.reference, run.colours.reference, 1.5, [6, 4]);
  curve(moment.outputs, run.colours.output, 2.5, []);
  if (moment.prediction) curve(moment.prediction, run.colours.prediction, 2, [2, 3]);
  pen.setLineDash([]); pen.fillStyle = run.colours.sample;
  run.samples.forEach(([u, v]) => { pen.beginPath(); pen.arc(x(u), y(v), run.samples.length > 20 ? 2 : 4, 0, 7);
    pen.fill(); });
  pen.restore();
}

function drawNeurons(moment) {
  const [pen, width, height] = sheet(right), cx = width / 2, cy = height / 2;
  const outer = Math.min(width, height) / 2 - 28, inner = outer / 6;
  const place = (degrees, r) => {
    const t = degrees * Math.PI / 180, s = inner + r * (outer - inner);
    return [cx + s * Math.cos(t), cy - s * Math.sin(t)];
  };
  pen.strokeStyle = "#777"; pen.lineWidth = 1;
  for (const r of [inner, outer]) { pen.beginPath(); pen.arc(cx, cy, Math.max(r, 0), 0, 7); pen.stroke(); }
  pen.setLineDash([4, 3]);
  run.boundaries.forEach(t => { pen.beginPath(); pen.moveTo(...place(t, 0));
    pen.lineTo(...place(t, 1)); pen.stroke(); });
  pen.setLineDash([]); pen.fillStyle = "#333"; pen.textAlign = "center";
  for (const t of [0, 90, 180, 270]) { const [u, v] = place(t, 1.12); pen.fillText(t + "°", u, v + 4); }
  moment.angles.forEach((t, k) => {
    const [u, v] = place(t, moment.radii[k]), sign = moment.signs[k];
    pen.beginPath(); pen.strokeStyle = sign > 0 ? run.colours.positive : run.colours.negative;
    if (sign > 0) { pen.fillStyle = run.colours.positive; pen.arc(u, v, 3, 0, 7); pen.fill(); }
    else { pen.rect(u - 3, v - 3, 6, 6); pen.stroke(); }
  });
  pen.fillStyle = "#333"; pen.textAlign = "left"; pen.fillText("outer circle: |w| = " + moment.largest, 4, height - 4);
}

function show() {
  const moment = run.moments[+slider.value];
  drawFunction(moment); drawNeurons(moment);
  words.textContent = moment.title; slider.setAttribute("aria-valuetext", moment.title);
}

function stop() { clearInterval(timer); timer = null; button.textContent = "Play"; }

button.addEventListener("click", () => {
  if (timer) { stop(); return; }
  if (+slider.value === run.moments.length - 1) slider.value = 0;
  button.textContent = "Pause";
  timer = setInterval(() => {
    if (+slider.value === run.moments.length - 1) { stop(); return; }
    slider.value = +slider.value + 1; show();
  }, 120);
});
slider.addEventListener("input", show);
window.addEventListener("resize", show);
show();
"""


def save_training_slider(moments: Sequence[TrainingMoment], backdrop: Backdrop, path: Path, *, title: str) -> Path:
    """Write one HTML page with a slider over the moments of a run; it appears complete or not at all.

    Filled dots are neurons with a > 0, open squares those with a < 0.
    """
    line = backdrop.line()
    if not moments:
        raise InvalidInputError("`moments` must hold at least one moment, got none.")
    run: dict[str, Any] = {
        "grid": _rounded(backdrop.grid, 4),
        "reference": _rounded(backdrop.reference, 4),
        "limits": list(backdrop.y_limits),
        "samples": _rounded(np.column_stack([line.inputs, line.dataset.y]), 4),
        "boundaries": _rounded(np.degrees(boundary_angles(line.dataset.X)), 2) if backdrop.shows_cones else [],
        "colours": {
            "output": BLUE,
            "prediction": ORANGE,
            "reference": GREY,
            "sample": BLACK,
            "positive": POSITIVE,
            "negative": NEGATIVE,
        },
        "moments": [_moment(moment) for moment in moments],
    }
    legend = [f"solid: {backdrop.output_label}", f"dashed: {backdrop.reference_label}", "black dots: samples"]
    if any(moment.prediction is not None for moment in moments):
        legend.insert(1, f"dotted: {backdrop.prediction_label}")
    legend += ["filled dots: neurons with a > 0", "open squares: neurons with a < 0, at angle atan2(w2, w1)"]
    data = json.dumps(run, separators=(",", ":"), allow_nan=False).replace("</", "<\\/")
    page = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{html.escape(title)}</h1>
<div class="views">
<canvas role="img" aria-label="The network's function over the input, with the samples"></canvas>
<canvas role="img" aria-label="The neurons by direction and norm"></canvas>
</div>
<div class="row">
<button id="play" type="button">Play</button>
<input id="moment" type="range" min="0" max="{len(moments) - 1}" value="0" aria-label="TrainingMoment of the run">
</div>
<p id="words" aria-live="polite"></p>
<p class="legend">{html.escape("; ".join(legend))}.</p>
<noscript><p>This page draws with JavaScript; the same run is in the picture beside it.</p></noscript>
<script type="application/json" id="run">{data}</script>
<script>{_SCRIPT}</script>
</body>
</html>
"""
    with replacing(path) as handle:
        handle.write(page.encode())
    return path


def _moment(moment: TrainingMoment) -> dict[str, Any]:
    w, a = np.asarray(moment.w, dtype=np.float64), np.asarray(moment.a, dtype=np.float64)
    radii, largest = relative_norms(w)
    prediction = moment.prediction
    return {
        "title": moment.title,
        "outputs": _rounded(moment.outputs, 4),
        "prediction": None if prediction is None else _rounded(prediction, 4),
        "angles": _rounded(np.degrees(angles_of(w)), 1),
        "radii": _rounded(radii, 3),
        "signs": np.sign(a).astype(int).tolist(),
        "largest": f"{largest:.2g}",
    }


def _rounded(values: Any, digits: int) -> list[Any]:
    rounded: list[Any] = (np.round(np.asarray(values, dtype=np.float64), digits) + 0.0).tolist()
    return rounded
