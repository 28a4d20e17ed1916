// Changes to samples and neurons: moved, added, removed, relabelled. Each gives the new run and the new data at once.
// @ts-check
/** @import { Application } from "./app.js" */
/** @import { ChangeOptions, Data, Editing, Selection } from "./model.d.ts" */

/** The natural logarithm of a scale in decimals of any exponent. @param {string} text */
export function logOfScale(text) {
  const [mantissa, exponent] = text.toLowerCase().split("e");
  return Math.log(Number(mantissa)) + Number(exponent ?? 0) * Math.LN10;
}

/** A decimal of any exponent from its base-10 logarithm. @param {number} log10 */
export function scaleText(log10) {
  const whole = Math.floor(log10 + 1e-9), mantissa = Number((10 ** (log10 - whole)).toPrecision(2));
  if (mantissa >= 10) return `1e${whole + 1}`;
  return whole === 0 ? String(mantissa) : `${mantissa}e${whole}`;
}

const tidy = (/** @type {number} */ value) => Number(value.toPrecision(6));

/** @implements {Editing} */
export class Edits {
  /** @param {Application} app */
  constructor(app) { this.app = app; }

  /** What is changed: samples and neurons are edited once they are there. @returns {Data} */
  get data() {
    if (!this.app.localData) throw new Error("the data have not come yet");
    return this.app.localData;
  }

  /** New samples; from now on the data are given, not registered. @param {number[][]} X @param {number[]} y @param {ChangeOptions} options */
  setSamples(X, y, options = {}) {
    const { run } = this.app.state;
    const name = run.X === null ? `${run.name.split(":")[0]}, edited` : run.name;
    const isBinary = y.every((label) => Math.abs(label) === 1);
    const loss = isBinary || run.loss === "softmax" ? run.loss : "square";
    this.app.change({ name, X, y, bias: false, loss }, { ...options, data: { ...this.data, X, y } });
  }

  /** @param {number} k @param {number[]} x @param {ChangeOptions} [options] */
  moveSample(k, x, options) {
    const X = this.data.X.map((row, i) => (i === k ? x.map(tidy) : row));
    if (X[k].every((value) => value === 0) || X.some((row, i) => i !== k && row.every((value, c) => value === X[k][c]))) return;
    this.setSamples(X, this.data.y, options);
  }

  /** @param {number} k @param {number} label @param {ChangeOptions} [options] */
  relabel(k, label, options) { this.setSamples(this.data.X, this.data.y.map((old, i) => (i === k ? tidy(label) : old)), options); }
  /** The other label; of several classes the next one. @param {number} k */
  flip(k) { const { y, classes } = this.data; this.relabel(k, classes ? (y[k] + 1) % classes.length : -y[k]); }

  /** @param {number[]} x @param {number} label */
  addSample(x, label) {
    const { X, y } = this.data;
    if (X.length >= 500) return;
    this.setSamples([...X, x.map(tidy)], [...y, label]);
    this.app.select({ sample: X.length });
  }

  /** @param {number} k */
  removeSample(k) {
    if (this.data.X.length <= 1) { this.app.say("One sample must stay.", true); return; }
    this.app.select({});
    this.setSamples(this.data.X.filter((_, i) => i !== k), this.data.y.filter((_, i) => i !== k));
  }

  /** Take samples out of the training and show the loss on them; of each class, and of numbers, one stays. @param {number[]} which */
  holdOut(which) {
    const { X, y } = this.data, { held, run } = this.app.state, isClass = run.loss !== "square";
    /** @type {Set<number>} */
    const out = new Set();
    for (const k of which) if (y.some((label, i) => i !== k && !out.has(i) && (!isClass || label === y[k]))) out.add(k);
    if (!out.size) { this.app.say(`One sample${isClass ? " of each class" : ""} must stay.`, true); return; }
    this.app.select({});
    const [heldX, heldY] = [X.filter((_, k) => out.has(k)), y.filter((_, k) => out.has(k))];
    this.setSamples(X.filter((_, k) => !out.has(k)), y.filter((_, k) => !out.has(k)), { held: { X: [...(held?.X ?? []), ...heldX], y: [...(held?.y ?? []), ...heldY] } });
  }

