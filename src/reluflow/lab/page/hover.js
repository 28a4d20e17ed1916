// The name of what lies under the pointer.
// @ts-check
import { project } from "./planes.js";
import { shown, shownTime, vectorText } from "./dom.js";
import { EXPLANATIONS } from "./explanations.js";
import { heldUnder } from "./held.js";
import { EVENT_WORDS } from "./run.js";
/** @import { Data, Extremal, Found, Model, Point, ShownNeurons } from "./model.d.ts" */
/** @import { Viewer } from "./viewer.js" */

const KIND_WORDS = { maximum: "attracts neurons with a > 0", minimum: "attracts neurons with a < 0", saddle: "attracts from some sides only" };
const TURN = 2 * Math.PI;

/** @param {Viewer} viewer @param {number} px @param {number} py @returns {string} */
export function nameAt(viewer, px, py) {
  const { plane, model } = viewer, state = viewer.displayed();
  /** @type {Found & {arrow?: number} | null} */
  const found = viewer.isSphere ? viewer.sphere.pick(px, py, state) : plane.pick(px, py, state);
  if (found?.sample !== undefined) return sampleName(model.data, found.sample, !viewer.isSphere);
  const heldPoints = viewer.isSphere ? viewer.sphere.heldPoints().map(([x, y, depth]) => /** @type {Point} */ (depth > 0 ? [x, y] : [NaN, NaN])) : plane.heldPoints();
  const out = heldUnder(heldPoints, px, py);
  if (out !== null) return heldName(model, out);
  if (found?.neuron !== undefined) return neuronName(state, found.neuron);
  if (viewer.isSphere) return found?.arrow !== undefined ? arrowName(model.extremal[found.arrow], found.arrow) : "";
  const [x, y] = [px - plane.center[0], plane.center[1] - py], distance = Math.hypot(x, y), angle = (Math.atan2(y, x) + TURN) % TURN;
  for (const [index, one] of model.extremal.entries()) {
    const [u, v] = project(plane.plane.basis, one.direction);
    const along = x * u + y * v, across = Math.abs(x * v - y * u);
    if (along > 0 && along < plane.radius + 34 && across < (along > plane.radius + 14 ? 12 : 3.5)) return arrowName(one, index);
  }
  if (!model.geometry) return "";
  if (distance > plane.radius + 2 && distance < plane.radius + 17) {
    const sign = distance < plane.radius + 9.5 ? 1 : -1;
    const segment = model.geometry.basins[sign].find((one) => (angle - one.start + 2 * TURN) % TURN < one.end - one.start);
    const target = segment?.target;
    return `A small neuron with a ${sign > 0 ? ">" : "<"} 0 starting in this direction ${target === "dead" ? "stops responding to every sample" : !target || target === "open" ? "has an end that is not decided here" : `turns to arrow ${target.index + 1}`}.`;
  }
  for (const [k, row] of model.data.X.entries()) {
    const norm = Math.hypot(row[0], row[1]);
    if (distance < plane.radius && Math.abs((row[0] * x + row[1] * y) / norm) < 3) return `The wall of sample ${k + 1}: neurons on one side respond to it, on the other not.`;
  }
  const arc = distance < plane.radius && !model.hidden?.has("cones") && model.geometry.arcs.find((one) => (angle - one.start + 2 * TURN) % TURN < one.end - one.start);
  if (!arc) return "";
  if (model.leak === 0 && arc.numActive === 0) return "Neurons in this cone respond to no sample: they are dead, and stay where they are.";
  return `Neurons in this cone respond to ${arc.numActive} of ${model.data.X.length} samples; the shade is deeper for more.`;
}

