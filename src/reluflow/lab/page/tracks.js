// The tracks: loss, sizes and angles over one axis of time, with events as ticks, phases as bands and a shared cursor.
// @ts-check
import { CanvasSurface } from "./surface.js";
import { DEATH, SLIDE } from "./run.js";
import { shown, shownTime } from "./dom.js";

const LEFT = 58, RIGHT = 14, TOP = 36, GAP = 24, BOTTOM = 34;
const MOST_LINES = 60, LINES_AT_ONCE = 6;

export class Tracks {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    this.surface = new CanvasSurface(canvas);
    this.hasStill = false;
  }

  show(model) {
    this.model = model;
    this.hasStill = false;
  }

  x(place) { return LEFT + place * (this.surface.width - LEFT - RIGHT); }
  placeAt(px) { return Math.min(1, Math.max(0, (px - LEFT) / Math.max(1, this.surface.width - LEFT - RIGHT))); }

  draw(position) {
    const surface = this.surface, run = this.model?.run;
    if (surface.resize()) this.hasStill = false;
    if (!run) {
      surface.clear(this.model ? this.model.palette.paper : "#fff");
      if (this.model?.absent) surface.text(surface.width / 2, surface.height / 2, this.model.absent, { color: this.model.palette.quiet, size: 13, align: "center" });
      return;
    }
    if (!this.hasStill) for (const _ of this.drawingStill()) void _;
    surface.showImage();
    this.drawCursor(surface, position);
  }

  /** Draw everything in pieces, between which others may go first. */
  *drawing(position) {
    if (this.model?.run) {
      for (const _ of this.drawingStill()) {
        this.surface.kept?.settle();
        yield;
      }
    }
    this.draw(position());
  }

  drawCursor(surface, position) {
    const colors = this.model.palette, x = this.x(this.model.run.placeOfPosition(position, this.model.view.axis));
    surface.path([[x, TOP - 4], [x, surface.height - BOTTOM + 4]], { stroke: colors.ink, width: 1.8 });
  }

  /** All but the cursor, beside the screen and in pieces, so that a drag need not wait for the whole. */
  *drawingStill() {
    this.surface.resize();
    yield* this.drawingOn(this.surface.beside());
    this.hasStill = true;
  }

  *drawingOn(surface) {
    const colors = this.model.palette;
    const { run, ghost } = this.model, axis = this.model.view.axis;
    surface.clear(colors.paper);
    const height = (surface.height - TOP - BOTTOM - 2 * GAP) / 3;
    const rows = [0, 1, 2].map((k) => ({ top: TOP + k * (height + GAP), height }));
    this.drawPhases(surface, colors, run, axis);
    this.drawLoss(surface, colors, rows[0], run, ghost, axis);
    yield;
    yield* this.drawingLines(surface, colors, rows[1], "size of the neurons, |w|", (k, j) => run.logW[k * run.m + j] / Math.LN10, true);
    const angles = run.d === 2
      ? (k, j) => (Math.atan2(run.units[(k * run.m + j) * 2 + 1], run.units[(k * run.m + j) * 2]) * 180) / Math.PI
      : (k, j) => this.angleToEnd(k, j);
    yield* this.drawingLines(surface, colors, rows[2], run.d === 2 ? "direction of w in degrees" : "degrees from the final direction", angles, false);
    this.drawEvents(surface, colors, run, axis);
    this.drawTimes(surface, colors, run, axis);
  }

  angleToEnd(k, j) {
    const { run } = this.model, d = run.d;
    let cosine = 0;
    for (let i = 0; i < d; i++) cosine += run.units[(k * run.m + j) * d + i] * run.units[((run.T - 1) * run.m + j) * d + i];
    return (Math.acos(Math.min(1, Math.max(-1, cosine))) * 180) / Math.PI;
  }

  drawPhases(surface, colors, run, axis) {
    run.header.phases.forEach((phase, index) => {
      const start = this.x(run.placeOf(phase.start ?? Infinity, run.header.log_time, axis));
      const end = this.x(run.placeOf(phase.end ?? Infinity, run.header.log_time, axis));
      const isPlateau = phase.name === "plateau";
      surface.rect(start, 2, Math.max(0, end - start), surface.height - BOTTOM, { fill: isPlateau ? colors.minimum : colors.accent, alpha: isPlateau ? 0.12 : index % 2 ? 0.1 : 0.035 });
      if (end - start > 48) surface.text((start + end) / 2, isPlateau ? TOP + 6 : 10, phase.name, { color: colors.quiet, size: 11, align: "center" });
    });
  }

  /** The logarithm of each recorded time and where it stands; no place beyond the end of the first run. */
  curveOf(one) {
    const { run, view } = this.model, last = run.logT[run.T - 1] + 1e-9;
    return Array.from(one.records.logT, (logT, k) => [logT, logT > last ? NaN : this.x(run.placeOf(one.records.t[k], logT, view.axis))]);
  }

  drawLoss(surface, colors, row, run, ghost, axis) {
    const losses = [run, ghost].filter(Boolean).flatMap((one) => Array.from(one.records.loss)).filter((loss) => loss > 0);
    const high = Math.log10(Math.max(...losses, 1e-300)), low = Math.max(Math.log10(Math.min(...losses, 1)), high - 14);
    const isLinear = this.model.view.loss === "linear", isFlat = isLinear || high - low < 1, isCut = losses.length > 0 && Math.log10(Math.min(...losses)) < low - 1e-9;
    const value = (loss) => isFlat ? loss : Math.log10(Math.max(loss, 1e-300));
    const [bottom, top] = isFlat ? [isLinear ? 0 : 0.97 * Math.min(...losses), 1.02 * Math.max(...losses)] : [Math.floor(low), Math.ceil(high + 0.05)];
    const y = (loss) => row.top + row.height * (1 - Math.min(1, Math.max(0, (value(loss) - bottom) / (top - bottom || 1))));
    this.frame(surface, colors, row, "loss", isFlat ? [shown(bottom, 3), shown(top, 3)] : [`${isCut ? "≤ " : ""}1e${bottom}`, `1e${top}`]);
    const last = run.logT[run.T - 1] + 1e-9; // a second run that goes on is cut there, not drawn on one line
    const curve = (one) => this.curveOf(one).map(([, x], k) => /** @type {[number, number]} */ ([x, y(one.records.loss[k])]));
    if (ghost && ghost.logT[ghost.T - 1] > last) surface.text(surface.width - RIGHT, row.top - 9, "the second run (dashed) goes on →", { color: colors.quiet, size: 11, align: "right", halo: colors.paper });
    if (ghost) surface.path(curve(ghost), { stroke: colors.quiet, width: 1.8, dash: [5, 4] });
    surface.path(curve(run), { stroke: colors.ink, width: 2 });
  }

  *drawingLines(surface, colors, row, title, value, isLog) {
    const { run } = this.model, axis = run.frameAxis(this.model.view.axis);
    const picked = this.pickedNeurons(run);
    let low = Infinity, high = -Infinity;
    for (const j of picked) for (let k = 0; k < run.T; k++) { const v = value(k, j); if (Number.isFinite(v)) { low = Math.min(low, v); high = Math.max(high, v); } }
    if (!isLog) [low, high] = run.d === 2 ? [-180, 180] : [0, Math.max(high, 1)];
    if (isLog) [low, high] = [Math.floor(low), Math.ceil(high)];
    if (!(high > low)) { low -= 1; high += 1; }
    const y = (v) => row.top + row.height * (1 - (v - low) / (high - low));
    this.frame(surface, colors, row, title, isLog ? [`1e${low}`, `1e${high}`] : [`${shown(low, 3)}°`, `${shown(high, 3)}°`]);
    if (!isLog && run.d === 2) {
      this.model.extremal.forEach((found, index) => {
        const angle = found.angle ?? Math.atan2(found.direction[1], found.direction[0]);
        const v = (Math.atan2(Math.sin(angle), Math.cos(angle)) * 180) / Math.PI;
        surface.path([[LEFT, y(v)], [surface.width - RIGHT, y(v)]], { stroke: colors.targets[index % colors.targets.length], width: 3, alpha: 0.45 });
      });
    }
    for (const [at, j] of picked.entries()) {
      if (at % LINES_AT_ONCE === 0) yield;
      const isChosen = this.model.selection?.neuron === j;
      const points = [];
      let before = NaN;
      for (let k = 0; k < run.T; k++) {
        const v = value(k, j);
        if (!isLog && run.d === 2 && Math.abs(v - before) > 180) points.push([NaN, NaN]); // from 180 to -180 degrees
        points.push([this.x(axis[k]), y(v)]);
        before = v;
      }
      const sign = run.signs[(run.T - 1) * run.m + j];
      const classOf = run.K > 1 ? run.outsAt(run.T - 1, run.T - 1, 0).classOf : null;
      surface.path(points, { stroke: isChosen ? colors.ink : classOf ? colors.classes[classOf(j)] : sign > 0 ? colors.positive : colors.negative, width: isChosen ? 3 : 1, alpha: isChosen ? 1 : 0.55 });
    }
  }

  pickedNeurons(run) {
    const count = Math.min(run.m, MOST_LINES);
    const picked = Array.from({ length: count }, (_, i) => Math.floor((i * run.m) / count));
    const chosen = this.model.selection?.neuron;
    if (chosen !== null && chosen !== undefined && chosen < run.m && !picked.includes(chosen)) picked.push(chosen);
    return picked;
  }

  drawEvents(surface, colors, run, axis) {
    const { t, kind, neuron } = run.events, y = surface.height - BOTTOM;
    const chosen = this.model.selection?.neuron ?? null;
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

  drawTimes(surface, colors, run, axis) {
    const y = surface.height - 9;
    const count = surface.width > 500 ? 5 : 3;
    for (let k = 0; k <= count; k++) {
      const place = k / count, time = run.timeAt(run.positionOf(place, axis));
      surface.text(this.x(place), y, k === 0 ? "t = 0" : shownTime(time.t === Infinity ? null : Number(time.t.toPrecision(3)), time.logT), { color: colors.quiet, size: 11, align: k === 0 ? "left" : k === count ? "right" : "center" });
    }
  }

  frame(surface, colors, row, title, [low, high]) {
    surface.path([[LEFT, row.top], [LEFT, row.top + row.height], [surface.width - RIGHT, row.top + row.height]], { stroke: colors.line });
    surface.text(LEFT, row.top - 9, title, { color: colors.ink, size: 12, weight: "600", halo: colors.paper });
    surface.text(LEFT - 5, row.top + row.height - 4, low, { color: colors.quiet, size: 11, align: "right" });
    surface.text(LEFT - 5, row.top + 5, high, { color: colors.quiet, size: 11, align: "right" });
  }
}
