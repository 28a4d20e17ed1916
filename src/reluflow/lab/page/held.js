// Held-out samples: the loss of a run on samples that it was not trained on, and how many of them are right.
// @ts-check
import { shown } from "./dom.js";
/** @import { HeldOut, PaintedModel, Point } from "./model.d.ts" */
/** @import { Run } from "./run.js" */

const MOST_PRODUCTS = 2e7; // of a curve over the run: beyond, it has fewer points

/** The colour of a held-out sample, by its label. @param {PaintedModel} model @param {number} k */
export function heldColor({ held, data: { classes }, palette: colors }, k) {
  const label = held?.y[k] ?? 0;
  return classes ? colors.classes[label] : label > 0 ? colors.positive : label < 0 ? colors.negative : colors.dead;
}

/** The held-out sample under a point, or null. @param {Point[]} points of all of them @param {number} px @param {number} py */
export function heldUnder(points, px, py) {
  const gaps = points.map(([x, y]) => Math.hypot(x - px, y - py)), least = Math.min(...gaps);
  return least < 12 ? gaps.indexOf(least) : null;
}

/** Outputs of the run at the samples, of each class where there are several. @param {Run} run @param {number} position @param {HeldOut} held */
function outputs(run, position, { X }) {
  const points = { data: Float64Array.from(X.flat()), shape: [X.length, X[0].length] };
  return run.K > 1 ? run.classOutputsAt(position, points) : run.outputsAt(position, points);
}

/** ln(1 + e^z) without overflow. @param {number} z */
const softplus = (z) => Math.max(z, 0) + Math.log1p(Math.exp(-Math.abs(z)));

/** The objective of the run on the held-out samples. @param {Run} run @param {number} position @param {HeldOut} held */
export function heldLoss(run, position, held) {
  const h = outputs(run, position, held), { y, loss, factor, reduction } = held, K = run.K;
  const losses = y.map((label, k) => {
    if (loss === "square") return (h[k] - label) ** 2 / 2;
    if (loss === "exponential") return Math.exp(-label * h[k]);
    if (loss === "logistic") return softplus(-label * h[k]);
    const row = h.subarray(k * K, (k + 1) * K), most = Math.max(...row);
    return most - row[label] + Math.log(row.reduce((sum, one) => sum + Math.exp(one - most), 0));
  });
  const sum = losses.reduce((total, one) => total + one, 0);
  return (factor * sum) / (reduction === "mean" ? y.length : 1);
}

/** How many held-out samples have the largest output at their class, or an output of the sign of their label. @param {Run} run @param {number} position @param {HeldOut} held */
function numRight(run, position, held) {
  const h = outputs(run, position, held), { y } = held, K = run.K;
  return y.filter((label, k) => (K > 1 ? h.subarray(k * K, (k + 1) * K).every((one, c) => c === label || one < h[k * K + label]) : label * h[k] > 0)).length;
}

/** The loss at kept states: the number of each state and the loss there. @param {Run} run @param {HeldOut} held @returns {[number, number][]} */
export function heldCurve(run, held) {
  const stride = Math.ceil((run.T * run.m * run.d * held.y.length) / MOST_PRODUCTS), states = [];
  for (let k = 0; k < run.T - 1; k += stride) states.push(k);
  return [...states, run.T - 1].map((k) => [k, heldLoss(run, k, held)]);
}

/** What is written beside the loss of the run. @param {Run} run @param {number} position @param {HeldOut} held */
export function heldWords(run, position, held) {
  const isClass = held.loss !== "square";
  return `, held out ${shown(heldLoss(run, position, held), 4)}${isClass ? ` (${numRight(run, position, held)} of ${held.y.length} right)` : ""}`;
}
