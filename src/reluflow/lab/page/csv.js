// Comma-separated data: read what was pasted or dropped, write what is taken away.
// @ts-check

/**
 * Rows with the label last, separated by commas, semicolons, tabs or spaces; a header is allowed.
 * Throws one sentence that names the line.
 * @param {string} text
 */
export function parseData(text) {
  if (text.length > 262144) throw new Error("The data must be at most 256 kB of text; `reluflow lab FILE` takes larger files.");
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|\n|\r/).map((line, k) => /** @type {[string, number]} */ ([line.trim(), k + 1])).filter(([line]) => line);
  if (!lines.length) throw new Error("The data must hold one sample per line, got nothing.");
  const split = (line) => line.split(line.includes(";") ? ";" : line.includes(",") ? "," : line.includes("\t") ? "\t" : /\s+/).map((cell) => cell.trim());
  let rows = lines;
  const first = split(lines[0][0]);
  if (first.every((cell) => Number.isNaN(Number(cell)) || cell === "")) rows = lines.slice(1);
  if (!rows.length) throw new Error("The data must hold a row under the header, got none.");
  if (rows.length > 500) throw new Error(`The laboratory takes up to 500 samples, got ${rows.length}; \`reluflow study\` takes more.`);
  const width = split(rows[0][0]).length;
  if (width < 2) throw new Error(`Line ${rows[0][1]} must hold at least one input and the label, got one number.`);
  const table = rows.map(([line, number]) => {
    const cells = split(line);
    if (cells.length !== width) throw new Error(`Line ${number} must hold ${width} numbers like the first, got ${cells.length}.`);
    return cells.map((cell, k) => {
      const value = Number(cell);
      if (cell === "" || !Number.isFinite(value)) throw new Error(`Line ${number}, column ${k + 1} must be a number, got "${cell.slice(0, 30)}".`);
      if (Math.abs(value) > 1e6) throw new Error(`Line ${number}, column ${k + 1} must be at most 1e6 in size, got ${cell.slice(0, 30)}.`);
      return value;
    });
  });
  return { X: table.map((row) => row.slice(0, -1)), y: table.map((row) => row[width - 1]) };
}

const line = (cells) => `${cells.join(",")}\n`;

export function dataCsv(X, y) {
  return line([...X[0].map((_, i) => `x${i + 1}`), "y"]) + X.map((x, k) => line([...x, y[k]])).join("");
}

/** The neurons themselves, scale included, as `reluflow train --init` reads them. */
export function neuronCsv(w, a, factor) {
  return line([...w[0].map((_, i) => `w${i + 1}`), "a"]) + w.map((row, j) => line([...row, a[j]].map((value) => value * factor))).join("");
}

/** One row per kept state and neuron. */
export function runCsv(run) {
  const parts = [line(["t", "log_t", "loss", "neuron", "log_norm_w", "log_abs_a", "sign_a", ...Array.from({ length: run.d }, (_, i) => `u${i + 1}`)])];
  for (let k = 0; k < run.T; k++) for (let j = 0; j < run.m; j++) {
    const at = k * run.m + j;
    parts.push(line([run.t[k], run.logT[k], run.loss[k], j, run.logW[at], run.logA[at], run.signs[at], ...run.units.subarray(at * run.d, (at + 1) * run.d)]));
  }
  return parts.join("");
}
