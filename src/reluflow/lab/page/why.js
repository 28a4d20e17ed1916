// Why a neuron did what it did, from the events of the run and the forecast: sentences that claim no more than is known.
// @ts-check
import { shown, shownTime, vectorText } from "./dom.js";
/** @import { GeometryAnswer } from "./answers.d.ts" */
/** @import { Extremal, Model } from "./model.d.ts" */
/** @import { Run } from "./run.js" */

const PAST = ["crossed", "began to slide along", "left", "died at", "met a ridge at"];

/**
 * @param {Model} model of the viewer
 * @param {number} j the neuron
 * @returns {string[]} one sentence each
 */
export function whyOf(model, j) {
  const { run, data, geometryAnswer, extremal } = model;
  if (!run || j >= run.m) return [];
  const d = run.d, m = run.m;
  const startUnit = Array.from(run.units.subarray(j * d, (j + 1) * d));
  const sign = run.signs[j];
  const active = data.X.map((x, k) => [x.reduce((sum, value, i) => sum + value * startUnit[i], 0), k]).filter(([z]) => z > 0).map(([, k]) => k + 1);
  const sentences = [
    data.classes ? `Neuron ${j + 1} starts with |w| = ${size(run.logW[j])}, speaking most for class ${data.classes[run.classesIn(0)(j)]} and in the end for ${data.classes[run.classesIn(run.T - 1)(j)]}, ${active.length ? `responding to sample${active.length > 1 ? "s" : ""} ${list(active)}` : "responding to no sample"}.` :
    `Neuron ${j + 1} starts with a ${sign > 0 ? "> 0: it is drawn towards maxima of G" : sign < 0 ? "< 0: it is drawn towards minima of G" : "= 0"}, |w| = ${size(run.logW[j])}, ` +
    (d === 2 ? `at ${shown((Math.atan2(startUnit[1], startUnit[0]) * 180) / Math.PI, 4)}°, ` : "") +
    (active.length ? `active on sample${active.length > 1 ? "s" : ""} ${list(active)}.` : "active on no sample."),
  ];
  if (!active.length && run.leak === 0) {
    sentences.push("Nothing pulls it: every <w, x> is at most 0 and the leak is 0, so it does not move. It is dead from the start.");
    return sentences;
  }
  sentences.push(...eventSentences(run, j));
  sentences.push(...forecastSentences(geometryAnswer, extremal, j));
  const last = (run.T - 1) * m + j;
  const endUnit = Array.from(run.units.subarray(last * d, (last + 1) * d));
  const heaviest = run.logW.subarray((run.T - 1) * m).reduce((most, value) => Math.max(most, value), -Infinity);
  const isLight = run.logW[last] < heaviest - 7;
  const nearest = nearestExtremal(endUnit, extremal);
  const grown = (run.logW[last] - run.logW[j]) / Math.LN10;
  sentences.push(
    `At the end of the run |w| = ${size(run.logW[last])}${grown >= 0.3 ? `, grown by 10^${shown(grown, 3)}` : ""}` +
    (isLight ? ": too small to matter for the function" : "") +
    (nearest ? `; its direction is ${shown(nearest.angle, 3)}° from extremal vector ${nearest.index + 1} (${nearest.kind})` : "") +
    `, w/|w| = ${vectorText(endUnit, 4)}.`);
  return sentences;
}

/** @param {Run} run @param {number} j */
function eventSentences(run, j) {
  const { neuron, sample, t, kind } = run.events;
  /** @type {number[]} */
  const found = [];
  for (let k = 0; k < t.length; k++) if (neuron[k] === j) found.push(k);
  if (!found.length) return run.header.events_complete ? ["It crossed no boundary."] : ["Its events are not among those that were sent; `reluflow train --save` keeps all."];
  const parts = found.slice(0, 6).map((k) => kind[k] === 5
    ? `its output weight changed sign at t = ${when(t[k], run)}`
    : `it ${PAST[kind[k]]} the boundary of sample ${sample[k] + 1} at t = ${when(t[k], run)}`);
  const sentences = [`${capital(parts.join("; "))}${found.length > 6 ? `; and ${found.length - 6} more events` : ""}.`];
  const lastEvent = found[found.length - 1];
  if (kind[lastEvent] === 3) sentences.push("It died there: on the side it came to nothing pulls it, so it no longer moves.");
  return sentences;
}

/** @param {GeometryAnswer | null | undefined} answer @param {Extremal[]} extremal @param {number} j */
function forecastSentences(answer, extremal, j) {
  if (!answer || answer.open !== undefined) return [];
  const end = answer.ends[answer.arrays.end.data[j]], target = answer.arrays.target.data[j];
  const time = answer.arrays.alignment_time.data[j];
  if (end === undefined) return [];
  if (end === "dead") return ["As the scale vanishes, this neuron dies: it reaches a cone where nothing pulls it."];
  if (end === "open") return ["As the scale vanishes, its end is open: the flow is not unique on its way, or it was not followed to the end."];
  if (target < 0) return [`As the scale vanishes, it ends at a ${end} of G.`];
  return [`As the scale vanishes, it aligns with extremal vector ${target + 1}, a ${extremal[target]?.kind ?? end} of G with |D| = ${shown(extremal[target]?.norm)}; it enters its last cone at t = ${shown(time)} of the frozen flow.`];
}

/** @param {number[]} unit @param {Extremal[]} extremal */
function nearestExtremal(unit, extremal) {
  /** @type {{index: number, angle: number, kind: string} | null} */
  let best = null;
  for (const [index, found] of extremal.entries()) {
    const cosine = found.direction.reduce((sum, value, i) => sum + value * unit[i], 0);
    const angle = (Math.acos(Math.max(-1, Math.min(1, cosine))) * 180) / Math.PI;
    if (!best || angle < best.angle) best = { index, angle: angle < 0.05 ? 0 : angle, kind: found.kind };
  }
  return best;
}

/** @param {number} log */
function size(log) {
  if (log === -Infinity) return "0";
  return Math.abs(log) < 600 ? shown(Math.exp(log), 3) : `10^${shown(log / Math.LN10, 5)}`;
}
/** @param {number} t @param {Run} run */
function when(t, run) { return Number.isFinite(t) ? shown(t, 4) : shownTime(null, run.header.log_time); }
/** @param {number[]} numbers */
function list(numbers) { return numbers.length > 8 ? `${numbers.slice(0, 7).join(", ")}, … (${numbers.length})` : numbers.join(", "); }
/** @param {string} words */
function capital(words) { return words.charAt(0).toUpperCase() + words.slice(1); }
