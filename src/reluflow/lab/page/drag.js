// Pointer and keyboard on the plane and the function: pick, drag, add, remove.
// @ts-check
import { logOfScale } from "./edits.js";
import { lineOf } from "./function_plot.js";
import { project } from "./planes.js";
/** @import { Draggable, Editing, Point } from "./model.d.ts" */
/** @import { Viewer } from "./viewer.js" */

const REACH_OF_FINGER = 24; // pixels
const FARTHEST = 5; // times the typical length of the other samples, to which one may be dragged; typing takes it farther
const LONGEST = 1e3;

/** A dragged sample, kept where it can be: dragged outwards again and again, samples came to a length of 1e6. @param {number[]} x @param {number} k @param {number[][]} X @param {boolean} isLine */
export function withinReach(x, k, X, isLine) {
  const others = X.filter((_, i) => i !== k).map((row) => Math.hypot(...row)).sort((a, b) => a - b);
  const typical = others.length ? others[others.length >> 1] : Infinity;
  const limit = Math.max(Math.hypot(...X[k]), Math.min(LONGEST, FARTHEST * typical)), size = Math.hypot(...x);
  if (size <= limit) return x;
  if (!isLine) return x.map((value) => (value * limit) / size);
  const rest = Math.hypot(...x.slice(1));
  return [Math.sign(x[0]) * Math.sqrt(Math.max(0, limit ** 2 - rest ** 2)), ...x.slice(1)];
}

/** A unit vector turned within a plane towards a direction of it; the part outside the plane keeps its size. @param {number[]} unit @param {number[][]} basis @param {Point} direction */
function turned(unit, basis, [x, y]) {
  const [p, q] = project(basis, unit), inside = Math.hypot(p, q);
  return unit.map((value, i) => value + (inside * x - p) * basis[0][i] + (inside * y - q) * basis[1][i]);
}

/** A sample moved within a plane; the part outside the plane stays. @param {number[][]} basis @param {number[]} x @param {Point} from its place @param {Point} to */
function movedWithin([b0, b1], x, [fromA, fromB], [toA, toB]) {
  return x.map((value, i) => value + (toA - fromA) * b0[i] + (toB - fromB) * b1[i]);
}

/** @type {Record<string, Point>} */
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

/** The sphere, held where the pointer was last. @typedef {{what: "sphere", x: number, y: number, hasMoved: boolean}} HeldSphere */
/**
 * A sample, held since the pointer was at (x, y).
 * @typedef {{what: "sample", k: number, x: number, y: number, hasMoved: boolean, startsLabel: boolean, label: number, start: number[][]}} HeldSample
 */
/** A sample in the plot of the function. @typedef {{what: "point", k: number, hasMoved: boolean, start: number[][]}} HeldPoint */
/**
 * A neuron, with its direction and the range of sizes when it was taken.
 * @typedef {{what: "neuron", j: number, x: number, y: number, hasMoved: boolean, unit: number[] | null, range: Point | null}} HeldNeuron
 */

export class Dragging {
  /** @param {Draggable} app @param {Viewer} viewer @param {Editing} edits */
  constructor(app, viewer, edits) {
    this.app = app;
    this.viewer = viewer;
    this.edits = edits;
    /** @type {HeldSphere | HeldSample | HeldPoint | HeldNeuron | null} */
    this.held = null;
    const { planeCanvas, functionCanvas } = viewer;
    planeCanvas.addEventListener("pointerdown", (event) => this.down(event));
    planeCanvas.addEventListener("pointermove", (event) => this.move(event));
    planeCanvas.addEventListener("dblclick", (event) => this.add(event));
    planeCanvas.addEventListener("keydown", (event) => this.key(event));
    functionCanvas.addEventListener("pointerdown", (event) => this.downFunction(event));
    functionCanvas.addEventListener("pointermove", (event) => this.moveFunction(event));
    planeCanvas.addEventListener("touchstart", (event) => this.touch(event, planeCanvas, (x, y) => viewer.isSphere || viewer.plane.pick(x, y, viewer.displayed(), REACH_OF_FINGER)), { passive: false });
    functionCanvas.addEventListener("touchstart", (event) => this.touch(event, functionCanvas, (x, y) => viewer.function.pick(x, y)), { passive: false });
    for (const canvas of [planeCanvas, functionCanvas]) {
      canvas.addEventListener("pointerup", () => this.up());
      canvas.addEventListener("pointercancel", () => this.up());
    }
  }

  /** A finger on something that can be dragged drags it; anywhere else it scrolls the page. @param {TouchEvent} event @param {HTMLCanvasElement} canvas @param {(x: number, y: number) => unknown} found */
  touch(event, canvas, found) {
    if (!this.app.localData || event.touches.length !== 1) return;
    const box = canvas.getBoundingClientRect(), [finger] = event.touches;
    if (found(finger.clientX - box.left, finger.clientY - box.top)) event.preventDefault();
  }

