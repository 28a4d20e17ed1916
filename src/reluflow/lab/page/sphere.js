// The sphere of directions for d = 3: great circles of the samples, extremal vectors, neurons; drag to turn it.
// @ts-check
import { heldColor } from "./held.js";
import { GLYPHS, signOf } from "./plane.js";
import { Picture } from "./picture.js";
/** @import { Look, Surface } from "./drawing.d.ts" */
/** @import { Found, ShownNeurons } from "./model.d.ts" */
/** @import { CanvasSurface, Palette } from "./surface.js" */

/** @typedef {(unit: number[]) => number[]} Place of a direction on the screen, and how near it is */

/** @param {number} width @param {number} height */
const radiusOn = (width, height) => 0.5 * Math.min(width, height) - 26;

export class Sphere extends Picture {
  /** @param {CanvasSurface} surface */
  constructor(surface) {
    super();
    this.surface = surface;
    this.turn = 0.6;
    this.tilt = 0.35;
  }

  /** @param {number} dx @param {number} dy */
  rotate(dx, dy) {
    this.turn += 0.008 * dx;
    this.tilt = Math.max(-1.5, Math.min(1.5, this.tilt + 0.008 * dy));
  }

  /** Seen from the front: right, up, and towards the viewer. @param {number[]} point */
  view([x, y, z]) {
    const a = Math.cos(this.turn) * x + Math.sin(this.turn) * y, b = -Math.sin(this.turn) * x + Math.cos(this.turn) * y;
    return [a, Math.cos(this.tilt) * z - Math.sin(this.tilt) * b, Math.sin(this.tilt) * z + Math.cos(this.tilt) * b];
  }

  /** Where a direction stands on a surface, and how near it is. @param {number[]} unit @param {{width: number, height: number}} surface */
  place(unit, { width, height } = this.surface) {
    const [a, b, depth] = this.view(unit), R = radiusOn(width, height);
    return [width / 2 + R * a, height / 2 - R * b, depth];
  }

  /**
   * What lies under a point on the near side: a sample, or a neuron, or an extremal vector.
   * @param {number} px @param {number} py @param {ShownNeurons} state @returns {Found & {arrow?: number} | null}
   */
  pick(px, py, state) {
    const isNear = (/** @type {number[]} */ unit, /** @type {number} */ reach) => {
      const [x, y, depth] = this.place(unit);
      return depth > 0 && Math.hypot(x - px, y - py) < reach;
    };
    const sample = this.model.data.X.findIndex((x) => { const norm = Math.hypot(...x); return isNear(x.map((value) => value / norm), 12); });
    if (sample >= 0) return { sample };
    for (let j = 0; j < state.m; j++) if (isNear(Array.from(state.units.subarray(3 * j, 3 * j + 3)), 7)) return { neuron: j };
    const arrow = this.model.extremal.findIndex((found) => isNear(found.direction, 14));
    return arrow >= 0 ? { arrow } : null;
  }

  /** Where the directions of the held-out samples stand, and how near they are. @param {{width: number, height: number}} surface */
  heldPoints(surface = this.surface) {
    return (this.model.held?.X ?? []).map((x) => { const norm = Math.hypot(...x); return this.place(x.map((value) => value / norm), surface); });
  }

  /** The second run is not drawn here. @param {ShownNeurons} state */
  draw(state) {
    this.surface.resize();
    this.drawOn(this.surface, state);
  }