/** The name of what lies under the pointer in the plot of the function. @param {Viewer} viewer @param {number} px @param {number} py @returns {string} */
export function functionNameAt({ function: plot, model, position }, px, py) {
  const found = plot.pick(px, py);
  if (found) return sampleName(model.data, found.sample, true);
  const out = heldUnder(plot.heldPoints(), px, py);
  if (out !== null) return heldName(model, out);
  const { run, data } = model, point = plot.pointUnder(px, py);
  if (!run || !point) return "";
  const at = { data: Float64Array.from(point), shape: [1, point.length] };
  const values = run.K > 1 ? run.classOutputsAt(position, at) : run.outputsAt(position, at);
  if (plot.line) {
    const c = values.findIndex((value) => Math.abs(plot.y(value) - py) < 7);
    return c < 0 ? "" : `h(x) = ${shown(values[c], 4)} at x = ${shown(point[0], 3)}: what the network computes at this time${data.classes ? `, for class ${data.classes[c]}` : ""}.`;
  }
  if (!data.classes || run.K === 1) return `h(x) = ${shown(values[0], 4)} at x = ${vectorText(point)}; the shade is deeper where |h| is larger.`;
  const order = [...values.keys()].sort((one, two) => values[two] - values[one]);
  return `Class ${data.classes[order[0]]} has the largest output at x = ${vectorText(point)}, ${shown(values[order[0]] - values[order[1]], 4)} above the next; the shade is deeper where that is more.`;
}

/** The name of what lies under the pointer in the tracks. @param {Viewer} viewer @param {number} px @param {number} py @returns {string} */
export function trackNameAt({ tracks, model }, px, py) {
  const { run } = model, found = tracks.pick(px, py);
  if (!run || !found) return "";
  const at = (/** @type {number | null} */ t, logT = NaN) => `t = ${shownTime(t === Infinity ? null : t, logT)}`;
  switch (found.what) {
    case "neuron": {
      const { neuron: j, state: k, title, value } = found, isDead = run.deathFrame[j] <= run.t[k];
      return `Neuron ${j + 1}${run.K > 1 ? "" : `, a ${run.signs[k * run.m + j] > 0 ? ">" : "<"} 0`}${isDead ? ", dead" : ""}: ${title} ${value} at ${at(run.t[k], run.logT[k])}.`;
    }
    case "loss": return `${found.curve}: ${shown(found.loss)} at ${at(found.t, found.logT)}.`;
    case "arrow": return arrowName(model.extremal[found.arrow], found.arrow);
    case "event": {
      const { t, kind, neuron, sample } = run.events, k = found.event;
      return `${EVENT_WORDS[kind[k]]} at ${at(t[k])}${neuron[k] >= 0 ? `: neuron ${neuron[k] + 1}` : ""}${sample[k] >= 0 ? `, sample ${sample[k] + 1}` : ""}.`;
    }
    default: {
      const { name, start, end } = run.header.phases[found.phase];
      return `The phase "${name}", from ${at(start)} to ${at(end, run.header.log_time ?? NaN)}. ${EXPLANATIONS[name] ?? ""}`;
    }
  }
}

/** @param {Model} model @param {number} k */
function heldName({ data, held }, k) {
  if (!held) return "";
  return `Held-out sample ${k + 1}: x = ${vectorText(held.X[k])}, ${labelWords(data, held.y[k])}; the run was not trained on it.`;
}

/** @param {Extremal} one @param {number} index */
function arrowName(one, index) {
  return `Arrow ${index + 1}, an extremal vector: a ${one.kind} of G with |D| = ${shown(one.norm)}; it ${KIND_WORDS[one.kind]}.`;
}

/** @param {Data} data @param {number} k @param {boolean} canDrag */
function sampleName(data, k, canDrag) {
  return `Sample ${k + 1}: x = ${vectorText(data.X[k])}, ${labelWords(data, data.y[k])}.${canDrag ? " Drag it." : ""}`;
}

/** @param {Data} data @param {number} label */
function labelWords({ classes }, label) { return classes ? `class ${classes[label]}` : `y = ${shown(label)}`; }

/** @param {ShownNeurons} state @param {number} j */
function neuronName(state, j) {
  const log = state.logW[j] / Math.LN10, size = Math.abs(log) < 250 ? shown(10 ** log, 3) : `10^${shown(log, 5)}`;
  return `Neuron ${j + 1}${state.isDead?.(j) ? ", dead: it responds to no sample and never changes again" : ""}: |w| = ${size}${state.classOf ? "" : `, a ${state.signs[j] > 0 ? ">" : "<"} 0`}. Click to read why it goes where it goes.`;
}
