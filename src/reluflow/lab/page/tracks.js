// The tracks: loss, sizes and angles over one axis of time, with events as ticks, phases as bands and a shared cursor.
// @ts-check
import { CanvasSurface } from "./surface.js";
import { heldCurve } from "./held.js";
import { DEATH, SLIDE } from "./run.js";
import { shown, shownTime } from "./dom.js";
import { Picture } from "./picture.js";
/** @import { Surface } from "./drawing.d.ts" */
/** @import { PaintedModel, Point, TimeAxis } from "./model.d.ts" */
/** @import { Run } from "./run.js" */
/** @import { Palette } from "./surface.js" */

/** @typedef {{top: number, height: number}} Row where one of the tracks stands */
/** @typedef {(k: number, j: number) => number} Quantity of a neuron in a kept state */

const LEFT = 58, RIGHT = 14, TOP = 36, GAP = 24, BOTTOM = 34;
const MOST_LINES = 60, LINES_AT_ONCE = 6;

export class Tracks extends Picture {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    super();
    this.canvas = canvas;
    this.surface = new CanvasSurface(canvas);
    this.hasStill = false;
  }

  /** @param {PaintedModel} model */
  show(model) {
    super.show(model);
    this.hasStill = false;
  }

  /** @param {number} place */
  x(place) { return LEFT + place * (this.surface.width - LEFT - RIGHT); }
  /** @param {number} px */
  placeAt(px) { return Math.min(1, Math.max(0, (px - LEFT) / Math.max(1, this.surface.width - LEFT - RIGHT))); }

  /** @param {number} position */
  draw(position) {
    const { surface, model } = this, { run } = model;
    if (surface.resize()) this.hasStill = false;
    if (!run) {
      surface.clear(model.palette.paper);
      if (model.absent) surface.text(surface.width / 2, surface.height / 2, model.absent, { color: model.palette.quiet, size: 13, align: "center" });
      return;
    }
    if (!this.hasStill) for (const _ of this.drawingStill(run)) void _;
    surface.showImage();
    this.drawCursor(surface, run, position);
  }

  /** Draw everything in pieces, between which others may go first. @param {() => number} position */
  *drawing(position) {
    const { run } = this.model;
    if (run) {
      for (const _ of this.drawingStill(run)) {
        this.surface.kept?.settle();
        yield;
      }
    }
    this.draw(position());
  }

  /** @param {Surface} surface @param {Run} run @param {number} position */
  drawCursor(surface, run, position) {
    const colors = this.model.palette, x = this.x(run.placeOfPosition(position, this.model.view.axis));
    surface.path([[x, TOP - 4], [x, surface.height - BOTTOM + 4]], { stroke: colors.ink, width: 1.8 });
  }

  /** All but the cursor, beside the screen and in pieces, so that a drag need not wait for the whole. @param {Run} run */
  *drawingStill(run) {
    this.surface.resize();
    yield* this.drawingOn(this.surface.beside(), run);
    this.hasStill = true;
  }

  /** @param {Surface} surface @param {Run} run */
  *drawingOn(surface, run) {
    const colors = this.model.palette;
    const { ghost } = this.model, axis = this.model.view.axis;
    surface.clear(colors.paper);
    const height = (surface.height - TOP - BOTTOM - 2 * GAP) / 3;
    const rows = [0, 1, 2].map((k) => ({ top: TOP + k * (height + GAP), height }));
    this.drawPhases(surface, colors, run, axis);
    this.drawLoss(surface, colors, rows[0], run, ghost);
    yield;
    yield* this.drawingLines(surface, colors, rows[1], "size of the neurons, |w|", run, (k, j) => run.logW[k * run.m + j] / Math.LN10, true);
    /** @type {Quantity} */
    const angles = (k, j) => run.d === 2
      ? (Math.atan2(run.units[(k * run.m + j) * 2 + 1], run.units[(k * run.m + j) * 2]) * 180) / Math.PI
      : angleToEnd(run, k, j);
    yield* this.drawingLines(surface, colors, rows[2], run.d === 2 ? "direction of w in degrees" : "degrees from the final direction", run, angles, false);
    this.drawEvents(surface, colors, run, axis);
    this.drawTimes(surface, colors, run, axis);
  }

  /** @param {Surface} surface @param {Palette} colors @param {Run} run @param {TimeAxis} axis */
  drawPhases(surface, colors, run, axis) {
    const last = run.logT[run.T - 1]; // a time beyond a double is that of the end
    run.header.phases.forEach((phase, index) => {
      const start = this.x(run.placeOf(phase.start ?? Infinity, last, axis));
      const end = this.x(run.placeOf(phase.end ?? Infinity, last, axis));
      const isPlateau = phase.name === "plateau";
      surface.rect(start, 2, Math.max(0, end - start), surface.height - BOTTOM, { fill: isPlateau ? colors.minimum : colors.accent, alpha: isPlateau ? 0.12 : index % 2 ? 0.1 : 0.035 });
      if (end - start > 48) surface.text((start + end) / 2, isPlateau ? TOP + 6 : 10, phase.name, { color: colors.quiet, size: 11, align: "center" });
    });
  }

  /** The logarithm of each recorded time and where it stands; no place beyond the end of the first run. @param {Run} run the first @param {Run} one @returns {Point[]} */
  curveOf(run, one) {
    const { view } = this.model, last = run.logT[run.T - 1] + 1e-9;
    return Array.from(one.records.logT, (logT, k) => [logT, logT > last ? NaN : this.x(run.placeOf(one.records.t[k], logT, view.axis))]);
  }

  /** @param {Surface} surface @param {Palette} colors @param {Row} row @param {Run} run @param {Run | null} ghost */
  drawLoss(surface, colors, row, run, ghost) {
    const held = this.model.held ? heldCurve(run, this.model.held) : [];
    const losses = [...[run, ghost].flatMap((one) => (one ? Array.from(one.records.loss) : [])), ...held.map(([, loss]) => loss)].filter((loss) => loss > 0 && loss < Infinity);
    const high = Math.log10(Math.max(...losses, 1e-300)), low = Math.max(Math.log10(Math.min(...losses, 1)), high - 14);
    const isLinear = this.model.view.loss === "linear", isFlat = isLinear || high - low < 1, isCut = losses.length > 0 && Math.log10(Math.min(...losses)) < low - 1e-9;
    const value = (/** @type {number} */ loss) => isFlat ? loss : Math.log10(Math.max(loss, 1e-300));
    const [bottom, top] = isFlat ? [isLinear ? 0 : 0.97 * Math.min(...losses), 1.02 * Math.max(...losses)] : [Math.floor(low), Math.ceil(high + 0.05)];
    const y = (/** @type {number} */ loss) => row.top + row.height * (1 - Math.min(1, Math.max(0, (value(loss) - bottom) / (top - bottom || 1))));
    this.frame(surface, colors, row, "loss", isFlat ? [shown(bottom, 3), shown(top, 3)] : [`${isCut ? "≤ " : ""}1e${bottom}`, `1e${top}`]);
    const last = run.logT[run.T - 1] + 1e-9; // a second run that goes on is cut there, not drawn on one line
    const curve = (/** @type {Run} */ one) => this.curveOf(run, one).map(([, x], k) => [x, y(one.records.loss[k])]);
    if (ghost && ghost.logT[ghost.T - 1] > last) surface.text(surface.width - RIGHT, row.top - 9, "the second run (dashed) goes on →", { color: colors.quiet, size: 11, align: "right", halo: colors.paper });
    if (ghost) surface.path(curve(ghost), { stroke: colors.quiet, width: 1.8, dash: [5, 4] });
    surface.path(curve(run), { stroke: colors.ink, width: 2 });
    if (!held.length) return;
    const places = run.frameAxis(this.model.view.axis);
    surface.path(held.map(([k, loss]) => [this.x(places[k]), Number.isFinite(loss) ? y(loss) : NaN]), { stroke: colors.accent, width: 2, dash: [2, 3] });
    surface.text(LEFT + 34, row.top - 9, "(dotted: held out)", { color: colors.quiet, size: 11, halo: colors.paper });
  }

  /** @param {Surface} surface @param {Palette} colors @param {Row} row @param {string} title @param {Run} run @param {Quantity} value @param {boolean} isLog */
  *drawingLines(surface, colors, row, title, run, value, isLog) {
    const axis = run.frameAxis(this.model.view.axis);
    const picked = this.pickedNeurons(run);
    let low = Infinity, high = -Infinity;
    for (const j of picked) for (let k = 0; k < run.T; k++) { const v = value(k, j); if (Number.isFinite(v)) { low = Math.min(low, v); high = Math.max(high, v); } }
    if (!isLog) [low, high] = run.d === 2 ? [-180, 180] : [0, Math.max(high, 1)];
    if (isLog) [low, high] = [Math.floor(low), Math.ceil(high)];
    if (!(high > low)) { low -= 1; high += 1; }
    const y = (/** @type {number} */ v) => row.top + row.height * (1 - (v - low) / (high - low));
    this.frame(surface, colors, row, title, isLog ? [`1e${low}`, `1e${high}`] : [`${shown(low, 3)}°`, `${shown(high, 3)}°`]);
    if (!isLog && run.d === 2) {
      this.model.extremal.forEach((found, index) => {
        const v = (Math.atan2(found.direction[1], found.direction[0]) * 180) / Math.PI;
        surface.path([[LEFT, y(v)], [surface.width - RIGHT, y(v)]], { stroke: colors.targets[index % colors.targets.length], width: 3, alpha: 0.45 });
      });
    }
    for (const [at, j] of picked.entries()) {
      if (at % LINES_AT_ONCE === 0) yield;
      const isChosen = this.model.selection.neuron === j;
      const points = [];
      let before = NaN;
      for (let k = 0; k < run.T; k++) {
        const v = value(k, j);
        if (!isLog && run.d === 2 && Math.abs(v - before) > 180) points.push([NaN, NaN]); // from 180 to -180 degrees
        points.push([this.x(axis[k]), y(v)]);
        before = v;
      }
      const sign = run.signs[(run.T - 1) * run.m + j];
      const classOf = run.K > 1 ? run.classesIn(run.T - 1) : null;
      surface.path(points, { stroke: isChosen ? colors.ink : classOf ? colors.classes[classOf(j)] : sign > 0 ? colors.positive : colors.negative, width: isChosen ? 3 : 1, alpha: isChosen ? 1 : 0.55 });
    }
  }

  /** @param {Run} run */
  pickedNeurons(run) {
    const count = Math.min(run.m, MOST_LINES);
    const picked = Array.from({ length: count }, (_, i) => Math.floor((i * run.m) / count));
    const chosen = this.model.selection.neuron;
    if (chosen !== null && chosen < run.m && !picked.includes(chosen)) picked.push(chosen);
    return picked;
  }

  /** @param {Surface} surface @param {Palette} colors @param {Run} run @param {TimeAxis} axis */
  drawEvents(surface, colors, run, axis) {
    const { t, kind, neuron } = run.events, y = surface.height - BOTTOM;
    const chosen = this.model.selection.neuron;
    const stride = Math.max(1, Math.ceil(t.length / 3000));
    for (let k = 0; k < t.length; k++) {
      if (!Number.isFinite(t[k])) continue;
      const isChosen = neuron[k] === chosen;
      if (k % stride && !isChosen) continue;
      const x = this.x(run.placeOf(t[k], 0, axis));
      const color = kind[k] === DEATH ? colors.dead : kind[k] === SLIDE ? colors.minimum : colors.quiet;
      surface.path([[x, y], [x, y + (isChosen ? 13 : kind[k] === DEATH ? 9 : 6)]], { stroke: isChosen ? colors.ink : color, width: isChosen ? 2.2 : 1, alpha: isChosen ? 1 : 0.7 });
    }
  }

  /** @param {Surface} surface @param {Palette} colors @param {Run} run @param {TimeAxis} axis */
  drawTimes(surface, colors, run, axis) {
    const y = surface.height - 9;
    const count = surface.width > 500 ? 5 : 3, words = Array.from({ length: count + 1 }, (_, k) => {
      const { t, logT } = run.timeAt(run.positionOf(k / count, axis));
      return k === 0 ? "t = 0" : shownTime(t === Infinity ? null : Number(t.toPrecision(3)), logT);
    });
    const width = Math.max(...words.map((one) => 6.6 * one.length)), step = (surface.width - LEFT - RIGHT) / count;
    const stride = step > 1.5 * width ? 1 : count; // long ones, as 10^1.25e6, would lie on each other: then only the first and the last
    for (let k = 0; k <= count; k += stride) surface.text(this.x(k / count), y, words[k], { color: colors.quiet, size: 11, align: k === 0 ? "left" : k === count ? "right" : "center" });
  }

  /** @param {Surface} surface @param {Palette} colors @param {Row} row @param {string} title @param {string[]} ends below and above */
  frame(surface, colors, row, title, [low, high]) {
    surface.path([[LEFT, row.top], [LEFT, row.top + row.height], [surface.width - RIGHT, row.top + row.height]], { stroke: colors.line });
    surface.text(LEFT, row.top - 9, title, { color: colors.ink, size: 12, weight: "600", halo: colors.paper });
    surface.text(LEFT - 5, row.top + row.height - 4, low, { color: colors.quiet, size: 11, align: "right" });
    surface.text(LEFT - 5, row.top + 5, high, { color: colors.quiet, size: 11, align: "right" });
  }
}

/** By how many degrees a neuron will still turn. @param {Run} run @param {number} k @param {number} j */
function angleToEnd(run, k, j) {
  const { d, m, units } = run;
  let cosine = 0;
  for (let i = 0; i < d; i++) cosine += units[(k * m + j) * d + i] * units[((run.T - 1) * m + j) * d + i];
  return (Math.acos(Math.min(1, Math.max(-1, cosine))) * 180) / Math.PI;
}
