// The geometry of the plane, in closed form and fast enough to follow a pointer: cones, extremal vectors, basins.
// The same as geometry/extremal.py in dimension 2; a test in the browser holds the two against each other.
// @ts-check
/** @import { Arc, PlanarExtremal, PlanarGeometry, RunState, Segment } from "./model.d.ts" */

const TURN = 2 * Math.PI;
const TIE = 1e-11;
const mod = (/** @type {number} */ angle) => ((angle % TURN) + TURN) % TURN;

/** Forces -c dl/dh(0, y_k) of the samples. @param {number[]} y @param {RunState} run */
export function labelForces(y, run) {
  const c = run.reduction === "mean" ? run.factor / y.length : run.factor;
  const slope = run.loss === "logistic" ? 0.5 : 1;
  return y.map((label) => c * slope * label);
}

/**
 * @param {number[][]} X samples of dimension 2, none zero
 * @param {number[]} forces
 * @param {number} leak
 * @returns {PlanarGeometry}
 */
export function planarGeometry(X, forces, leak) {
  const rays = raysOf(X);
  const scale = X.reduce((sum, x, k) => sum + Math.abs(forces[k]) * Math.hypot(x[0], x[1]), 0);
  const arcs = rays.map((ray, i) => arcOf(X, forces, leak, ray, rays[(i + 1) % rays.length] + (i + 1 === rays.length ? TURN : 0)));
  /** @type {PlanarExtremal[]} */
  const extremal = [];
  arcs.forEach((arc) => {
    const norm = Math.hypot(arc.D[0], arc.D[1]);
    if (norm <= TIE * scale) { arc.D = [0, 0]; return; }
    for (const side of [1, -1]) {
      const angle = Math.atan2(side * arc.D[1], side * arc.D[0]);
      const place = mod(angle - arc.start);
      if (place <= TIE || place >= arc.end - arc.start - TIE) continue;
      arc.inside.push({ vector: arc.D, direction: [Math.cos(angle), Math.sin(angle)], norm, side, kind: side > 0 ? "maximum" : "minimum", pattern: arc.pattern, angle: mod(angle), index: 0 });
    }
    extremal.push(...arc.inside);
  });
  const onRays = rays.map((ray, i) => onRay(X, forces, leak, ray, arcs[(i + arcs.length - 1) % arcs.length], arcs[i], scale));
  for (const found of onRays) if (found) extremal.push(found);
  extremal.sort((one, two) => two.norm - one.norm || comparePatterns(one.pattern, two.pattern));
  extremal.forEach((vector, index) => { vector.index = index; });
  return { arcs, extremal, basins: { 1: basinsOf(arcs, onRays, 1), "-1": basinsOf(arcs, onRays, -1) } };
}

/** @param {number[]} one @param {number[]} two */
function comparePatterns(one, two) {
  for (let k = 0; k < one.length; k++) if (one[k] !== two[k]) return one[k] - two[k];
  return 0;
}

/** The angles of the rays on which some <w, x_k> vanishes, equal ones once. @param {number[][]} X */
function raysOf(X) {
  /** @type {number[]} */
  const all = [];
  X.forEach((x) => {
    const angle = Math.atan2(x[1], x[0]);
    all.push(mod(angle + Math.PI / 2), mod(angle - Math.PI / 2));
  });
  all.sort((a, b) => a - b);
  /** @type {number[]} */
  const distinct = [];
  for (const angle of all) {
    const isNew = !distinct.length || angle - distinct[distinct.length - 1] > TIE;
    if (isNew && !(distinct.length && distinct[0] + TURN - angle <= TIE)) distinct.push(angle);
  }
  return distinct;
}

/** @param {number[][]} X @param {number[]} forces @param {number} leak @param {number} start @param {number} end @returns {Arc} */
function arcOf(X, forces, leak, start, end) {
  const middle = [Math.cos((start + end) / 2), Math.sin((start + end) / 2)];
  const D = [0, 0];
  const pattern = X.map((x, k) => {
    const isActive = x[0] * middle[0] + x[1] * middle[1] > 0;
    const eta = isActive ? 1 : leak;
    D[0] += eta * forces[k] * x[0];
    D[1] += eta * forces[k] * x[1];
    return isActive ? 1 : -1;
  });
  return { start, end, D, pattern, numActive: pattern.filter((u) => u > 0).length, inside: [] };
}

/**
 * An extremal vector along the ray between two cones: the slopes of the samples on it can cancel the normal part of the
 * pull.
 * @param {number[][]} X @param {number[]} forces @param {number} leak @param {number} angle @param {Arc} before @param {Arc} after
 * @param {number} scale
 * @returns {PlanarExtremal | null}
 */
