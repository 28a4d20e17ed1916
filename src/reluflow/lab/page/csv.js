// Comma-separated data: read what was pasted or dropped, write what is taken away.
// @ts-check
/** @import { Run } from "./run.js" */

const MOST_CLASSES = 4;

/**
 * Rows with the label last, separated by commas, semicolons, tabs or spaces; a header is allowed.
 * Throws one sentence that names the line.
 * @param {string} text @param {boolean} isNumbers whether labels 0 and 1 are numbers
 */
export function parseData(text, isNumbers = false) {
  if (text.length > 262144) throw new Error("The data must be at most 256 kB of text; `reluflow lab FILE` takes larger files.");
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|\n|\r/).map((line, k) => /** @type {[string, number]} */ ([line.trim(), k + 1])).filter(([line]) => line);
  if (!lines.length) throw new Error("The data must hold one sample per line, got nothing.");
  const split = (/** @type {string} */ line) => line.split(line.includes(";") ? ";" : line.includes(",") ? "," : line.includes("\t") ? "\t" : /\s+/).map((cell) => cell.trim());
  let rows = lines;
  const first = split(lines[0][0]);
  if (first.length > 1 && first.slice(0, -1).every((cell) => Number.isNaN(Number(cell)) || cell === "")) rows = lines.slice(1);
  if (!rows.length) throw new Error("The data must hold a row under the header, got none.");
  if (rows.length > 500) throw new Error(`The laboratory takes up to 500 samples, got ${rows.length}; \`reluflow study\` takes more.`);
  const width = split(rows[0][0]).length;
  if (width < 2) throw new Error(`Line ${rows[0][1]} must hold at least one input and the label, got one number.`);
  /** @type {string[]} */
  const labels = [];
  const table = rows.map(([line, number]) => {
    const cells = split(line);
    if (cells.length !== width) throw new Error(`Line ${number} must hold ${width} numbers like the first, got ${cells.length}.`);
    labels.push(cells[width - 1]);
    return cells.slice(0, -1).map((cell, k) => {
      const value = Number(cell);
      if (cell === "" || !Number.isFinite(value)) throw new Error(`Line ${number}, column ${k + 1} must be a number, got "${cell.slice(0, 30)}".`);
      if (Math.abs(value) > 1e6) throw new Error(`Line ${number}, column ${k + 1} must be at most 1e6 in size, got ${cell.slice(0, 30)}.`);
      return value;
    });
  });
  return { X: table, ...labelsOf(labels, isNumbers) };
}

/**
 * What the last column means: -1 and 1, 0 and 1, or two words are two classes; other numbers are numbers. As
 * `reluflow lab FILE` takes them; a sentence says what was taken.
 * @param {string[]} labels @param {boolean} isNumbers whether numbers are to stay numbers
 * @returns {{y: number[], words: string, classes: string[] | null}}
 */
export function labelsOf(labels, isNumbers) {
  const values = labels.map((label) => (label === "" ? NaN : Number(label)));
  const areNumbers = values.every(Number.isFinite);
  if (areNumbers && values.some((value) => Math.abs(value) > 1e6)) throw new Error("A label must be at most 1e6 in size.");
  const kinds = [...new Set(areNumbers ? values.map(String) : labels)].sort((a, b) => (areNumbers ? Number(a) - Number(b) : a < b ? -1 : 1));
  if (labels.includes("")) throw new Error(`Line with sample ${labels.indexOf("") + 1} must end with a label, got nothing.`);
  if (areNumbers && (isNumbers || kinds.every((kind) => Math.abs(Number(kind)) === 1))) return { y: values, words: "", classes: null };
  const isZeroOne = areNumbers && kinds.length === 2 && kinds[0] === "0" && kinds[1] === "1";
  if (isZeroOne || (!areNumbers && kinds.length === 2)) {
    const words = `${kinds[1]} is the class +1, ${kinds[0]} the class −1${areNumbers ? "; tick “labels are numbers” to fit them as numbers" : ""}.`;
    return { y: labels.map((_, k) => ((areNumbers ? String(values[k]) : labels[k]) === kinds[1] ? 1 : -1)), words, classes: null };
  }
  if (areNumbers) return { y: values, words: "The labels are taken as numbers.", classes: null };
  if (kinds.length < 2) throw new Error(`The labels must be of two kinds at least, got only "${kinds[0].slice(0, 30)}".`);
  if (kinds.length > MOST_CLASSES) throw new Error(`The laboratory shows up to ${MOST_CLASSES} classes, got ${kinds.length}; \`reluflow study\` takes more.`);
  return { y: labels.map((label) => kinds.indexOf(label)), words: `${kinds.length} classes: ${kinds.map((kind, k) => `${kind} is class ${k + 1}`).join(", ")}.`, classes: kinds };
}

const line = (/** @type {(string | number)[]} */ cells) => `${cells.join(",")}\n`;

/** @param {number[][]} X @param {number[]} y */
export function dataCsv(X, y) {
  return line([...X[0].map((_, i) => `x${i + 1}`), "y"]) + X.map((x, k) => line([...x, y[k]])).join("");
}

/** The neurons themselves, scale included, as `reluflow train --init` reads them. @param {number[][]} w @param {number[]} a @param {number} factor */
export function neuronCsv(w, a, factor) {
  return line([...w[0].map((_, i) => `w${i + 1}`), "a"]) + w.map((row, j) => line([...row, a[j]].map((value) => value * factor))).join("");
}

/** One row per kept state and neuron. @param {Run} run */
export function runCsv(run) {
  const parts = [line(["t", "log_t", "loss", "neuron", "log_norm_w", "log_abs_a", "sign_a", ...Array.from({ length: run.d }, (_, i) => `u${i + 1}`)])];
  for (let k = 0; k < run.T; k++) for (let j = 0; j < run.m; j++) {
    const at = k * run.m + j;
    parts.push(line([run.t[k], run.logT[k], run.loss[k], j, run.logW[at], run.logA[at], run.signs[at], ...run.units.subarray(at * run.d, (at + 1) * run.d)]));
  }
  return parts.join("");
}
