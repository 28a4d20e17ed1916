// The plane: cones, samples, extremal vectors with their basins, and the neurons by direction and log-size.
// @ts-check
import { planeOf, project } from "./planes.js";
import { CanvasSurface } from "./surface.js";
import { shown } from "./dom.js";
import { heldColor } from "./held.js";
import { Picture } from "./picture.js";
/** @import { Surface } from "./drawing.d.ts" */
/** @import { Arc, Found, Gate, PaintedModel, PlanarGeometry, Point, ShownNeurons } from "./model.d.ts" */
/** @import { ChosenPlane } from "./planes.js" */
/** @import { Run } from "./run.js" */
/** @import { Palette } from "./surface.js" */

const NAMED = 0.9; // share of the radius up to which a size is written: beyond, its words would lie on the rings
const MANY = 24; // samples beyond which walls are ticks on the circle and samples have no stem and no words
const INNER = 0.14; // share of the radius at which the smallest neuron is drawn
export const GLYPHS = { maximum: "▲", minimum: "▼", saddle: "◆" };

/** What may be hidden. */
export const LAYERS = { cones: "cones", walls: "walls", rings: "rings", arrows: "arrows", samples: "samples", sizes: "circles of size", neurons: "neurons" };

export class Plane extends Picture {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    super();
    this.canvas = canvas;
    this.surface = new CanvasSurface(canvas);
    this.hasStill = false;
    /** Set while one drags, so that the picture keeps its size. @type {number | null} */
    this.heldReach = null;
    // filled by `show` and `layout`
    /** @type {ChosenPlane} */ this.plane = { basis: [], words: "", isWhole: false };
    /** @type {Point[]} */ this.places = [];
    /** Of the samples that are held out. @type {Point[]} */ this.heldPlaces = [];
    /** @type {Point} */ this.center = [0, 0];
    this.reach = this.radius = 1;
  }

  /** What is drawn: data, geometry, run, ghost and where one looks; call `draw` afterwards. @param {PaintedModel} model */
  show(model) {
    super.show(model);
    this.hasStill = false;
    const { X } = model.data;
    this.plane = planeOf(model.view.plane, X, model.extremal);
    this.places = X.map((x) => project(this.plane.basis, x));
    this.heldPlaces = (model.held?.X ?? []).map((x) => project(this.plane.basis, x));
    this.reach = this.heldReach ?? Math.max(...[...this.places, ...this.heldPlaces].map(([x, y]) => Math.hypot(x, y)), 1e-12);
    this.layout();
  }

  layout() {
    if (this.surface.resize()) this.hasStill = false;
    const { width, height } = this.surface;
    this.center = [width / 2, height / 2];
    this.radius = Math.max(1, 0.5 * Math.min(width, height) - 34); // a page within another has no size until it is in sight
  }

  /** @param {number} k @returns {Point} */
  samplePoint(k) { return this.pointOf(this.places[k]); }

  /** Where the held-out samples stand. */
  heldPoints() { return this.heldPlaces.map((place) => this.pointOf(place)); }

  /** @param {Point} place @returns {Point} */
  pointOf([x, y]) {
    const factor = (0.94 * this.radius) / this.reach;
    return [this.center[0] + factor * x, this.center[1] - factor * y];
  }

  /** From a point of the canvas to a sample in the plane. @param {number} px @param {number} py @returns {Point} */
  sampleAt(px, py) {
    const factor = this.reach / (0.94 * this.radius);
    return [(px - this.center[0]) * factor, (this.center[1] - py) * factor];
  }

  /** @param {number} logW */
  neuronRadius(logW) {
    const run = this.model.run;
    const [low, high] = run ? [run.lowW, run.highW] : this.startRange();
    const share = Math.min(1, Math.max(0, (logW - low) / (high - low)));
    return this.radius * (INNER + (0.96 - INNER) * share);
  }

  /** From which size to which neurons are drawn where there is no run yet. @returns {Point} */
  startRange() {
    const { w, logScale } = this.model.data;
    const logs = w.map((row) => Math.log(Math.hypot(...row)) + logScale).filter(Number.isFinite);
    const low = Math.min(...logs), high = Math.max(...logs);
    return [low - 0.2 * (high - low || 1), high + 2.5 * (high - low || 1)];
  }

  /** @param {number} j @param {Pick<ShownNeurons, "d" | "units" | "logW">} state @returns {Point} */
  neuronPoint(j, state) {
    const { d } = state;
    const unit = Array.from(state.units.subarray(j * d, (j + 1) * d));
    const [x, y] = project(this.plane.basis, unit);
    const radius = this.neuronRadius(state.logW[j]);
    return [this.center[0] + radius * x, this.center[1] - radius * y];
  }

  /**
   * The still part is drawn once and kept as an image; only neurons are drawn anew while one scrubs. Behind a pointer
   * it changes with every move, and keeping it would cost more than drawing it.
   * @param {ShownNeurons} state @param {ShownNeurons | null} ghostState @param {Gate[]} gates
   */
  draw(state, ghostState = null, gates = []) {
    this.layout();
    const surface = this.surface;
    if (this.hasStill) surface.showImage();
    else {
      this.drawStill(surface, this.model.palette);
      if (!this.model.isDragging) {
        surface.keepImage();
        this.hasStill = true;
      }
    }
    this.drawMoving(surface, state, ghostState, gates);
  }

  /** @param {Surface} surface @param {Palette} colors */
  drawStill(surface, colors) {
    surface.clear(colors.paper);
    const [cx, cy] = this.center, R = this.radius, { geometry } = this.model;
    const hides = this.model.hidden ?? new Set();
    if (geometry) {
      for (const arc of hides.has("cones") ? [] : geometry.arcs) {
        const isDead = this.model.leak === 0 && arc.numActive === 0;
        const share = arc.numActive / this.places.length;
        surface.arc(cx, cy, R, arc.start, arc.end, { fill: isDead ? colors.dead : colors.accent, alpha: isDead ? 0.2 : 0.03 + 0.13 * share, wedge: true });
        if (isDead) this.hatch(surface, arc, colors);
      }
      if (!hides.has("rings")) this.drawBasins(surface, colors, geometry);
    }
    surface.circle(cx, cy, R, { stroke: colors.line });
    if (!hides.has("sizes")) this.drawSizeCircles(surface, colors);
    if (!hides.has("walls")) this.drawBoundaries(surface, colors);
    if (!hides.has("arrows")) this.drawExtremal(surface, colors);
    if (!hides.has("samples")) this.drawSamples(surface, colors);
  }

  /** @param {Surface} surface @param {Arc} arc @param {Palette} colors */
  hatch(surface, arc, colors) {
    const [cx, cy] = this.center;
    for (let r = 0.12; r < 1; r += 0.055) surface.arc(cx, cy, r * this.radius, arc.start, arc.end, { stroke: colors.dead, alpha: 0.28 });
    const middle = (arc.start + arc.end) / 2;
    surface.text(cx + 0.8 * this.radius * Math.cos(middle), cy - 0.8 * this.radius * Math.sin(middle), "dead: no sample active", { color: colors.quiet, size: 12, align: "center", halo: colors.paper });
  }

  /** Two rings: where neurons of a > 0 (inner) and of a < 0 (outer) turn to, coloured by the extremal vector. @param {Surface} surface @param {Palette} colors @param {PlanarGeometry} geometry */
  drawBasins(surface, colors, geometry) {
    const [cx, cy] = this.center, { basins } = geometry;
    for (const [segments, radius] of /** @type {const} */ ([[basins[1], this.radius + 6], [basins["-1"], this.radius + 13]])) {
      for (const segment of segments) {
        const target = segment.target;
        const color = typeof target === "string" ? colors.dead : this.targetColor(target.index, colors);
        surface.arc(cx, cy, radius, segment.start, segment.end, { stroke: color, width: 5, alpha: target === "open" ? 0.35 : 0.95, dash: typeof target === "string" ? [3, 3] : [] });
      }
    }
  }

  /** @param {number} index @param {Palette} colors */
  targetColor(index, colors) { return colors.targets[index % colors.targets.length]; }

  /** @param {Surface} surface @param {Palette} colors */
  drawSizeCircles(surface, colors) {
    const run = this.model.run;
    if (!run) return;
    const [low, high] = [run.lowW / Math.LN10, run.highW / Math.LN10];
    const away = this.emptyDirection();
    const step = [1, 2, 5, 10, 20, 50, 100, 200, 500].find((one) => (high - low) / one <= 3.2) || 1000;
    const first = Math.ceil(low / step) * step, circles = Array.from({ length: Math.floor((high - first) / step) + 1 }, (_, k) => first + k * step);
    const outermost = circles.findLast((e) => this.neuronRadius(e * Math.LN10) < NAMED * this.radius);
    let free = Infinity; // where the words of the circle before begin
    for (const e of circles.toReversed()) {
      const radius = this.neuronRadius(e * Math.LN10), size = e === 0 ? "1" : `1e${e}`, words = e === outermost ? `|w| = ${size}` : size;
      surface.circle(this.center[0], this.center[1], radius, { stroke: colors.line, dash: [2, 4] });
      const half = Math.min((3.4 * words.length) / Math.abs(Math.cos(away)), 7.5 / Math.abs(Math.sin(away))); // of the words, along the ray
      if (radius >= NAMED * this.radius || radius + half > free) continue;
      free = radius - half;
      surface.text(this.center[0] + radius * Math.cos(away), this.center[1] - radius * Math.sin(away), words, { color: colors.quiet, size: 11, align: "center", halo: colors.paper });
    }
  }

  /** The direction farthest from samples, extremal vectors and the words of the dead cone: there the sizes are written. */
  emptyDirection() {
    const taken = [...this.places, ...this.model.extremal.map((found) => project(this.plane.basis, found.direction))].map(([x, y]) => Math.atan2(y, x));
    if (this.model.leak === 0) for (const arc of this.model.geometry?.arcs ?? []) if (arc.numActive === 0) taken.push((arc.start + arc.end) / 2);
    let best = -Math.PI / 2, room = -1;
    for (let k = 0; k < 48; k++) {
      const angle = (Math.PI * k) / 24, gap = Math.min(...taken.map((other) => Math.acos(Math.max(-1, Math.min(1, Math.cos(angle - other))))));
      if (gap > room + 1e-9) { best = angle; room = gap; }
    }
    return best;
  }

  /** @param {Surface} surface @param {Palette} colors */
  drawBoundaries(surface, colors) {
    if (!this.plane.isWhole || this.model.data.X[0].length !== 2) return;
    const [cx, cy] = this.center, R = this.radius, many = this.model.data.X.length > MANY;
    this.model.data.X.forEach((x, k) => {
      const norm = Math.hypot(x[0], x[1]);
      const [ux, uy] = [-x[1] / norm, x[0] / norm];
      const isChosen = this.model.selection.sample === k;
      const inner = many && !isChosen ? 0.94 : 0;
      for (const side of [-1, 1]) surface.path([[cx + side * inner * R * ux, cy - side * inner * R * uy], [cx + side * R * ux, cy - side * R * uy]], { stroke: isChosen ? colors.ink : colors.quiet, width: isChosen ? 2 : 0.9, alpha: isChosen ? 0.9 : 0.6 });
    });
  }

  /** @param {Surface} surface @param {Palette} colors */
  drawExtremal(surface, colors) {
    const [cx, cy] = this.center, R = this.radius;
    this.model.extremal.forEach((found, index) => {
      const [x, y] = project(this.plane.basis, found.direction);
      const color = this.targetColor(index, colors);
      surface.path([[cx, cy], [cx + R * x, cy - R * y]], { stroke: color, width: found.kind === "saddle" ? 1.2 : 2.4, dash: found.kind === "saddle" ? [5, 4] : [], alpha: 0.9 });
      if (this.model.extremal.length <= 40) {
        const [px, py] = [cx + (R + 24) * x, cy - (R + 24) * y];
        surface.text(px, py, `${GLYPHS[found.kind]}${index + 1}`, { color, size: 14, align: "center", weight: "bold", halo: colors.paper });
      }
    });
  }

  /** @param {Surface} surface @param {Palette} colors */
  drawSamples(surface, colors) {
    const { y, classes } = this.model.data;
    const many = y.length > MANY;
    this.drawHeld(surface, many ? 4 : 8);
    this.places.forEach((_, k) => {
      const [px, py] = this.samplePoint(k);
      const color = classes ? colors.classes[y[k]] : y[k] > 0 ? colors.positive : y[k] < 0 ? colors.negative : colors.dead;
      const isChosen = this.model.selection.sample === k;
      if (!many) surface.path([this.center, [px, py]], { stroke: colors.ink, width: 1, alpha: 0.35 });
      const size = many ? 4.5 : 8;
      const box = [[px - size, py - size], [px + size, py - size], [px + size, py + size], [px - size, py + size]];
      if (isChosen) surface.circle(px, py, size + 7, { stroke: colors.ink, width: 2 });
      if (y[k] >= 0) surface.circle(px, py, size, { fill: color, stroke: colors.paper, width: 2 });
      else surface.path(box, { fill: color, stroke: colors.paper, width: 2, close: true });
      if (!many) surface.text(px, py, classes ? signOf(classes, y[k]) : y[k] > 0 ? "+" : y[k] < 0 ? "−" : "0", { color: "#fff", size: 13, align: "center", weight: "bold" });
    });
  }

  /** Held-out samples are hollow: no neuron feels them. @param {Surface} surface @param {number} size */
  drawHeld(surface, size) {
    const { held, data: { classes }, palette: colors } = this.model;
    this.heldPoints().forEach(([px, py], k) => {
      const label = held?.y[k] ?? 0, color = heldColor(this.model, k);
      const box = [[px - size, py - size], [px + size, py - size], [px + size, py + size], [px - size, py + size]];
      if (label >= 0) surface.circle(px, py, size, { fill: colors.paper, stroke: color, width: 2.5 });
      else surface.path(box, { fill: colors.paper, stroke: color, width: 2.5, close: true });
      if (size > 5) surface.text(px, py, classes ? signOf(classes, label) : label > 0 ? "+" : label < 0 ? "−" : "0", { color, size: 13, align: "center", weight: "bold" });
    });
  }

  /** Numbers and labels of the samples, over the neurons: at the end of a run these lie on the samples. @param {Surface} surface @param {Palette} colors */
  drawWords(surface, colors) {
    const { y, classes } = this.model.data;
    if (y.length > MANY) return;
    /** @type {number[][]} */
    const written = [];
    this.places.forEach((_, k) => {
      const [px, py] = this.samplePoint(k);
      const words = `${k + 1}${classes ? (signOf(classes, y[k]) === classes[y[k]] ? "" : ` ${classes[y[k]]}`) : Math.abs(y[k]) === 1 ? "" : `: y = ${shown(y[k], 3)}`}`;
      surface.text(px, this.heightOfWords(px, py, k, 7 * words.length, written), words, { color: colors.ink, size: 12, align: "center", halo: colors.paper });
    });
  }

  /**
   * Above or below a sample, by turns; the other side, or lower still, where the words would lie on the rings or on words of before.
   * @param {number} px @param {number} py @param {number} k @param {number} width @param {number[][]} written
   */
  heightOfWords(px, py, k, width, written) {
    const heights = [...(k % 2 ? [py + 19, py - 19] : [py - 19, py + 19]), py + 33];
    const isFree = (/** @type {number} */ height) => Math.hypot(px - this.center[0], height - this.center[1]) < this.radius - 8
      && written.every(([x, y, other]) => Math.abs(x - px) > (width + other) / 2 || Math.abs(y - height) > 13);
    const height = heights.find(isFree) ?? heights[0];
    written.push([px, height, width]);
    return height;
  }

  /** @param {Surface} surface @param {ShownNeurons} state @param {ShownNeurons | null} ghostState @param {Gate[]} gates */
  drawMoving(surface, state, ghostState, gates) {
    const colors = this.model.palette;
    if (!this.model.hidden?.has("neurons")) this.drawAllNeurons(surface, state, ghostState, gates, colors);
    if (!this.model.hidden?.has("samples")) this.drawWords(surface, colors);
  }

  /** @param {Surface} surface @param {ShownNeurons} state @param {ShownNeurons | null} ghostState @param {Gate[]} gates @param {Palette} colors */
  drawAllNeurons(surface, state, ghostState, gates, colors) {
    if (ghostState) this.drawNeurons(surface, ghostState, colors, true);
    if (ghostState) for (const j of new Set(gates.map((gate) => gate.neuron))) { // from where the flow has it to where descent has it
      const there = this.neuronPoint(j, ghostState);
      surface.path([this.neuronPoint(j, state), there], { stroke: colors.ink, width: 1, dash: [3, 3] });
      surface.circle(there[0], there[1], 7, { stroke: colors.ink, width: 1.4 });
    }
    const { run, selection: { neuron: chosen } } = this.model;
    if (chosen !== null && run && chosen < run.m) this.drawTrail(surface, run, chosen, colors);
    this.drawNeurons(surface, state, colors, false);
    if (chosen !== null && chosen < state.m) {
      const [px, py] = this.neuronPoint(chosen, state);
      surface.circle(px, py, 10, { stroke: colors.ink, width: 2.2 });
    }
  }

  /** @param {Surface} surface @param {ShownNeurons} state @param {Palette} colors @param {boolean} isGhost */
  drawNeurons(surface, state, colors, isGhost) {
    const { m, d } = state, [cx, cy] = this.center;
    /** @type {number[][]} */
    const [positive, negative, dead] = [[], [], []];
    /** @type {number[][]} of several classes: the places of the neurons that speak for each */
    const speaking = colors.classes.map(() => []);
    const b0 = this.plane.basis[0], b1 = this.plane.basis[1];
    for (let j = 0; j < m; j++) {
      let x = 0, y = 0;
      for (let i = 0; i < d; i++) { x += b0[i] * state.units[j * d + i]; if (b1) y += b1[i] * state.units[j * d + i]; }
      const radius = this.neuronRadius(state.logW[j]);
      const place = state.isDead && state.isDead(j) ? dead : state.classOf ? speaking[state.classOf(j)] : state.signs[j] > 0 ? positive : negative;
      place.push(cx + radius * x, cy - radius * y);
    }
    const size = m > 1000 ? 2.4 : m > 200 ? 3.4 : 4.6;
    if (isGhost) { // small and faint; hollow means dead here as everywhere
      surface.marks(dead, 0.7 * size, { stroke: colors.dead, width: 1, alpha: 0.45 });
      speaking.forEach((places, c) => surface.marks(places, 0.7 * size, { fill: colors.classes[c], alpha: 0.4 }));
      surface.marks(positive, 0.7 * size, { fill: colors.positive, alpha: 0.4 });
      surface.marks(negative, 0.7 * size, { fill: colors.negative, alpha: 0.4, diamond: true });
      return;
    }
    surface.marks(dead, size, { stroke: colors.dead, width: 1.4, alpha: 0.9 });
    speaking.forEach((places, c) => surface.marks(places, size, { fill: colors.classes[c], stroke: colors.paper, width: m > 1000 ? 0.4 : 0.8, alpha: 0.9 }));
    surface.marks(positive, size, { fill: colors.positive, stroke: colors.paper, width: m > 1000 ? 0.4 : 0.8, alpha: 0.9 });
    surface.marks(negative, size, { fill: colors.negative, stroke: colors.paper, width: m > 1000 ? 0.4 : 0.8, alpha: 0.9, diamond: true });
  }

  /** @param {Surface} surface @param {Run} run @param {number} j @param {Palette} colors */
  drawTrail(surface, run, j, colors) {
    const points = [];
    for (let k = 0; k < run.T; k++) points.push(this.neuronPoint(j, { units: run.units.subarray(k * run.m * run.d, (k + 1) * run.m * run.d), logW: run.logW.subarray(k * run.m, (k + 1) * run.m), d: run.d }));
    surface.path(points, { stroke: colors.ink, width: 1.6, alpha: 0.55 });
  }

  /**
   * What lies under a point: a sample, or a neuron, or nothing.
   * @param {number} px @param {number} py @param {ShownNeurons | null} state
   */
  pick(px, py, state, reach = 14) {
    /** @type {Found | null} */
    let best = null;
    let distance = reach;
    for (const k of this.places.keys()) {
      const [x, y] = this.samplePoint(k), gap = Math.hypot(x - px, y - py);
      if (gap < distance) { best = { sample: k }; distance = gap; }
    }
    if (best || !state) return best;
    for (let j = 0; j < state.m; j++) {
      const [x, y] = this.neuronPoint(j, state), gap = Math.hypot(x - px, y - py);
      if (gap < distance) { best = { neuron: j }; distance = gap; }
    }
    return best;
  }
}

/** What stands in a sample: the name of its class, or where that is long its number. @param {string[]} classes @param {number} c */
export function signOf(classes, c) { return classes.every((name) => name.length <= 2) ? classes[c] : String(c + 1); }