function onRay(X, forces, leak, angle, before, after, scale) {
  const ray = [Math.cos(angle), Math.sin(angle)];
  const normal = [-ray[1], ray[0]];
  const base = [0, 0];
  let lower = 0, upper = 0;
  const pattern = X.map((x, k) => {
    const along = x[0] * ray[0] + x[1] * ray[1];
    const across = x[0] * normal[0] + x[1] * normal[1];
    if (Math.abs(along) <= 1e-10 * Math.hypot(x[0], x[1])) {
      const pull = forces[k] * across;
      lower += Math.min(pull, leak * pull);
      upper += Math.max(pull, leak * pull);
      return 0;
    }
    const eta = along > 0 ? 1 : leak;
    base[0] += eta * forces[k] * x[0];
    base[1] += eta * forces[k] * x[1];
    return along > 0 ? 1 : -1;
  });
  const needed = -(base[0] * normal[0] + base[1] * normal[1]);
  const size = base[0] * ray[0] + base[1] * ray[1];
  if (needed <= lower || needed >= upper || Math.abs(size) <= TIE * scale) return null;
  const ahead = after.D[0] * normal[0] + after.D[1] * normal[1];
  const back = -(before.D[0] * normal[0] + before.D[1] * normal[1]);
  const kind = ahead < 0 && back < 0 ? "maximum" : ahead > 0 && back > 0 ? "minimum" : "saddle";
  return { vector: [size * ray[0], size * ray[1]], direction: ray, norm: Math.abs(size), side: Math.sign(size), kind, pattern, angle, index: 0 };
}

/**
 * Where a neuron of sign `sign` of a turns to from every direction while |a| >= |w|: segments of the circle with the
 * extremal vector they lead to, or "dead", or "open" where it comes to rest on a boundary without one.
 * @param {Arc[]} arcs @param {(PlanarExtremal | null)[]} onRays at the start of each arc @param {1 | -1} sign
 * @returns {Segment[]}
 */
function basinsOf(arcs, onRays, sign) {
  /** @type {{angle: number, isBoundary: boolean, extremal: PlanarExtremal | null}[]} */
  const nodes = [];
  arcs.forEach((arc, i) => {
    nodes.push({ angle: arc.start, isBoundary: true, extremal: onRays[i] });
    const inside = arc.inside.map((found) => ({ angle: arc.start + mod(found.angle - arc.start), isBoundary: false, extremal: found }));
    inside.sort((one, two) => one.angle - two.angle);
    nodes.push(...inside);
  });
  const segments = nodes.map((node, i) => {
    const end = i + 1 < nodes.length ? nodes[i + 1].angle : nodes[0].angle + TURN;
    const middle = (node.angle + end) / 2;
    const arc = arcs.find((one) => mod(middle - one.start) < one.end - one.start) || arcs[0];
    const turning = sign * (-Math.sin(middle) * arc.D[0] + Math.cos(middle) * arc.D[1]);
    return { start: node.angle, end, speed: Math.sign(turning) };
  });
  /** @param {number} first @returns {Segment["target"]} */
  const targetOf = (first) => {
    let at = first;
    for (let steps = 0; steps <= 2 * segments.length; steps++) {
      const speed = segments[at].speed;
      if (speed === 0) return "dead";
      const following = (at + speed + segments.length) % segments.length;
      const node = nodes[speed > 0 ? following : at];
      if (!node.isBoundary || segments[following].speed === -speed) return node.extremal ?? "open";
      at = following;
    }
    return "open";
  };
  return segments.map(({ start, end }, i) => ({ start, end, target: targetOf(i) })).filter((segment) => segment.end - segment.start > 1e-13);
}

/**
 * Where neurons go by the basins: an index of `extremal`, "dead", "open", or null where a may change its sign.
 * @param {PlanarGeometry} geometry @param {number[][]} w @param {number[]} a
 */
export function planarForecast(geometry, w, a) {
  return w.map((row, j) => {
    const norm = Math.hypot(row[0], row[1]);
    if (norm === 0 || a[j] === 0 || Math.abs(a[j]) < norm * (1 - 1e-9)) return null;
    const angle = mod(Math.atan2(row[1], row[0]));
    const segments = geometry.basins[a[j] > 0 ? 1 : -1];
    const found = segments.find((one) => mod(angle - one.start) < one.end - one.start);
    if (!found) return "open";
    return typeof found.target === "string" ? found.target : found.target.index;
  });
}
