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
/** @typedef {{title: string, name: string, value: (k: number, j: number) => number, isLog: boolean}} Quantity of a neuron in a kept state */
/**
 * What lies under a pointer.
 * @typedef {{what: "neuron", neuron: number, state: number, title: string, value: string}
 *   | {what: "loss", curve: string, loss: number, t: number, logT: number}
 *   | {what: "arrow", arrow: number} | {what: "event", event: number} | {what: "phase", phase: number}} FoundInTracks
 */

const LEFT = 58, RIGHT = 14, TOP = 36, GAP = 24, BOTTOM = 34;
const MOST_LINES = 60, LINES_AT_ONCE = 6;
const REACH = 6; // pixels from a line at which a pointer is on it

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
    const rows = rowsOn(surface), [sizes, directions] = quantitiesOf(run);
    this.drawPhases(surface, colors, run, axis);
    this.drawLoss(surface, colors, rows[0], run, ghost);
    yield;
    yield* this.drawingLines(surface, colors, rows[1], run, sizes);
    yield* this.drawingLines(surface, colors, rows[2], run, directions);
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

  /** How the losses are drawn: the range, the height of each, and the points of the held-out loss. @param {Row} row @param {Run} run */
  lossScale(row, run) {
    const { ghost } = this.model;
    const held = this.model.held ? heldCurve(run, this.model.held) : [];
    const losses = [...[run, ghost].flatMap((one) => (one ? Array.from(one.records.loss) : [])), ...held.map(([, loss]) => loss)].filter((loss) => loss > 0 && loss < Infinity);
    const high = Math.log10(Math.max(...losses, 1e-300)), low = Math.max(Math.log10(Math.min(...losses, 1)), high - 14);
    const isLinear = this.model.view.loss === "linear", isFlat = isLinear || high - low < 1, isCut = losses.length > 0 && Math.log10(Math.min(...losses)) < low - 1e-9;
    const value = (/** @type {number} */ loss) => isFlat ? loss : Math.log10(Math.max(loss, 1e-300));
    const [bottom, top] = isFlat ? [isLinear ? 0 : 0.97 * Math.min(...losses), 1.02 * Math.max(...losses)] : [Math.floor(low), Math.ceil(high + 0.05)];
    const y = (/** @type {number} */ loss) => row.top + row.height * (1 - Math.min(1, Math.max(0, (value(loss) - bottom) / (top - bottom || 1))));
    return { bottom, top, isFlat, isCut, y, held };
  }

  /** The points of the loss of a run. @param {Run} run the first @param {Run} one @param {(loss: number) => number} y @returns {Point[]} */
  lossPoints(run, one, y) { return this.curveOf(run, one).map(([, x], k) => [x, y(one.records.loss[k])]); }

  /** The points of the loss on what is held out. @param {Run} run @param {[number, number][]} held @param {(loss: number) => number} y @returns {Point[]} */
  heldPoints(run, held, y) {
    const places = run.frameAxis(this.model.view.axis);
    return held.map(([k, loss]) => [this.x(places[k]), Number.isFinite(loss) ? y(loss) : NaN]);
  }

  /** @param {Surface} surface @param {Palette} colors @param {Row} row @param {Run} run @param {Run | null} ghost */
  drawLoss(surface, colors, row, run, ghost) {
    const { bottom, top, isFlat, isCut, y, held } = this.lossScale(row, run);
    this.frame(surface, colors, row, "loss", isFlat ? [shown(bottom, 3), shown(top, 3)] : [`${isCut ? "≤ " : ""}1e${bottom}`, `1e${top}`]);
    const last = run.logT[run.T - 1] + 1e-9; // a second run that goes on is cut there, not drawn on one line
    if (ghost && ghost.logT[ghost.T - 1] > last) surface.text(surface.width - RIGHT, row.top - 9, "the second run (dashed) goes on →", { color: colors.quiet, size: 11, align: "right", halo: colors.paper });
    if (ghost) surface.path(this.lossPoints(run, ghost, y), { stroke: colors.quiet, width: 1.8, dash: [5, 4] });
    surface.path(this.lossPoints(run, run, y), { stroke: colors.ink, width: 2 });
    if (!held.length) return;
    surface.path(this.heldPoints(run, held, y), { stroke: colors.accent, width: 2, dash: [2, 3] });
    surface.text(LEFT + 34, row.top - 9, "(dotted: held out)", { color: colors.quiet, size: 11, halo: colors.paper });
  }

  /** The range of a quantity over the neurons that are drawn. @param {Run} run @param {number[]} picked @param {Quantity} quantity */
  rangeOf(run, picked, { value, isLog }) {
    let low = Infinity, high = -Infinity;
    for (const j of picked) for (let k = 0; k < run.T; k++) { const v = value(k, j); if (Number.isFinite(v)) { low = Math.min(low, v); high = Math.max(high, v); } }
    if (!isLog) [low, high] = run.d === 2 ? [-180, 180] : [0, Math.max(high, 1)];
    if (isLog) [low, high] = [Math.floor(low), Math.ceil(high)];
    return high > low ? [low, high] : [low - 1, high + 1];
  }

  /** The line of a neuron, as many points as kept states; none where an angle goes from 180 to -180 degrees. @param {Run} run @param {number} j @param {Quantity} quantity @param {(v: number) => number} y */
  linePoints(run, j, { value, isLog }, y) {
    const axis = run.frameAxis(this.model.view.axis);
    /** @type {Point[]} */
    const points = [];
    let before = NaN;
    for (let k = 0; k < run.T; k++) {
      const v = value(k, j);
      if (!isLog && run.d === 2 && Math.abs(v - before) > 180) points.push([NaN, NaN]);
      points.push([this.x(axis[k]), y(v)]);
      before = v;
    }
    return points;
  }

  /** @param {Surface} surface @param {Palette} colors @param {Row} row @param {Run} run @param {Quantity} quantity */
  *drawingLines(surface, colors, row, run, quantity) {
    const { isLog, title } = quantity, picked = this.pickedNeurons(run);
    const [low, high] = this.rangeOf(run, picked, quantity), y = heightIn(row, low, high);
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
      const points = this.linePoints(run, j, quantity, y);
      const sign = run.signs[(run.T - 1) * run.m + j];
      const classOf = run.K > 1 ? run.classesIn(run.T - 1) : null;
      surface.path(points, { stroke: isChosen ? colors.ink : classOf ? colors.classes[classOf(j)] : sign > 0 ? colors.positive : colors.negative, width: isChosen ? 3 : 1, alpha: isChosen ? 1 : 0.55 });
    }
  }

  /** What lies under a point: an event, a line, or a phase at its name. @param {number} px @param {number} py @returns {FoundInTracks | null} */
  pick(px, py) {
    const { run } = this.model, rows = rowsOn(this.surface);
    if (!run) return null;
    if (py > this.surface.height - BOTTOM) return this.pickEvent(run, px);
    if (py < TOP - 12) return this.pickPhase(run, px);
    const k = rows.findIndex(({ top, height }) => py > top - REACH && py < top + height + REACH);
    if (k < 0) return null;
    return k === 0 ? this.pickLoss(run, rows[0], px, py) : this.pickLine(run, rows[k], quantitiesOf(run)[k - 1], px, py);
  }

  /** @param {Run} run @param {number} px @returns {FoundInTracks | null} */
  pickEvent(run, px) {
    const gaps = Array.from(run.events.t, (t) => (Number.isFinite(t) ? Math.abs(this.x(run.placeOf(t, 0, this.model.view.axis)) - px) : Infinity));
    const least = gaps.reduce((one, other) => Math.min(one, other), Infinity);
    return least < REACH ? { what: "event", event: gaps.indexOf(least) } : null;
  }

  /** @param {Run} run @param {number} px @returns {FoundInTracks | null} */
  pickPhase(run, px) {
    const last = run.logT[run.T - 1], place = (/** @type {number | null} */ t) => this.x(run.placeOf(t ?? Infinity, last, this.model.view.axis));
    const phase = run.header.phases.findLastIndex(({ start, end }) => px >= place(start) && px <= place(end));
    return phase < 0 ? null : { what: "phase", phase };
  }

  /** @param {Run} run @param {Row} row @param {number} px @param {number} py @returns {FoundInTracks | null} */
  pickLoss(run, row, px, py) {
    const { ghost } = this.model, { y, held } = this.lossScale(row, run);
    const recorded = (/** @type {Run} */ { records }) => Array.from(records.loss, (loss, k) => ({ loss, t: records.t[k], logT: records.logT[k] }));
    const curves = [
      { curve: "The loss", points: this.lossPoints(run, run, y), values: recorded(run) },
      { curve: "The loss on what is held out", points: this.heldPoints(run, held, y), values: held.map(([k, loss]) => ({ loss, t: run.t[k], logT: run.logT[k] })) },
      ...(ghost ? [{ curve: "The loss of the second run", points: this.lossPoints(run, ghost, y), values: recorded(ghost) }] : []),
    ].map((one) => ({ ...one, ...nearestOn(one.points, px, py) }));
    const { gap, curve, values, at } = curves.reduce((one, other) => (other.gap < one.gap - 1 ? other : one)); // the run itself where they lie on each other
    return gap < REACH ? { what: "loss", curve, ...values[at] } : null;
  }

  /** @param {Run} run @param {Row} row @param {Quantity} quantity @param {number} px @param {number} py @returns {FoundInTracks | null} */
  pickLine(run, row, quantity, px, py) {
    const picked = this.pickedNeurons(run), [low, high] = this.rangeOf(run, picked, quantity), y = heightIn(row, low, high);
    const lines = picked.map((neuron) => {
      const points = this.linePoints(run, neuron, quantity, y), { gap, at } = nearestOn(points, px, py);
      return { neuron, gap, state: at - points.slice(0, at).filter(([x]) => Number.isNaN(x)).length };
    });
    const found = lines.reduce((one, other) => (other.gap < one.gap ? other : one), { neuron: -1, gap: Infinity, state: 0 });
    if (found.gap < REACH) {
      const value = quantity.value(found.state, found.neuron);
      const shownValue = !quantity.isLog ? shown(value) : Math.abs(value) < 250 ? shown(10 ** value, 3) : `10^${shown(value, 5)}`;
      return { what: "neuron", neuron: found.neuron, state: found.state, title: quantity.name, value: shownValue };
    }
    if (quantity.isLog || run.d !== 2) return null;
    const gaps = this.model.extremal.map(({ direction }) => Math.abs(y((Math.atan2(direction[1], direction[0]) * 180) / Math.PI) - py));
    const arrow = gaps.indexOf(Math.min(...gaps));
    return gaps[arrow] < REACH ? { what: "arrow", arrow } : null;
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

/** Where the three tracks stand. @param {{height: number}} surface @returns {Row[]} */
function rowsOn(surface) {
  const height = (surface.height - TOP - BOTTOM - 2 * GAP) / 3;
  return [0, 1, 2].map((k) => ({ top: TOP + k * (height + GAP), height }));
}

/** @param {Row} row @param {number} low @param {number} high */
function heightIn(row, low, high) { return (/** @type {number} */ v) => row.top + row.height * (1 - (v - low) / (high - low)); }

/** What is drawn of the neurons: their sizes and their directions. @param {Run} run @returns {[Quantity, Quantity]} */
function quantitiesOf(run) {
  const sizes = { title: "size of the neurons, |w|", name: "|w| =", value: (/** @type {number} */ k, /** @type {number} */ j) => run.logW[k * run.m + j] / Math.LN10, isLog: true };
  if (run.d !== 2) return [sizes, { title: "degrees from the final direction", name: "degrees from its final direction:", value: (k, j) => angleToEnd(run, k, j), isLog: false }];
  const angle = (/** @type {number} */ k, /** @type {number} */ j) => (Math.atan2(run.units[(k * run.m + j) * 2 + 1], run.units[(k * run.m + j) * 2]) * 180) / Math.PI;
  return [sizes, { title: "direction of w in degrees", name: "direction of w, in degrees:", value: angle, isLog: false }];
}

/** How far a broken line is from a point, and which of its points is nearest along it. @param {Point[]} points @param {number} px @param {number} py */
function nearestOn(points, px, py) {
  let gap = Infinity, at = 0;
  for (let k = 1; k < points.length; k++) {
    const [[ax, ay], [bx, by]] = [points[k - 1], points[k]];
    if (!(ax - REACH < px && px < bx + REACH)) continue; // outside, or broken here
    const size = (bx - ax) ** 2 + (by - ay) ** 2;
    const share = size > 0 ? Math.min(1, Math.max(0, ((px - ax) * (bx - ax) + (py - ay) * (by - ay)) / size)) : 0;
    const distance = Math.hypot(ax + share * (bx - ax) - px, ay + share * (by - ay) - py);
    if (distance < gap) { gap = distance; at = share < 0.5 ? k - 1 : k; }
  }
  return { gap, at };
}

/** By how many degrees a neuron will still turn. @param {Run} run @param {number} k @param {number} j */
function angleToEnd(run, k, j) {
  const { d, m, units } = run;
  let cosine = 0;
  for (let i = 0; i < d; i++) cosine += units[(k * m + j) * d + i] * units[((run.T - 1) * m + j) * d + i];
  return (Math.acos(Math.min(1, Math.max(-1, cosine))) * 180) / Math.PI;
}
