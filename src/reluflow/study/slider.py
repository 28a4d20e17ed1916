"""The time slider of a report: neurons and loss at any moment of the run, drawn in the browser."""

from __future__ import annotations

from typing import Any

import numpy as np

from reluflow.arrays import FloatArray, IntArray
from reluflow.study.motion import Motion, captions_of
from reluflow.study.page import embedded_json, escape
from reluflow.viz.function_frames import FunctionFrames
from reluflow.viz.style import class_look

MOST_NEURONS = 300
HOLE = 0.35  # as in the static picture

_SCRIPT = """
(function () {
  const data = JSON.parse(document.getElementById('motion-data').textContent);
  const root = document.getElementById('motion');
  const slider = root.querySelector('input'), words = root.querySelector('output'), play = root.querySelector('button');
  const disc = root.querySelector('.disc'), dot = root.querySelector('.now'), edge = root.querySelector('.edge');
  const space = disc.namespaceURI;
  const round = 'M-0.028,0a0.028,0.028 0 1,0 0.056,0a0.028,0.028 0 1,0 -0.056,0';
  const marks = data.places[0].map(function () {
    const mark = document.createElementNS(space, 'path');
    mark.setAttribute('stroke-width', '0.012');
    mark.setAttribute('d', round);
    disc.appendChild(mark);
    return mark;
  });
  function show(k) {
    data.places[k].forEach(function (place, j) {
      const norm = Math.hypot(place[0], place[1]) || 1e-9;
      const far = data.hole + (1 - data.hole) * Math.min(norm, 1);
      const positive = data.signs[k][j] > 0;
      const pushed = data.pushes ? data.colours[data.pushes[k][j]] : null;
      marks[j].setAttribute('fill', pushed || (positive ? '#D55E00' : '#ffffff'));
      marks[j].setAttribute('stroke', pushed || (positive ? '#D55E00' : '#0072B2'));
      marks[j].setAttribute('transform', 'translate(' + far * place[0] / norm + ',' + -far * place[1] / norm + ')');
    });
    if (edge) { edge.setAttribute('d', data.edges[k]); }
    dot.setAttribute('cx', data.curve[k][0]);
    dot.setAttribute('cy', data.curve[k][1]);
    words.textContent = data.captions[k];
    slider.setAttribute('aria-valuetext', data.captions[k]);
  }
  let timer = null;
  function stop() { clearInterval(timer); timer = null; play.textContent = 'Play'; }
  slider.addEventListener('input', function () { stop(); show(+slider.value); });
  play.addEventListener('click', function () {
    if (timer) { stop(); return; }
    if (+slider.value >= data.places.length - 1) { slider.value = 0; }
    play.textContent = 'Pause';
    timer = setInterval(function () {
      slider.value = +slider.value + 1;
      show(+slider.value);
      if (+slider.value >= data.places.length - 1) { stop(); }
    }, 120);
  });
  root.hidden = false;
  show(0);
})();
"""


def slider(motion: Motion, frames: FunctionFrames | None = None) -> str:
    """The interactive view; hidden where there is no JavaScript, for the static picture shows the same run.

    Parameters
    ----------
    motion
        The neurons and the loss.
    frames
        The function among the samples at the same moments, where the inputs are at most two.
    """
    last = len(motion.times) - 1
    data = slider_data(motion) | ({} if frames is None else {"edges": [_path(frames, k) for k in range(last + 1)]})
    points = " ".join(f"{x},{y}" for x, y in data["curve"])
    ticks = "".join(
        f'<line x1="{x:.3f}" y1="{-y:.3f}" x2="{1.08 * x:.3f}" y2="{-1.08 * y:.3f}" stroke="#707070" '
        'stroke-width="0.015"/>'
        for x, y in motion.samples
    )
    return (
        '<div class="motion" id="motion" hidden>'
        f'<div class="views"><svg class="disc" viewBox="-1.15 -1.15 2.3 2.3" role="img" aria-label="Neurons in the '
        f'{escape(motion.plane)}; {_colour_words(motion)}">'
        f'<circle r="1" fill="none" stroke="#c8c8c8" stroke-width="0.01"/>'
        f'<circle r="{HOLE}" fill="none" stroke="#333" stroke-width="0.01"/>{ticks}</svg>'
        f"{_function_view(frames)}"
        '<svg viewBox="-16 -8 122 84" role="img" aria-label="Loss over the frames of the run">'
        f"{_loss_axes(motion)}"
        '<line x1="0" y1="60" x2="100" y2="60" stroke="#333" stroke-width="0.5"/>'
        '<line x1="0" y1="0" x2="0" y2="60" stroke="#333" stroke-width="0.5"/>'
        f'<polyline points="{points}" fill="none" stroke="#0072B2" stroke-width="1.2"/>'
        '<circle class="now" r="2.2" fill="#1a1a1a"/></svg></div>'
        f'<label>Moment of the run <input type="range" min="0" max="{last}" value="0" step="1"></label>'
        '<p><button type="button">Play</button> <output></output></p>'
        f"<p>{escape(motion.plane[0].upper() + motion.plane[1:])}. Distance from the inner circle is the size of a "
        f"neuron, {_colour_legend(motion)}; grey ticks are the samples' directions.{_function_words(frames)} Last, the "
        "loss, frame by frame.</p></div>"
        f'<script type="application/json" id="motion-data">{embedded_json(data)}</script>'
        f"<script>{_SCRIPT}</script>"
    )


