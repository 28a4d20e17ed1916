// Pointer and keyboard on the plane and the function: pick, drag, add, remove.
// @ts-check
import { logOfScale } from "./edits.js";
import { lineOf } from "./function_plot.js";
import { project } from "./planes.js";

const REACH_OF_FINGER = 24; // pixels
const FARTHEST = 5; // times the typical length of the other samples, to which one may be dragged; typing takes it farther
const LONGEST = 1e3;

/** A dragged sample, kept where it can be: dragged outwards again and again, samples came to a length of 1e6. */
export function withinReach(x, k, X, isLine) {
  const others = X.filter((_, i) => i !== k).map((row) => Math.hypot(...row)).sort((a, b) => a - b);
  const typical = others.length ? others[others.length >> 1] : Infinity;
  const limit = Math.max(Math.hypot(...X[k]), Math.min(LONGEST, FARTHEST * typical)), size = Math.hypot(...x);
  if (size <= limit) return x;
  if (!isLine) return x.map((value) => (value * limit) / size);
  const rest = Math.hypot(...x.slice(1));
  return [Math.sign(x[0]) * Math.sqrt(Math.max(0, limit ** 2 - rest ** 2)), ...x.slice(1)];
}

/** A unit vector turned within a plane towards a direction of it; the part outside the plane keeps its size. */
function turned(unit, basis, [x, y]) {
  const [p, q] = project(basis, unit), inside = Math.hypot(p, q);
  return unit.map((value, i) => value + (inside * x - p) * basis[0][i] + (inside * y - q) * basis[1][i]);
}

export class Dragging {
  /** @param {any} app @param {any} viewer @param {any} edits */
  constructor(app, viewer, edits) {
    this.app = app;
    this.viewer = viewer;
    this.edits = edits;
    /** @type {any} */ this.held = null;
    const { planeCanvas, functionCanvas } = viewer;
    planeCanvas.addEventListener("pointerdown", (event) => this.down(event));
    planeCanvas.addEventListener("pointermove", (event) => this.move(event));
    planeCanvas.addEventListener("dblclick", (event) => this.add(event));
    planeCanvas.addEventListener("keydown", (event) => this.key(event));
    functionCanvas.addEventListener("pointerdown", (event) => this.downFunction(event));
    functionCanvas.addEventListener("pointermove", (event) => this.moveFunction(event));
    planeCanvas.addEventListener("touchstart", (event) => this.touch(event, planeCanvas, (x, y) => viewer.isSphere || viewer.plane.pick(x, y, viewer.displayed(), REACH_OF_FINGER)), { passive: false });
    functionCanvas.addEventListener("touchstart", (event) => this.touch(event, functionCanvas, (x, y) => viewer.function.pick(x, y)), { passive: false });
    planeCanvas.addEventListener("pointerleave", () => { viewer.name.hidden = true; });
    for (const canvas of [planeCanvas, functionCanvas]) {
      canvas.addEventListener("pointerup", () => this.up());
      canvas.addEventListener("pointercancel", () => this.up());
    }
  }

  /** A finger on something that can be dragged drags it; anywhere else it scrolls the page. */
  touch(event, canvas, found) {
    if (!this.app.localData || event.touches.length !== 1) return;
    const box = canvas.getBoundingClientRect(), [finger] = event.touches;
    if (found(finger.clientX - box.left, finger.clientY - box.top)) event.preventDefault();
  }

  down(event) {
    if (!this.app.localData) return;
    this.viewer.name.hidden = true;
    this.viewer.planeCanvas.setPointerCapture(event.pointerId);
    if (this.viewer.isSphere) { this.held = { sphere: true, x: event.offsetX, y: event.offsetY }; return; }
    const found = this.viewer.plane.pick(event.offsetX, event.offsetY, this.viewer.displayed(), event.pointerType === "touch" ? REACH_OF_FINGER : 14);
    if (!found && this.app.adding !== null && event.button === 0) { this.add(event, this.app.adding); return; }
    if (!found) { this.app.select({}); return; }
    this.app.select(found);
    this.held = { ...found, x: event.offsetX, y: event.offsetY, hasMoved: false, startsLabel: event.shiftKey, label: this.app.localData.y[found.sample] };
    event.preventDefault();
    this.viewer.planeCanvas.focus(/** @type {any} */ ({ preventScroll: true, focusVisible: false }));
  }