  /** @param {PointerEvent} event */
  down(event) {
    const data = this.app.localData;
    if (!data) return;
    this.viewer.name.hidden = true;
    this.viewer.planeCanvas.setPointerCapture(event.pointerId);
    if (this.viewer.isSphere) { this.held = { what: "sphere", x: event.offsetX, y: event.offsetY, hasMoved: false }; return; }
    const found = this.viewer.plane.pick(event.offsetX, event.offsetY, this.viewer.displayed(), event.pointerType === "touch" ? REACH_OF_FINGER : 14);
    if (!found && this.app.adding !== null && event.button === 0) { this.add(event, this.app.adding); return; }
    if (!found) { this.app.select({}); return; }
    this.app.select(found);
    const from = { x: event.offsetX, y: event.offsetY, hasMoved: false };
    if (found.sample !== undefined) this.held = { what: "sample", k: found.sample, ...from, startsLabel: event.shiftKey, label: data.y[found.sample], start: data.X };
    else if (found.neuron !== undefined) this.held = { what: "neuron", j: found.neuron, ...from, unit: null, range: null };
    event.preventDefault();
    this.viewer.planeCanvas.focus({ preventScroll: true, focusVisible: false });
  }

  /** @param {PointerEvent} event */
  move(event) {
    const held = this.held;
    if (!held) { this.hover(event); return; }
    if (held.what === "point") return; // of the function, which has its own
    const dx = event.offsetX - held.x, dy = event.offsetY - held.y;
    if (held.what === "sphere") {
      held.hasMoved ||= Math.hypot(dx, dy) >= 3;
      if (!held.hasMoved) return;
      this.viewer.sphere.rotate(dx, dy);
      [held.x, held.y] = [event.offsetX, event.offsetY];
      this.viewer.redraw();
      return;
    }
    if (!held.hasMoved && Math.hypot(dx, dy) < 3) return;
    held.hasMoved = true;
    if (held.what === "sample") this.dragSample(held, event);
    else this.dragNeuron(held, event);
  }

  /** @param {PointerEvent} event */
  hover(event) {
    if (!this.app.localData) return;
    const found = !this.viewer.isSphere && this.viewer.plane.pick(event.offsetX, event.offsetY, this.viewer.displayed());
    this.viewer.planeCanvas.classList.toggle("can-drag", Boolean(found));
    if (event.pointerType !== "touch") this.viewer.nameUnder(event);
  }

  /** @param {HeldSample} held @param {PointerEvent} event */
  dragSample(held, event) {
    if (held.startsLabel) {
      const step = (held.y - event.offsetY) / 80;
      const isBinary = this.app.state.run.loss !== "square";
      this.edits.relabel(held.k, isBinary ? (step + held.label > 0 ? 1 : -1) : held.label + step, { isDragging: true });
      return;
    }
    const { plane, model: { data: { X } } } = this.viewer, old = X[held.k];
    const [a, b] = plane.sampleAt(event.offsetX, event.offsetY);
    const line = lineOf(X);
    let x;
    if (line) x = onLine(a, line);
    else {
      x = movedWithin(plane.plane.basis, old, plane.places[held.k], [a, b]);
    }
    plane.heldReach ??= plane.reach;
    this.edits.moveSample(held.k, withinReach(x, held.k, held.start, Boolean(line)), { isDragging: true });
  }

  /** @param {HeldNeuron} held @param {PointerEvent} event */
  dragNeuron(held, event) {
    const { plane } = this.viewer;
    if (plane.plane.basis.length < 2 || !this.edits.canEditNeurons()) return;
    if (this.viewer.model.view.at !== 0) this.viewer.scrub(0);
    const row = this.edits.neuronRows()[held.j], w = row.slice(0, -1), old = Math.hypot(...w) || 1;
    held.unit ??= w.map((value) => value / old);
    const [dx, dy] = [event.offsetX - plane.center[0], plane.center[1] - event.offsetY];
    const distance = Math.hypot(dx, dy) || 1;
    const { run } = this.viewer.model;
    held.range ??= run ? [run.lowW, run.highW] : plane.startRange();
    const [low, high] = held.range;
    const share = Math.min(1, Math.max(0.02, (distance / plane.radius - 0.14) / 0.82));
    const { scale } = this.app.state.run;
    const norm = Math.exp(low + share * (high - low) - logOfScale(scale));
    const size = Number.isFinite(norm) && norm > 0 ? norm : old;
    const unit = turned(held.unit, plane.plane.basis, [dx / distance, dy / distance]);
    this.edits.moveNeuron(held.j, unit.map((value) => size * value), row[row.length - 1] * (size / old), { isDragging: true });
  }

