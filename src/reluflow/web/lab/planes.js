// Which plane one looks at: the plane itself, two samples, two principal directions, two extremal vectors.
// @ts-check

/** Gram-Schmidt on two vectors; null where they are parallel. */
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

/** The two directions in which the rows spread most, by power iteration on X^T X. */
function principal(X) {
  const d = X[0].length;
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

/**
 * @param {string} choice auto, principal, samples-i-j, extremal-i-j
 * @returns {{basis: number[][], words: string, isWhole: boolean}}
 */
export function planeOf(choice, X, extremal) {
  const d = X[0].length;
  if (d === 1) return { basis: [[1]], words: "w along the horizontal axis", isWhole: true };
  if (d === 2) return { basis: [[1, 0], [0, 1]], words: "the plane of the input weights", isWhole: true };
  const match = /^(samples|extremal)-(\d+)-(\d+)$/.exec(choice);
  if (match) {
    const [, kind, i, j] = match;
    const among = kind === "samples" ? X : extremal.map((one) => one.vector);
    const basis = among[Number(i)] && among[Number(j)] ? basisOf(among[Number(i)], among[Number(j)]) : null;
    if (basis) return { basis, words: `the plane of ${kind === "samples" ? "samples" : "extremal vectors"} ${Number(i) + 1} and ${Number(j) + 1}, of ${d} dimensions`, isWhole: false };
  }
  return { basis: principal(X), words: `the two principal directions of the samples, of ${d} dimensions`, isWhole: false };
}

export function project(basis, x) {
  return [0, 1].map((k) => (basis[k] ? basis[k].reduce((sum, value, i) => sum + value * x[i], 0) : 0));
}