  move(event) {
    const held = this.held;
    if (!held) { this.hover(event); return; }
    const dx = event.offsetX - held.x, dy = event.offsetY - held.y;
    if (held.sphere) {
      this.viewer.sphere.rotate(dx, dy);
      [held.x, held.y] = [event.offsetX, event.offsetY];
      this.viewer.redraw();
      return;
    }
    if (!held.hasMoved && Math.hypot(dx, dy) < 3) return;
    held.hasMoved = true;
    if (held.sample !== undefined) this.dragSample(held, event);
    else this.dragNeuron(held, event);
  }

  hover(event) {
    if (!this.app.localData || this.viewer.isSphere) return;
    const found = this.viewer.plane.pick(event.offsetX, event.offsetY, this.viewer.displayed());
    this.viewer.planeCanvas.classList.toggle("can-drag", Boolean(found));
    if (event.pointerType !== "touch") this.viewer.nameUnder(event.offsetX, event.offsetY);
  }

  dragSample(held, event) {
    if (held.startsLabel) {
      const step = (held.y - event.offsetY) / 80;
      const isBinary = this.app.state.run.loss !== "square";
      this.edits.relabel(held.sample, isBinary ? (step + held.label > 0 ? 1 : -1) : held.label + step, { isDragging: true });
      return;
    }
    const { plane } = this.viewer, old = this.app.localData.X[held.sample];
    const [a, b] = plane.sampleAt(event.offsetX, event.offsetY);
    const line = lineOf(this.app.localData.X);
    let x;
    if (line) x = line.constant === null ? [a] : [a, line.constant];
    else {
      const [olda, oldb] = plane.places[held.sample], [b0, b1] = plane.plane.basis;
      x = old.map((value, i) => value + (a - olda) * b0[i] + (b - oldb) * b1[i]);
    }
    plane.heldReach ??= plane.reach;
    held.start ??= this.app.localData.X;
    this.edits.moveSample(held.sample, withinReach(x, held.sample, held.start, Boolean(line)), { isDragging: true });
  }

  dragNeuron(held, event) {
    const { plane } = this.viewer;
    if (plane.plane.basis.length < 2 || !this.edits.canEditNeurons()) return;
    if (this.viewer.model.view.at !== 0) this.viewer.scrub(0);
    const row = this.edits.neuronRows()[held.neuron], w = row.slice(0, -1), old = Math.hypot(...w) || 1;
    held.unit ??= w.map((value) => value / old);
    const [dx, dy] = [event.offsetX - plane.center[0], plane.center[1] - event.offsetY];
    const distance = Math.hypot(dx, dy) || 1;
    const run = this.viewer.model.run, [low, high] = run ? [run.lowW, run.highW] : plane.startRange();
    const share = Math.min(1, Math.max(0.02, (distance / plane.radius - 0.14) / 0.82));
    held.low ??= low;
    held.high ??= high;
    const { scale } = this.app.state.run;
    const norm = Math.exp(held.low + share * (held.high - held.low) - logOfScale(scale));
    const size = Number.isFinite(norm) && norm > 0 ? norm : old;
    const unit = turned(held.unit, plane.plane.basis, [dx / distance, dy / distance]);
    this.edits.moveNeuron(held.neuron, unit.map((value) => size * value), row[row.length - 1] * (size / old), { isDragging: true });
  }

  up() {
    const held = this.held;
    this.held = this.viewer.plane.heldReach = this.viewer.function.held = null;
    if (held?.hasMoved) this.app.change({}, { data: this.app.localData });
  }