  up() {
    const held = this.held;
    this.held = this.viewer.plane.heldReach = this.viewer.function.held = null;
    if (held?.what === "sphere") {
      const found = held.hasMoved ? null : this.viewer.sphere.pick(held.x, held.y, this.viewer.displayed());
      if (found?.sample !== undefined) this.app.select({ sample: found.sample });
      else if (found?.neuron !== undefined) this.app.select({ neuron: found.neuron });
    } else if (held?.hasMoved) this.app.change({}, { data: this.app.localData });
  }

  /** @param {MouseEvent} event @param {number} label */
  add(event, label = 1) {
    const data = this.app.localData;
    if (!data || this.viewer.isSphere || data.X[0].length > 2) return;
    if (this.viewer.plane.pick(event.offsetX, event.offsetY, null)) return;
    const [a, b] = this.viewer.plane.sampleAt(event.offsetX, event.offsetY), line = lineOf(data.X);
    this.edits.addSample(line ? onLine(a, line) : [a, b], label);
  }

  /** @param {PointerEvent} event */
  downFunction(event) {
    const plot = this.viewer.function, data = this.app.localData;
    const found = data && plot.pick(event.offsetX, event.offsetY);
    if (!found) return;
    this.viewer.functionCanvas.setPointerCapture(event.pointerId);
    this.app.select(found);
    this.viewer.name.hidden = true;
    this.held = { what: "point", k: found.sample, hasMoved: false, start: data.X };
  }

  /** @param {PointerEvent} event */
  moveFunction(event) {
    const held = this.held, plot = this.viewer.function;
    if (!held && this.app.localData && event.pointerType !== "touch") {
      this.viewer.functionCanvas.classList.toggle("can-drag", plot.pick(event.offsetX, event.offsetY) !== null);
      this.viewer.nameUnder(event);
    }
    if (held?.what !== "point") return;
    held.hasMoved = true;
    plot.held ??= { range: plot.range, heights: plot.heights, reach: plot.reach };
    if (!plot.line) {
      const old = this.viewer.model.data.X[held.k], x = movedWithin(plot.plane.basis, old, plot.places[held.k], plot.valueAt(event.offsetX, event.offsetY));
      this.edits.moveSample(held.k, withinReach(x, held.k, held.start, false), { isDragging: true });
      return;
    }
    const [x, label] = plot.valueAt(event.offsetX, event.offsetY), { data } = this.viewer.model, { k } = held;
    const isBinary = this.app.state.run.loss !== "square";
    const [inside] = withinReach([x, ...data.X[k].slice(1)], k, held.start, true);
    const X = data.X.map((row, i) => (i === k ? [Number(inside.toPrecision(6)), ...row.slice(1)] : row));
    if (X.some((row, i) => i !== k && row.every((value, c) => value === X[k][c]))) return;
    const y = data.y.map((old, i) => (i === k ? (isBinary ? (label >= 0 ? 1 : -1) : Number(label.toPrecision(6))) : old));
    this.edits.setSamples(X, y, { isDragging: true });
  }

  /** Arrow keys move what is selected, [ and ] go from sample to sample, { and } from neuron to neuron. @param {KeyboardEvent} event */
  key(event) {
    const { app, edits } = this, data = app.localData, { sample, neuron } = app.selection;
    if (!data) return;
    const step = (this.viewer.plane.reach / (event.shiftKey ? 200 : 30));
    const arrow = event.key in ARROWS ? ARROWS[event.key] : null;
    if (this.viewer.isSphere && arrow) {
      this.viewer.sphere.rotate(12 * arrow[0], -12 * arrow[1]);
      this.viewer.redraw();
    } else if (arrow && sample !== null) {
      const [dx, dy] = arrow, [b0, b1] = this.viewer.plane.plane.basis;
      const isLine = lineOf(data.X);
      edits.moveSample(sample, data.X[sample].map((value, i) => value + step * (dx * b0[i] + (isLine || !b1 ? 0 : dy * b1[i]))));
    } else if (arrow && neuron !== null && this.viewer.plane.plane.basis.length === 2 && edits.canEditNeurons()) {
      const { basis } = this.viewer.plane.plane, row = edits.neuronRows()[neuron], turn = -arrow[0] * (event.shiftKey ? 0.01 : 0.06);
      const factor = 1.15 ** arrow[1];
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

/** A sample of data that lie on a line. @param {number} x @param {{constant: number | null}} line */
function onLine(x, { constant }) { return constant === null ? [x] : [x, constant]; }
