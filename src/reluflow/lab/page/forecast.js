// Where the neurons go while they are small, in one sentence.
// @ts-check
import { shown } from "./dom.js";

/** What each end is, of a number of neurons; of infinitely many, of their share. @type {Record<string, (k: string) => string>} */
const ENDS = {
  maximum: (k) => `${k} turn${k === "1" ? "s" : ""} to an arrow ▲ that attracts neurons with a > 0`,
  minimum: (k) => `${k} turn${k === "1" ? "s" : ""} to an arrow ▼ that attracts neurons with a < 0`,
  saddle: (k) => `${k} turn${k === "1" ? "s" : ""} to an arrow ◆ that attracts from some sides only`,
  dead: (k) => `${k} stop${k === "1" ? "s" : ""} responding to every sample and never change${k === "1" ? "s" : ""} again (dead)`,
  open: (k) => `the end of ${k} is not decided`,
};

/**
 * As a lecturer would say it. Directions that stand for infinitely many neurons count by their quadrature weights.
 * @param {string[]} ends of each neuron @param {Float64Array} weight for how many neurons each stands: 1, or a quadrature weight
 */
export function forecastWords(ends, weight) {
  /** @type {Map<string, number>} */
  const sums = new Map();
  ends.forEach((end, j) => sums.set(end, (sums.get(end) ?? 0) + weight[j]));
  const all = weight.reduce((sum, one) => sum + one, 0), areMany = weight.some((one) => one !== 1);
  const amount = (/** @type {number} */ sum) => (areMany ? `${shown((100 * sum) / all, 3)} %` : String(sum));
  const words = Object.entries(ENDS).flatMap(([end, say]) => (sums.has(end) ? say(amount(sums.get(end) ?? 0)) : []));
  return words.length ? `Of neurons that start small enough, ${words.join("; ")}.` : "";
}