  add(event, label = 1) {
    const data = this.app.localData;
    if (!data || this.viewer.isSphere || data.X[0].length > 2) return;
    if (this.viewer.plane.pick(event.offsetX, event.offsetY, null)) return;
    const [a, b] = this.viewer.plane.sampleAt(event.offsetX, event.offsetY), line = lineOf(data.X);
    this.edits.addSample(line ? (line.constant === null ? [a] : [a, line.constant]) : [a, b], label);
  }

  downFunction(event) {
    const plot = this.viewer.function;
    const found = this.app.localData && plot.pick(event.offsetX, event.offsetY);
    if (!found) return;
    this.viewer.functionCanvas.setPointerCapture(event.pointerId);
    this.app.select(found);
    if (plot.line) this.held = { ...found, onFunction: true, hasMoved: false };
  }

  moveFunction(event) {
    const held = this.held, plot = this.viewer.function;
    if (!held?.onFunction) return;
    held.hasMoved = true;
    plot.held ??= { range: plot.range, heights: plot.heights };
    const [x, label] = plot.valueAt(event.offsetX, event.offsetY), data = this.app.localData;
    const isBinary = this.app.state.run.loss !== "square";
    held.start ??= data.X;
    const [inside] = withinReach([x, ...data.X[held.sample].slice(1)], held.sample, held.start, true);
    const X = data.X.map((row, i) => (i === held.sample ? [Number(inside.toPrecision(6)), ...row.slice(1)] : row));
    if (X.some((row, i) => i !== held.sample && row.every((value, c) => value === X[held.sample][c]))) return;
    const y = data.y.map((old, i) => (i === held.sample ? (isBinary ? (label >= 0 ? 1 : -1) : Number(label.toPrecision(6))) : old));
    this.edits.setSamples(X, y, { isDragging: true });
  }

  /** Arrow keys move what is selected, [ and ] go from sample to sample, { and } from neuron to neuron. */
  key(event) {
    const { app, edits } = this, data = app.localData, { sample, neuron } = app.selection;
    if (!data) return;
    const step = (this.viewer.plane.reach / (event.shiftKey ? 200 : 30));
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    if (this.viewer.isSphere && arrows[event.key]) {
      this.viewer.sphere.rotate(12 * arrows[event.key][0], -12 * arrows[event.key][1]);
      this.viewer.redraw();
    } else if (arrows[event.key] && sample !== null) {
      const [dx, dy] = arrows[event.key], [b0, b1] = this.viewer.plane.plane.basis;
      const isLine = lineOf(data.X);
      edits.moveSample(sample, data.X[sample].map((value, i) => value + step * (dx * b0[i] + (isLine || !b1 ? 0 : dy * b1[i]))));
    } else if (arrows[event.key] && neuron !== null && this.viewer.plane.plane.basis.length === 2 && edits.canEditNeurons()) {
      const { basis } = this.viewer.plane.plane, row = edits.neuronRows()[neuron], turn = (arrows[event.key][0] ? -arrows[event.key][0] : 0) * (event.shiftKey ? 0.01 : 0.06);
      const factor = arrows[event.key][1] ? (arrows[event.key][1] > 0 ? 1.15 : 1 / 1.15) : 1;
      const w = row.slice(0, -1), [p, q] = project(basis, w), [c, s] = [Math.cos(turn), Math.sin(turn)];
      const next = w.map((value, i) => factor * (value + (c * p - s * q - p) * basis[0][i] + (s * p + c * q - q) * basis[1][i]));
      edits.moveNeuron(neuron, next, row[row.length - 1] * factor);
    } else if (event.key === "]" || event.key === "[") {
      const n = data.X.length, by = event.key === "]" ? 1 : n - 1;
      app.select({ sample: sample === null ? 0 : (sample + by) % n });
    } else if (event.key === "}" || event.key === "{") {
      const m = this.viewer.displayed().m, by = event.key === "}" ? 1 : m - 1;
      app.select({ neuron: neuron === null ? 0 : (neuron + by) % m });
    } else if (event.key === "f" && sample !== null) edits.flip(sample);
    else if (event.key === "Delete" || event.key === "Backspace") edits.remove(app.selection);
    else if (event.key === "Escape") app.select({});
    else return;
    event.preventDefault();
  }
}
