// Dragging where there is no server: cones, arrows, basins and the forecast follow; the run stays that of the data it was made of.
// @ts-check
import { planarGeometry } from "./planar.js";
/** @import { ChangeOptions, Data, Draggable, Editing, Found, Model } from "./model.d.ts" */
/** @import { Run } from "./run.js" */
/** @import { Viewer } from "./viewer.js" */

const ABSENT = "The run was made of other samples and neurons.";

/**
 * What `Dragging` needs of an application and of its edits, over the model of a saved run.
 * @implements {Draggable} @implements {Editing}
 */
export class SavedEdits {
  /**
   * @param {Viewer} viewer @param {Model} model @param {Run} run that was saved
   * @param {number[] | null} forces of the labels; null where nothing can be worked out here
   * @param {() => void} onChange called when something was chosen, moved or put back
   */
  constructor(viewer, model, run, forces, onChange) {
    this.viewer = viewer;
    this.model = model;
    this.forces = forces;
    this.onChange = onChange;
    /** The run and the data it was made of. */
    this.made = { data: model.data, geometry: model.geometry, run };
    this.isEdited = false;
    /** Nothing is added here. @type {number | null} */
    this.adding = null;
    const log10 = model.data.logScale / Math.LN10, whole = Math.floor(log10);
    const isBinary = model.data.y.every((label) => Math.abs(label) === 1);
    this.state = { run: { loss: isBinary ? "binary" : "square", scale: `${10 ** (log10 - whole)}e${whole}` } };
    /** The force of a label 1 where forces are proportional to labels, as under every registered loss; else null. */
    this.slope = forces ? slopeOf(model.data.y, forces) : null;
  }

  get localData() { return this.model.data; }

  get selection() { return this.model.selection; }

  /** @param {Found} found */
  select(found) {
    Object.assign(this.model.selection, { sample: null, neuron: null }, found);
    this.viewer.show(this.model);
    this.onChange();
  }

  /** One let go. */
  change() {
    this.model.isDragging = false;
    this.viewer.show(this.model);
    this.onChange();
  }

  /** Show data that were moved here: no run is known of them. @param {Partial<Data>} changes @param {ChangeOptions} options */
  show(changes, { isDragging = false } = {}) {
    if (!this.forces) return;
    this.isEdited = true;
    const data = { ...this.model.data, ...changes }, geometry = planarGeometry(data.X, this.forces, this.model.leak);
    Object.assign(this.model, { data, geometry, extremal: geometry.extremal, run: null, absent: ABSENT, isDragging });
    this.viewer.pause();
    this.viewer.show(this.model);
    this.onChange();
  }

  /** The run again, and the data it was made of. */
  putBack() {
    this.isEdited = false;
    const { slope } = this;
    if (slope !== null) this.forces = this.made.data.y.map((label) => slope * label);
    Object.assign(this.model, this.made, { extremal: this.made.geometry?.extremal ?? [] });
    this.viewer.show(this.model);
    this.onChange();
  }

  /** @param {number} k @param {number[]} x @param {ChangeOptions} [options] */
  moveSample(k, x, options) {
    const X = this.model.data.X.map((row, i) => (i === k ? x : row));
    this.setSamples(X, this.model.data.y, options);
  }

  /** @param {number} k @param {number} label @param {ChangeOptions} [options] */
  relabel(k, label, options) {
    this.setSamples(this.model.data.X, this.model.data.y.map((old, i) => (i === k ? label : old)), options);
  }

  /** @param {number} k */
  flip(k) { this.relabel(k, -this.model.data.y[k]); }

  /** @param {number[][]} X @param {number[]} y @param {ChangeOptions} [options] */
  setSamples(X, y, options) {
    if (X.some((x) => x.every((value) => value === 0))) return;
    const isRelabelled = y.some((label, k) => label !== this.model.data.y[k]);
    if (isRelabelled && this.slope === null) return;
    if (isRelabelled) this.forces = y.map((label) => /** @type {number} */ (this.slope) * label);
    this.show({ X, y }, options);
  }

  canEditNeurons() { return this.forces !== null; }

  /** Neurons as rows (w, a), in units of the scale. */
  neuronRows() { return this.model.data.w.map((row, j) => [...row, this.model.data.a[j]]); }

  /** @param {number} j @param {number[]} w @param {number} a @param {ChangeOptions} [options] */
  moveNeuron(j, w, a, options) {
    const { data } = this.model;
    this.show({ w: data.w.with(j, w), a: data.a.with(j, a) }, options);
  }

  /** Samples and neurons are moved here; how many there are belongs to the run. */
  addSample() {}

  remove() {}
}

/** The factor between labels and forces if there is one. @param {number[]} y @param {number[]} forces */
function slopeOf(y, forces) {
  const k = y.findIndex((label) => label !== 0);
  if (k < 0) return null;
  const slope = forces[k] / y[k], size = Math.max(...forces.map(Math.abs));
  return y.every((label, i) => Math.abs(forces[i] - slope * label) <= 1e-12 * size) ? slope : null;
}
