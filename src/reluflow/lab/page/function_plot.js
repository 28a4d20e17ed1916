// The function h: over the line where the last coordinate is constant, else over the plane, with the data.
// @ts-check
import { CanvasSurface } from "./surface.js";
import { planeOf, project } from "./planes.js";
import { shown } from "./dom.js";
import { heldColor } from "./held.js";
import { Picture } from "./picture.js";
/** @import { Doubles } from "./answers.d.ts" */
/** @import { Surface } from "./drawing.d.ts" */
/** @import { PaintedModel, Point } from "./model.d.ts" */
/** @import { ChosenPlane } from "./planes.js" */
/** @import { Run } from "./run.js" */
/** @import { Palette } from "./surface.js" */

const LINE_POINTS = 161, SIDE = 41, PAD = 50, TITLE = 26;

/** Whether the data lie on a line: d = 1, or d = 2 with a constant last coordinate. @param {number[][]} X @returns {{constant: number | null} | null} */
export function lineOf(X) {
  const d = X[0].length;
  if (d === 1) return { constant: null };
  return d === 2 && X.every((x) => x[1] === X[0][1]) ? { constant: X[0][1] } : null;
}

export class FunctionPlot extends Picture {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    super();
    this.canvas = canvas;
    this.surface = new CanvasSurface(canvas);
    this.tile = document.createElement("canvas");
    /** Set while one drags a sample of this plot. @type {{range: number[], heights: number[], reach: number} | null} */
    this.held = null;
    // filled by `show`
    /** @type {ChosenPlane} */ this.plane = { basis: [], words: "", isWhole: false };
    /** @type {{constant: number | null} | null} */ this.line = null;
    /** The outputs at the end of the run, at each of `points`. @type {Float32Array | null} */ this.atEnd = null;
    /** @type {Doubles} */ this.points = { data: new Float64Array(0), shape: [0, 1] };
    /** @type {number[]} */ this.range = [0, 1];
    /** @type {number[]} */ this.heights = [0, 1];
    /** @type {Point[]} */ this.places = [];
    this.reach = this.limit = 1;
    /** Where the picture of the plane lies; set as it is drawn. */
    this.square = { side: 1, left: 0, top: 0 };
  }

  /** @param {PaintedModel} model */
  show(model) {
    super.show(model);
    const { X, y } = model.data;
    this.line = lineOf(X);
    if (this.line) {
      const xs = X.map((x) => x[0]), low = Math.min(...xs), high = Math.max(...xs), pad = high > low ? 0.35 * (high - low) : 1;
      this.range = this.held?.range ?? [low - pad, high + pad];
      const d = X[0].length, data = new Float64Array(LINE_POINTS * d);
      for (let k = 0; k < LINE_POINTS; k++) {
        data[k * d] = this.range[0] + ((this.range[1] - this.range[0]) * k) / (LINE_POINTS - 1);
        if (d === 2) data[k * d + 1] = this.line.constant ?? 0;
      }
      this.points = { data, shape: [LINE_POINTS, d] };
      const span = Math.max(...y) - Math.min(...y) || 1;
      this.heights = this.held?.heights ?? [Math.min(...y, 0) - 0.25 * span, Math.max(...y, 0) + 0.25 * span];
    } else {
      this.plane = planeOf(model.view.plane, X, model.extremal);
      const places = X.map((x) => project(this.plane.basis, x));
      this.reach = this.held?.reach ?? 1.25 * Math.max(...places.map((place) => Math.max(Math.abs(place[0]), Math.abs(place[1]))), 1e-9);
      this.places = places;
      const d = X[0].length, data = new Float64Array(SIDE * SIDE * d);
      for (let r = 0; r < SIDE; r++) for (let c = 0; c < SIDE; c++) {
        const a = this.reach * (-1 + (2 * c) / (SIDE - 1)), b = this.reach * (-1 + (2 * r) / (SIDE - 1));
        for (let i = 0; i < d; i++) data[(r * SIDE + c) * d + i] = a * this.plane.basis[0][i] + b * (this.plane.basis[1]?.[i] ?? 0);
      }
      this.points = { data, shape: [SIDE * SIDE, d] };
      this.limit = this.largestOutput();
    }
  }

  /** One colour scale for the whole run, so that what grows is seen to grow. */
  largestOutput() {
    const { run, data } = this.model;
    const largest = Math.max(...data.y.map(Math.abs));
    this.atEnd = null;
    if (run && run.K > 1) { // as far apart as the two best classes come at the samples, in the end
      const gaps = run.classOutputsAt(run.T - 1, { data: Float64Array.from(data.X.flat()), shape: [data.X.length, data.X[0].length] });
      return Math.max(1e-300, Math.min(4, ...data.X.map((_, k) => lead(gaps, k, run.K).by)));
    }
    if (!run) return largest || 1;
    const values = this.atEnd = run.outputsAt(run.T - 1, this.points);
    return Math.max(1e-300, Math.min(largest * 1.5 || 1, values.reduce((most, value) => Math.max(most, Math.abs(value)), 0)) || 1);
  }

  /** @param {number} value */
  x(value) { return PAD + ((value - this.range[0]) / (this.range[1] - this.range[0])) * (this.surface.width - PAD - 10); }
  /** @param {number} value */
  y(value) { return TITLE + (1 - (value - this.heights[0]) / (this.heights[1] - this.heights[0])) * (this.surface.height - TITLE - 26); }
  /** From a point of the canvas to x and y over the line, else to a sample in the plane. @param {number} px @param {number} py @returns {Point} */
  valueAt(px, py) {
    if (!this.line) {
      const { side, left, top } = this.square;
      return [this.reach * ((2 * (px - left)) / side - 1), this.reach * (1 - (2 * (py - top)) / side)];
    }
    return [
      this.range[0] + ((px - PAD) / (this.surface.width - PAD - 10)) * (this.range[1] - this.range[0]),
      this.heights[0] + (1 - (py - TITLE) / (this.surface.height - TITLE - 26)) * (this.heights[1] - this.heights[0]),
    ];
  }

  /** The input over which a point of the canvas lies; null beside the picture. @param {number} px @param {number} py */
  pointUnder(px, py) {
    const [a, b] = this.valueAt(px, py);
    if (this.line) return a < this.range[0] || a > this.range[1] ? null : this.line.constant === null ? [a] : [a, this.line.constant];
    const [first, second] = this.plane.basis;
    return Math.max(Math.abs(a), Math.abs(b)) > this.reach ? null : first.map((value, i) => a * value + b * (second?.[i] ?? 0));
  }

  /** @param {number} position @param {number | null} ghostPosition @param {Surface} surface */
  draw(position, ghostPosition = null, surface = this.surface) {
    if (surface === this.surface) this.surface.resize();
    const colors = this.model.palette;
    surface.clear(colors.paper);
    if (this.line) this.drawLine(surface, position, ghostPosition, colors);
    else this.drawPlane(surface, position, colors);
  }

  /** @param {Surface} surface @param {number} position @param {number | null} ghostPosition @param {Palette} colors */
  drawLine(surface, position, ghostPosition, colors) {
    const { run, ghost, data, selection } = this.model;
    surface.path([[PAD, this.y(0)], [surface.width - 10, this.y(0)]], { stroke: colors.line });
    const curve = (/** @type {Run} */ one, /** @type {number} */ where) => {
      const values = one.outputsAt(where, this.points), d = this.points.shape[1];
      return Array.from(values, (value, k) => (value > this.heights[1] || value < this.heights[0] ? [NaN, NaN] : [this.x(this.points.data[k * d]), this.y(value)]));
    };
    if (ghost && ghostPosition !== null) surface.path(curve(ghost, ghostPosition), { stroke: colors.quiet, width: 2, dash: [6, 4] });
    if (run && run.K > 1) {
      const values = run.classOutputsAt(position, this.points), d = this.points.shape[1];
      for (let c = 0; c < run.K; c++) surface.path(Array.from({ length: LINE_POINTS }, (_, k) => [this.x(this.points.data[k * d]), this.y(Math.max(this.heights[0], Math.min(this.heights[1], values[k * run.K + c])))]), { stroke: colors.classes[c], width: 2.5 });
    } else if (run) surface.path(curve(run, position), { stroke: colors.accent, width: 3 });
    data.X.forEach((_, k) => {
      const [px, py] = this.samplePoint(k);
      if (selection.sample === k) surface.circle(px, py, 11, { stroke: colors.ink, width: 2 });
      surface.circle(px, py, 5.5, { fill: colors.ink, stroke: colors.paper, width: 1.5 });
    });
    for (const [px, py] of this.heldPoints()) surface.circle(px, py, 5, { fill: colors.paper, stroke: colors.accent, width: 2 });
    surface.text(PAD - 5, this.y(0), "0", { color: colors.quiet, size: 11, align: "right" });
    const ends = [0.06, 0.94].map((share) => this.heights[0] + share * (this.heights[1] - this.heights[0]));
    for (const value of ends) if (Math.abs(this.y(value) - this.y(0)) > 12) surface.text(PAD - 5, this.y(value), shown(value, 2), { color: colors.quiet, size: 11, align: "right" });
    surface.text(PAD + 4, 12, "h(x): what the network computes", { color: colors.ink, size: 12, weight: "600", halo: colors.paper });
    surface.text(0.5 * (PAD + surface.width), surface.height - 10, "x", { color: colors.quiet, size: 12, align: "right" });
    for (const value of [this.range[0], this.range[1]]) surface.text(this.x(value), surface.height - 10, shown(value, 3), { color: colors.quiet, size: 11, align: value === this.range[0] ? "left" : "right" });
  }

  /** @param {Surface} surface @param {number} position @param {Palette} colors */
  drawPlane(surface, position, colors) {
    const { run } = this.model;
    const side = Math.min(surface.width - 16, surface.height - 30), left = (surface.width - side) / 2, top = 20;
    this.square = { side, left, top };
    if (run) {
      if (run.K > 1) this.drawRegions(surface, run, position, colors);
      else this.drawValues(surface, run, position, colors);
    }
    this.drawFrame(surface, colors);
  }

  /** The value of h as a shade between two colours. @param {Surface} surface @param {Run} run @param {number} position @param {Palette} colors */
  drawValues(surface, run, position, colors) {
      const { side, left, top } = this.square;
      const values = this.atEnd && position === run.T - 1 ? this.atEnd : run.outputsAt(position, this.points);
      this.tile.width = this.tile.height = SIDE;
      const context = /** @type {CanvasRenderingContext2D} */ (this.tile.getContext("2d"));
      const image = context.createImageData(SIDE, SIDE);
      const [plus, minus, zero] = [rgb(colors.positive), rgb(colors.negative), rgb(colors.paper)];
      for (let r = 0; r < SIDE; r++) for (let c = 0; c < SIDE; c++) {
        const value = Math.max(-1, Math.min(1, values[r * SIDE + c] / this.limit)), end = value > 0 ? plus : minus, share = Math.abs(value) ** 0.6 * 0.85;
        const at = ((SIDE - 1 - r) * SIDE + c) * 4;
        for (let i = 0; i < 3; i++) image.data[at + i] = zero[i] + share * (end[i] - zero[i]);
        image.data[at + 3] = 255;
      }
      context.putImageData(image, 0, 0);
      surface.image(this.tile, left, top, side, side);
  }

  /** Which class wins where, the stronger the colour the farther it leads. @param {Surface} surface @param {Run} run @param {number} position @param {Palette} colors */
  drawRegions(surface, run, position, colors) {
    const { side, left, top } = this.square, values = run.classOutputsAt(position, this.points);
    this.tile.width = this.tile.height = SIDE;
    const context = /** @type {CanvasRenderingContext2D} */ (this.tile.getContext("2d"));
    const image = context.createImageData(SIDE, SIDE), shades = colors.classes.map(rgb), zero = rgb(colors.paper);
    for (let r = 0; r < SIDE; r++) for (let c = 0; c < SIDE; c++) {
      const { first, by } = lead(values, r * SIDE + c, run.K), share = by > 0 ? 0.2 + 0.6 * Math.min(1, by / this.limit) ** 0.6 : 0;
      const at = ((SIDE - 1 - r) * SIDE + c) * 4;
      for (let i = 0; i < 3; i++) image.data[at + i] = zero[i] + share * (shades[first][i] - zero[i]);
      image.data[at + 3] = 255;
    }
    context.putImageData(image, 0, 0);
    surface.image(this.tile, left, top, side, side);
  }

  /** @param {Surface} surface @param {Palette} colors */
  drawFrame(surface, colors) {
    const { data, selection } = this.model, { side, left, top } = this.square;
    surface.rect(left, top, side, side, { stroke: colors.line });
    this.places.forEach((_, k) => {
      const [px, py] = this.samplePoint(k);
      const isPlus = data.y[k] > 0, isZero = data.y[k] === 0, r = 5;
      if (selection.sample === k) surface.circle(px, py, 10, { stroke: colors.ink, width: 2 });
      if (data.classes) surface.circle(px, py, r, { fill: colors.classes[data.y[k]], stroke: colors.ink, width: 1.8 });
      else if (isPlus) surface.circle(px, py, r, { fill: colors.ink, stroke: colors.paper, width: 1.5 });
      else if (isZero) surface.circle(px, py, r, { fill: colors.paper, stroke: colors.ink, width: 1.8 });
      else surface.path([[px - r, py - r], [px + r, py - r], [px + r, py + r], [px - r, py + r]], { fill: colors.paper, stroke: colors.ink, width: 1.8, close: true });
    });
    this.heldPoints().forEach(([px, py], k) => {
      surface.circle(px, py, 6, { stroke: colors.paper, width: 4 });
      surface.circle(px, py, 6, { fill: colors.paper, stroke: heldColor(this.model, k), width: 2.5 });
    });
    if (data.classes) surface.text(8, 10, "the class with the largest output", { color: colors.ink, size: 12, weight: "600", halo: colors.paper });
    else surface.text(8, 10, `h over ${this.plane.isWhole ? "the plane" : "the chosen plane"}: ● y > 0, ☐ y < 0${data.y.includes(0) ? ", ○ y = 0" : ""}`, { color: colors.ink, size: 12, weight: "600", halo: colors.paper });
  }

  /** @param {number} k @returns {Point} */
  samplePoint(k) { return this.line ? [this.x(this.model.data.X[k][0]), this.y(this.model.data.y[k])] : this.pointOf(this.places[k]); }

  /** Where the held-out samples stand. @returns {Point[]} */
  heldPoints() {
    const { held } = this.model;
    return held ? held.X.map((x, k) => (this.line ? [this.x(x[0]), this.y(held.y[k])] : this.pointOf(project(this.plane.basis, x)))) : [];
  }

  /** @param {Point} place @returns {Point} */
  pointOf([a, b]) {
    const { side, left, top } = this.square;
    return [left + (side * (a / this.reach + 1)) / 2, top + (side * (1 - b / this.reach)) / 2];
  }

  /** The sample under a point, or null. @param {number} px @param {number} py */
  pick(px, py) {
    /** @type {{sample: number} | null} */
    let best = null;
    let distance = 14;
    for (const k of this.model.data.X.keys()) {
      const [x, y] = this.samplePoint(k), gap = Math.hypot(x - px, y - py);
      if (gap < distance) { best = { sample: k }; distance = gap; }
    }
    return best;
  }
}

/** The class with the largest output at a point, and by how much it leads the next. @param {Float32Array} values @param {number} at @param {number} K */
function lead(values, at, K) {
  let first = 0, second = -Infinity;
  for (let c = 1; c < K; c++) {
    if (values[at * K + c] > values[at * K + first]) { second = values[at * K + first]; first = c; }
    else second = Math.max(second, values[at * K + c]);
  }
  return { first, by: values[at * K + first] - second };
}

/** @param {string} color */
function rgb(color) {
  const match = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(color);
  return match ? match.slice(1).map((pair) => parseInt(pair, 16)) : [128, 128, 128];
}