  /** @param {Surface} surface @param {ShownNeurons} state */
  drawOn(surface, state) {
    const colors = this.model.palette, { X, y, classes } = this.model.data;
    const R = radiusOn(surface.width, surface.height), cx = surface.width / 2, cy = surface.height / 2;
    surface.clear(colors.paper);
    surface.circle(cx, cy, R, { fill: colors.accent, alpha: 0.06 });
    surface.circle(cx, cy, R, { stroke: colors.line, width: 1.5 });
    const many = X.length > 30; // then their circles are faint and they are small, so that neurons are seen before them
    X.forEach((x) => this.greatCircle(surface, x, R, cx, cy, colors, many ? 0.25 : 1));
    /** @type {Place} */
    const place = (unit) => this.place(unit, surface);
    X.forEach((x, k) => {
      const norm = Math.hypot(...x), [px, py, depth] = place(x.map((value) => value / norm));
      const color = classes ? colors.classes[y[k]] : y[k] > 0 ? colors.positive : y[k] < 0 ? colors.negative : colors.dead;
      const size = many ? 3 : 8, alpha = depth > 0 ? 1 : 0.35;
      if (y[k] >= 0) surface.circle(px, py, size, { fill: color, stroke: colors.paper, width: 1.5, alpha });
      else surface.rect(px - size, py - size, 2 * size, 2 * size, { fill: color, alpha });
      if (many) return;
      surface.text(px, py, classes ? signOf(classes, y[k]) : y[k] > 0 ? "+" : y[k] < 0 ? "−" : "0", { color: "#fff", size: 13, align: "center", weight: "bold", alpha });
      surface.text(px + 12, py - 11, String(k + 1), { color: colors.ink, size: 12, alpha: depth > 0 ? 1 : 0.4, halo: colors.paper });
    });
    this.heldPoints(surface).forEach(([px, py, depth], k) => surface.circle(px, py, many ? 3 : 7, { fill: colors.paper, stroke: heldColor(this.model, k), width: 2.5, alpha: depth > 0 ? 1 : 0.35 }));
    this.drawNeurons(surface, state, place, colors);
    this.model.extremal.slice(0, 60).forEach((found, index) => {
      const [px, py, depth] = place(found.direction);
      const color = colors.targets[index % colors.targets.length];
      surface.text(px, py - 14, `${GLYPHS[found.kind]}${index + 1}`, { color, size: 15, align: "center", weight: "bold", alpha: depth > 0 ? 1 : 0.35, halo: colors.paper });
    });
  }

  /** @param {Surface} surface @param {ShownNeurons} state @param {Place} place @param {Palette} colors */
  drawNeurons(surface, state, place, colors) {
    /** Neurons that look alike, behind the sphere and before it. @type {Map<string, {look: Look, places: number[]}>[]} */
    const groups = [new Map(), new Map()];
    for (let j = 0; j < state.m; j++) {
      const [px, py, depth] = place([state.units[3 * j], state.units[3 * j + 1], state.units[3 * j + 2]]);
      const isDead = state.isDead?.(j) ?? false, isMinus = !state.classOf && state.signs[j] <= 0;
      const color = isDead ? colors.dead : state.classOf ? colors.classes[state.classOf(j)] : isMinus ? colors.negative : colors.positive;
      const group = groups[depth > 0 ? 1 : 0], key = `${color} ${isDead}`;
      const known = group.get(key) ?? { look: isDead ? { stroke: color, width: 1.4 } : { fill: color, stroke: colors.paper, width: 0.8, diamond: isMinus }, places: [] };
      known.places.push(px, py);
      group.set(key, known);
    }
    for (const [side, group] of groups.entries()) for (const { look, places } of group.values()) surface.marks(places, 4.2, { ...look, alpha: side ? 0.95 : 0.3 });
  }

  /**
   * Where <w, x> = 0; the far half is faint.
   * @param {Surface} surface @param {number[]} x @param {number} R @param {number} cx @param {number} cy @param {Palette} colors
   * @param {number} strength
   */
  greatCircle(surface, x, R, cx, cy, colors, strength) {
    const norm = Math.hypot(...x), n = x.map((value) => value / norm);
    const helper = Math.abs(n[0]) < 0.9 ? [1, 0, 0] : [0, 1, 0];
    const u = cross(n, helper), size = Math.hypot(...u), e = u.map((value) => value / size), f = cross(n, e);
    for (const isFront of [false, true]) {
      const points = Array.from({ length: 121 }, (_, k) => {
        const angle = (2 * Math.PI * k) / 120;
        const [a, b, c] = this.view(e.map((value, i) => Math.cos(angle) * value + Math.sin(angle) * f[i]));
        return c > 0 === isFront ? [cx + R * a, cy - R * b] : [NaN, NaN];
      });
      surface.path(points, { stroke: colors.quiet, width: 1, alpha: strength * (isFront ? 0.8 : 0.25) });
    }
  }
}

/** @param {number[]} a @param {number[]} b */
function cross(a, b) { return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]; }
