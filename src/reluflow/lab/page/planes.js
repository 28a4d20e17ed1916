// Which plane one looks at: the plane itself, two principal directions, two samples, two extremal vectors, or one of each.
// @ts-check
/** @import { Extremal, Point } from "./model.d.ts" */

/** @typedef {{basis: number[][], words: string, isWhole: boolean}} ChosenPlane */

/** Gram-Schmidt on two vectors; null where they are parallel. @param {number[]} one @param {number[]} two */
function basisOf(one, two) {
  const norm = Math.hypot(...one);
  if (!(norm > 0)) return null;
  const first = one.map((value) => value / norm);
  const along = two.reduce((sum, value, i) => sum + value * first[i], 0);
  const rest = two.map((value, i) => value - along * first[i]);
  const size = Math.hypot(...rest);
  if (!(size > 1e-9 * Math.hypot(...two))) return null;
  return [first, rest.map((value) => value / size)];
}

/** The two directions in which the rows spread most, by power iteration on X^T X. @param {number[][]} X */
function principal(X) {
  const d = X[0].length;
  /** @type {number[][]} */
  const directions = [];
  for (let which = 0; which < 2; which++) {
    let v = Array.from({ length: d }, (_, i) => Math.cos(1 + i * (which + 1)));
    for (let step = 0; step < 300; step++) {
      const next = new Array(d).fill(0);
      for (const x of X) {
        const size = x.reduce((sum, value, i) => sum + value * v[i], 0);
        for (let i = 0; i < d; i++) next[i] += size * x[i];
      }
      for (const other of directions) {
        const along = next.reduce((sum, value, i) => sum + value * other[i], 0);
        for (let i = 0; i < d; i++) next[i] -= along * other[i];
      }
      const norm = Math.hypot(...next);
      if (!(norm > 1e-12)) break;
      v = next.map((value) => value / norm);
    }
    directions.push(v);
  }
  return directions;
}

/** The principal directions of the samples last seen: plane, function and every redrawing ask for the same. @type {WeakMap<number[][], number[][]>} */
const known = new WeakMap();
/** @param {number[][]} X */
function principalOf(X) {
  const basis = known.get(X) ?? principal(X);
  known.set(X, basis);
  return basis;
}

/** The words of a choice that names two vectors. */
export const TWO_VECTORS = /^(?:samples-(\d{1,3})-(\d{1,3})|extremal-(\d{1,3})-(\d{1,3})|extremal-(\d{1,3})-sample-(\d{1,3}))$/;

/** The two vectors a choice names, with their words; null where it names none or one is not there. @param {string} choice @param {number[][]} X @param {Extremal[]} extremal */
function vectorsOf(choice, X, extremal) {
  const match = TWO_VECTORS.exec(choice);
  if (!match) return null;
  const [s, t, e, f, g, h] = match.slice(1).map((text) => (text === undefined ? NaN : Number(text)));
  const pair = !Number.isNaN(s)
    ? { one: X[s], two: X[t], words: `samples ${s + 1} and ${t + 1}` }
    : !Number.isNaN(e)
      ? { one: extremal[e]?.vector, two: extremal[f]?.vector, words: `extremal vectors ${e + 1} and ${f + 1}` }
      : { one: extremal[g]?.vector, two: X[h], words: `extremal vector ${g + 1} and sample ${h + 1}` };
  return pair.one && pair.two ? pair : null;
}

/**
 * @param {string} choice auto, principal, samples-i-j, extremal-i-j, extremal-i-sample-j
 * @param {number[][]} X @param {Extremal[]} extremal
 * @returns {ChosenPlane}
 */
export function planeOf(choice, X, extremal) {
  const d = X[0].length;
  if (d === 1) return { basis: [[1]], words: "w along the horizontal axis", isWhole: true };
  if (d === 2) return { basis: [[1, 0], [0, 1]], words: "the plane of w", isWhole: true };
  const named = vectorsOf(choice, X, extremal), basis = named && basisOf(named.one, named.two);
  if (named && basis) return { basis, words: `the plane of ${named.words}, of ${d} dimensions`, isWhole: false };
  return { basis: principalOf(X), words: `the two principal directions of the samples, of ${d} dimensions`, isWhole: false };
}

/** @param {number[][]} basis @param {ArrayLike<number>} x @returns {Point} */
export function project(basis, x) {
  const along = (/** @type {number[] | undefined} */ direction) => direction?.reduce((sum, value, i) => sum + value * x[i], 0) ?? 0;
  return [along(basis[0]), along(basis[1])];
}