def _colour_words(motion: Motion) -> str:
    if motion.pushes is None:
        return "filled circles have a positive output weight, open ones a negative one"
    return "the colour of a circle is the output that the neuron pushes most"


def _colour_legend(motion: Motion) -> str:
    """What the look of a neuron says, with the colours of the outputs."""
    if motion.pushes is None:
        return "filled where a &gt; 0"
    names = ", ".join(
        f'<span style="color:{class_look(c)[0]}">&#9679;</span> {escape(name)}' for c, name in enumerate(motion.names)
    )
    return f"its colour the output that it pushes most ({names})"


def _function_view(frames: FunctionFrames | None) -> str:
    """The samples and a path for the function, in a square of side 100."""
    if frames is None:
        return ""
    marks = []
    for (x, y), label in zip(_placed(frames, frames.samples), frames.labels, strict=True):
        look = 'fill="#D55E00" stroke="#D55E00"' if label > 0 else 'fill="#fff" stroke="#0072B2"'
        if frames.num_classes:
            look = f'fill="{class_look(int(label))[0]}" stroke="#fff"'
        marks.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="1.6" {look} stroke-width="0.7"/>')
    left, right, bottom, top = frames.window
    corners = (
        f'<text x="0" y="108" font-size="6" fill="#444">{left:.3g}</text>'
        f'<text x="100" y="108" font-size="6" fill="#444" text-anchor="end">{right:.3g}</text>'
        f'<text x="-1" y="99" font-size="6" fill="#444" text-anchor="end">{bottom:.3g}</text>'
        f'<text x="-1" y="5" font-size="6" fill="#444" text-anchor="end">{top:.3g}</text>'
    )
    return (
        f'<svg viewBox="-26 -4 132 116" role="img" aria-label="The samples and {escape(frames.words)}">'
        f'<rect width="100" height="100" fill="none" stroke="#c8c8c8" stroke-width="0.5"/>{corners}'
        f'<path class="edge" fill="none" stroke="#1a1a1a" stroke-width="1.4"/>{"".join(marks)}</svg>'
    )


def _function_words(frames: FunctionFrames | None) -> str:
    if frames is None:
        return ""
    look = "in the colours of the outputs" if frames.num_classes else "filled where y &gt; 0"
    return f" Then the samples, {look}, and {escape(frames.words)}."


def _placed(frames: FunctionFrames, points: FloatArray) -> FloatArray:
    left, right, bottom, top = frames.window
    low, size = np.array([left, bottom]), np.array([right - left, top - bottom])
    share = (np.asarray(points) - low) / size
    return np.column_stack([100.0 * share[:, 0], 100.0 - 100.0 * share[:, 1]])


def _path(frames: FunctionFrames, moment: int) -> str:
    lines = [_placed(frames, line) for line in frames.curves[moment]]
    return "".join("M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in line) for line in lines)


def _loss_axes(motion: Motion) -> str:
    """The numbers at the ends of both axes, and what the axes are."""
    times = [
        f"t = {t:.3g}" if np.isfinite(t) else f"ln t = {log:.3g}"
        for t, log in zip(motion.times, motion.log_times, strict=True)
    ]
    words = (
        (0.0, 67.0, "start", times[0]),
        (100.0, 67.0, "end", times[-1]),
        (50.0, 74.0, "middle", "frames of the run, not evenly in time"),
        (-1.0, 3.0, "end", f"{float(np.max(motion.losses)):.3g}"),
        (-1.0, 61.0, "end", "0"),
        (2.0, -2.0, "start", "loss"),
    )
    return "".join(
        f'<text x="{x}" y="{y}" font-size="5" fill="#444" text-anchor="{anchor}">{escape(text)}</text>'
        for x, y, anchor, text in words
    )


def slider_data(motion: Motion) -> dict[str, Any]:
    """What the browser needs: places and signs of at most 300 neurons, the loss curve, a caption per frame."""
    num_neurons = motion.places.shape[1]
    picked = np.unique(np.linspace(0, num_neurons - 1, min(num_neurons, MOST_NEURONS)).astype(int))
    high = float(np.max(motion.losses)) or 1.0
    across = np.linspace(0.0, 100.0, len(motion.losses))
    curve = [
        [round(float(x), 2), round(60.0 - 60.0 * float(y) / high, 2)]
        for x, y in zip(across, motion.losses, strict=True)
    ]
    captions = captions_of(motion)
    # four digits of the direction survive at any size: a coordinate is rounded relative to the neuron's own norm
    places = motion.places[:, picked]
    norms = np.maximum(np.linalg.norm(places, axis=2, keepdims=True), 1e-9)
    units = np.round(places / norms, 4)
    return {
        "hole": HOLE,
        "places": np.array([[float(f"{v:.4g}") for v in row] for row in (units * norms).reshape(-1, 2)])
        .reshape(places.shape)
        .tolist(),
        "signs": motion.signs[:, picked].astype(int).tolist(),
        "curve": curve,
        "captions": captions,
    } | _pushes_data(motion, picked)


def _pushes_data(motion: Motion, picked: IntArray) -> dict[str, Any]:
    """The colours of neurons of several outputs; nothing for one."""
    if motion.pushes is None:
        return {}
    colours = [class_look(c)[0] for c in range(len(motion.names))]
    return {"pushes": motion.pushes[:, picked].tolist(), "colours": colours}