  /** Train on what was held out too. */
  trainOnAll() {
    const { X, y } = this.data, { held } = this.app.state;
    if (held) this.setSamples([...X, ...held.X], [...y, ...held.y], { held: null });
  }

  /** Normal noise: on labels that are numbers, else on the samples. @param {number} share its standard deviation over the typical size of what it is added to */
  addNoise(share) {
    const { X, y } = this.data, { run } = this.app.state;
    const typical = (/** @type {number[]} */ values) => Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / values.length) || 1;
    const noise = (/** @type {number} */ size) => share * size * Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
    if (run.loss === "square" && y.some((label) => Math.abs(label) !== 1)) { this.setSamples(X, y.map((label) => tidy(label + noise(typical(y))))); return; }
    const isConstant = X[0].map((value, i) => X.length > 1 && X.every((row) => row[i] === value)); // a bias stays one
    const size = typical(X.map((row) => Math.hypot(...row.filter((_, i) => !isConstant[i]))));
    this.setSamples(X.map((row) => row.map((value, i) => (isConstant[i] ? value : tidy(value + noise(size / Math.sqrt(row.length)))))), y);
  }

  /** The neurons as rows (w, a), each to be multiplied by the scale. */
  neuronRows() {
    const { run } = this.app.state;
    if (run.neurons) return run.neurons.map((row) => [...row]);
    const factor = Math.exp(this.data.logScale - logOfScale(run.scale));
    return this.data.w.map((row, j) => [...row.map((value) => value * factor), this.data.a[j] * factor]);
  }

  canEditNeurons() {
    const { run } = this.app.state;
    if (run.width === "inf") { this.app.say("An infinitely wide network has no neuron to move; choose a finite width.", true); return false; }
    if (this.data.classes) { this.app.say("With several classes a neuron has several output weights; choose two classes to move neurons by hand.", true); return false; }
    if (this.data.w.length > 500) { this.app.say("Up to 500 neurons can be moved by hand; choose a smaller width.", true); return false; }
    return true;
  }

  /** @param {number[][]} rows @param {ChangeOptions} options */
  setNeurons(rows, options = {}) {
    const { run } = this.app.state;
    const data = { ...this.data, w: rows.map((row) => row.slice(0, -1)), a: rows.map((row) => row[row.length - 1]), logScale: logOfScale(run.scale) };
    this.app.change({ neurons: rows, width: rows.length }, { ...options, data });
  }

  /** @param {number} j @param {number[]} w @param {number} a @param {ChangeOptions} [options] */
  moveNeuron(j, w, a, options) { this.setNeurons(this.neuronRows().map((row, i) => (i === j ? [...w, a].map(tidy) : row)), options); }

  addNeuron() {
    if (!this.canEditNeurons()) return;
    const rows = this.neuronRows(), d = rows[0].length - 1;
    if (rows.length >= 500) return;
    const typical = rows.reduce((sum, row) => sum + Math.abs(row[d]), 0) / rows.length;
    const w = Array.from({ length: d }, (_, i) => tidy((i === 0 ? 1 : 0.3) * typical));
    this.setNeurons([...rows, [...w, tidy(Math.hypot(...w))]]);
    this.app.select({ neuron: rows.length });
  }

  /** @param {number} j */
  removeNeuron(j) {
    if (!this.canEditNeurons()) return;
    const rows = this.neuronRows();
    if (rows.length <= 1) { this.app.say("One neuron must stay.", true); return; }
    this.app.select({});
    this.setNeurons(rows.filter((_, i) => i !== j));
  }

  /** @param {Selection} selection */
  remove({ sample, neuron }) {
    if (sample !== null) this.removeSample(sample);
    else if (neuron !== null) this.removeNeuron(neuron);
  }
}
