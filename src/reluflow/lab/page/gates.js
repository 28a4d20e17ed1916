// Which neurons are active on other samples in descent than in the flow, from the same start and at the same time.
// @ts-check
/** @import { Gate, RunState, SecondRun, ShownNeurons } from "./model.d.ts" */

// The cosine with a sample from which on a neuron counts as off its activation boundary: descent chatters to and fro
// across a boundary along which the flow slides.
const OFF_BOUNDARY = 1e-2;

/** Whether a second run differs from the first in its method alone. @param {RunState} run @param {SecondRun | null} ghost */
export const isDescentBeside = (run, ghost) => run.method === "flow" && ghost !== null && ghost.method === "gd" && Object.keys(ghost).every((key) => ["method", "lr", "iterations"].includes(key));

/**
 * Pairs of neuron and sample that are on one side in one state and on the other in the other, neuron by neuron.
 * @param {ShownNeurons} flow @param {ShownNeurons} descent @param {number[][]} X
 */
export function differingGates(flow, descent, X) {
  const { m, d } = flow, norms = X.map((x) => Math.hypot(...x));
  /** @type {Gate[]} */
  const found = [];
  if (descent.m !== m || descent.d !== d) return [];
  const cosine = (/** @type {ShownNeurons} */ state, /** @type {number} */ j, /** @type {number} */ k) => {
    let sum = 0;
    for (let i = 0; i < d; i++) sum += state.units[j * d + i] * X[k][i];
    return sum / (norms[k] || 1);
  };
  for (let j = 0; j < m; j++) {
    for (let k = 0; k < X.length; k++) {
      const one = cosine(flow, j, k), other = cosine(descent, j, k);
      if (one * other < 0 && Math.min(Math.abs(one), Math.abs(other)) > OFF_BOUNDARY) found.push({ neuron: j, sample: k });
    }
  }
  return found;
}

/** In a sentence; neurons and samples are counted from 1, as in the plane. @param {Gate[]} gates */
export function gateWords(gates) {
  if (!gates.length) return "At this time every neuron is active on the same samples in both runs.";
  const first = gates.slice(0, 6).map(({ neuron, sample }) => `neuron ${neuron + 1} at sample ${sample + 1}`).join(", ");
  return `At this time ${gates.length} ${gates.length === 1 ? "activation differs" : "activations differ"} between the two runs (ringed): ${first}${gates.length > 6 ? ", …" : ""}.`;
}
