// A run as the page holds it: frames, an axis of time, and the state at any moment without asking again.
// @ts-check
/** @import { RunAnswer, Shaped } from "./answers.d.ts" */
/** @import { NeuronStates, TimeAxis } from "./model.d.ts" */

/** @typedef {{t: number, logT: number}} Moment a time and its logarithm; beyond a double the time is infinite */

export const EVENT_WORDS = ["crossing", "slide", "release", "death", "ridge", "sign change of a"];
export const DEATH = 3;
export const SLIDE = 1;
const ON_WALL = 1e-6; // of a product of unit vectors in single precision
const ONE_OUTPUT = "a run with one output has no classes";

export class Run {
  /** @param {RunAnswer} message */
  constructor(message) {
    this.header = message;
    this.isRunning = message.outcome === "running"; // shown as far as it is known
    const arrays = message.arrays;
    this.t = arrays.t.data;
    this.logT = arrays.log_t.data;
    this.loss = arrays.frame_loss.data;
    this.change = arrays.change.data;
    this.units = arrays.units.data;
    this.logW = arrays.log_w.data;
    this.logA = arrays.log_a.data;
    this.signs = arrays.signs.data;
    this.weight = arrays.weight.data;
    /** Number of outputs; of several, the unit directions of their weights, and the output biases where there are any. */
    this.K = message.num_outputs ?? 1;
    this.outs = arrays.outs?.data ?? null;
    this.b = arrays.b?.data ?? null;
    const [T, m, d] = arrays.units.shape;
    this.T = T;
    this.m = m;
    this.d = d;
    this.records = { t: arrays.record_t.data, logT: arrays.record_log_t.data, loss: arrays.record_loss.data };
    this.events = {
      neuron: arrays.event_neuron.data, sample: arrays.event_sample.data, t: arrays.event_t.data, kind: arrays.event_kind.data,
    };
    this.leak = message.leak;
    this.predictions = arrays.predictions.data;
    this.tau = this.smallestTime();
    const [low, high] = this.sizeRange();
    this.lowW = low;
    this.highW = high;
    this.deathFrame = this.deaths();
  }

  /** The time below which the logarithmic axis is linear: a little of the first event, or of the first phase. */
  smallestTime() {
    const candidates = [], { time } = this.header;
    for (let k = 0; k < this.events.t.length && k < 50; k++) if (this.events.t[k] > 0) candidates.push(this.events.t[k]);
    for (const phase of this.header.phases) if (phase.end !== null && phase.end > 0) candidates.push(phase.end);
    if (time !== null && time > 0) candidates.push(time);
    return candidates.length ? Math.max(1e-300, 0.05 * Math.min(...candidates)) : 1e-3;
  }

  sizeRange() {
    let low = Infinity, high = -Infinity;
    for (const value of this.logW) if (Number.isFinite(value)) { if (value < low) low = value; if (value > high) high = value; }
    if (!(low < high)) { low -= 1; high = low + 2; }
    const start = Array.from(this.logW.subarray(0, this.m)).filter(Number.isFinite).sort((a, b) => a - b);
    const floor = start.length ? start[Math.floor(0.02 * start.length)] - 0.05 * (high - low) : low;
    return [Math.max(low, Math.min(floor, high - 1e-6)), high];
  }

  /** For each neuron the time of its death, or infinity. */
  deaths() {
    const when = new Float64Array(this.m).fill(Infinity);
    const { neuron, t, kind } = this.events;
    for (let k = 0; k < t.length; k++) if (neuron[k] >= 0) when[neuron[k]] = kind[k] === DEATH ? t[k] : Infinity;
    return when;
  }

  /**
   * Neurons of a ReLU network that respond to no sample from some kept state on are dead from there: nothing pulls
   * them. Events tell the deaths of a flow; a descent has none, and neurons that begin dead or end on a wall have none.
   */
  markDead(/** @type {number[][]} */ X) {
    if (this.isMarked) return;
    this.isMarked = true;
    const { m, d } = this, rows = X.map((x) => { const norm = Math.hypot(...x); return x.map((value) => value / norm); });
    for (let j = 0; j < m; j++) {
      let first = this.T;
      while (first > 0 && !rows.some((x) => x.reduce((sum, value, i) => sum + value * this.units[((first - 1) * m + j) * d + i], 0) > ON_WALL)) first--;
      if (first < this.T) this.deathFrame[j] = Math.min(this.deathFrame[j], this.t[first]);
    }
  }

  /** A time on the axis, in [0, 1]; times beyond a double come with their logarithm. @param {number} t @param {number} logT @param {TimeAxis} axis @returns {number} */
  axisOf(t, logT, axis) {
    if (axis === "linear") return Number.isFinite(this.t[this.T - 1]) ? t / (this.t[this.T - 1] || 1) : this.axisOf(t, logT, "log");
    const z = (Number.isFinite(t) ? Math.log(t) : logT) - Math.log(this.tau);
    const u = t === 0 ? 0 : z > 30 ? z : Math.log1p(Math.exp(z));
    const lastZ = this.logT[this.T - 1] - Math.log(this.tau);
    const last = lastZ > 30 ? lastZ : Math.log1p(Math.exp(lastZ));
    return last > 0 ? Math.min(1, u / last) : 0;
  }

  /** Frames on the axis: shape (T,), increasing from 0 to 1. @param {TimeAxis} axis */
  frameAxis(axis) {
    const known = this.cachedAxis;
    if (known && known.name === axis) return known.places;
    const places = Array.from({ length: this.T }, (_, k) =>
      axis === "change" ? this.change[k] / (this.change[this.T - 1] || 1) : this.axisOf(this.t[k], this.logT[k], axis));
    for (let k = 1; k < this.T; k++) places[k] = Math.max(places[k], places[k - 1]);
    this.cachedAxis = { name: axis, places };
    return places;
  }

  /** Any time on the axis; between frames of "change" by interpolation in the time. @param {number} t @param {number} logT @param {TimeAxis} axis */
  placeOf(t, logT, axis) {
    if (axis !== "change") return this.axisOf(t, logT, axis);
    const places = this.frameAxis("change");
    const z = Number.isFinite(t) ? (t > 0 ? Math.log(t) : -Infinity) : logT;
    let k = 0;
    while (k < this.T - 1 && this.logT[k + 1] < z) k++;
    if (k >= this.T - 1) return 1;
    const before = Math.max(this.logT[k], this.logT[k + 1] - 20);
    const share = z <= before ? 0 : (z - before) / Math.max(1e-12, this.logT[k + 1] - before);
    return places[k] + Math.min(1, share) * (places[k + 1] - places[k]);
  }

  /** The position among the frames (a number with a fraction) of a place on the axis. @param {number} place @param {TimeAxis} axis */
  positionOf(place, axis) {
    const places = this.frameAxis(axis);
    let low = 0, high = this.T - 1;
    while (high - low > 1) { const middle = (low + high) >> 1; if (places[middle] <= place) low = middle; else high = middle; }
    if (this.T === 1) return 0;
    const width = places[high] - places[low];
    return width > 0 ? low + Math.min(1, Math.max(0, (place - places[low]) / width)) : high;
  }

  /** @param {number} position @param {TimeAxis} axis */
  placeOfPosition(position, axis) {
    const places = this.frameAxis(axis);
    const k = Math.min(Math.floor(position), this.T - 2);
    if (this.T === 1) return 1;
    return places[k] + (position - k) * (places[k + 1] - places[k]);
  }

  /** When: interpolated in the logarithm of the time. @param {number} position @returns {Moment} */
  timeAt(position) {
    const k = Math.min(Math.floor(position), this.T - 1), next = Math.min(k + 1, this.T - 1), share = position - k;
    if (share < 1e-9) return { t: this.t[k], logT: this.logT[k] };
    if (k === 0 || !Number.isFinite(this.logT[k])) {
      const t = this.t[k] + share * (this.t[next] - this.t[k]);
      return { t, logT: Math.log(t) };
    }
    const logT = this.logT[k] + share * (this.logT[next] - this.logT[k]);
    return { t: Math.exp(logT), logT };
  }

  /** The place on the axis at which `timeAt` gives a time; the end, if it lies beyond. @param {Moment} moment @param {TimeAxis} axis */
  placeShowing(moment, axis) {
    const position = this.positionShowing(moment);
    return position >= this.T - 1 ? 1 : this.placeOfPosition(position, axis);
  }

  /** The position at which `timeAt` gives a time; the last, if it lies beyond. @param {Moment} moment */
  positionShowing({ t, logT }) {
    let k = 0;
    while (k < this.T - 1 && this.logT[k + 1] < logT) k++;
    if (k >= this.T - 1) return this.T - 1;
    const isFirst = k === 0 || !Number.isFinite(this.logT[k]);
    const [start, end, at] = isFirst ? [this.t[k], this.t[k + 1], t] : [this.logT[k], this.logT[k + 1], logT];
    const share = end > start ? Math.min(1, Math.max(0, (at - start) / (end - start))) : 0;
    return k + share;
  }

  /**
   * The neurons at a position: unit directions in `units`, ln|w|, ln|a|, signs. Kept states are drawn as they are;
   * between two of them directions and logarithms are interpolated, for the picture only.
   * @param {number} position @returns {NeuronStates & {frame: number}}
   */
  stateAt(position) {
    const { m, d } = this;
    const k = Math.min(Math.floor(position), this.T - 1), next = Math.min(k + 1, this.T - 1), share = position - k;
    if (share < 1e-9 || next === k) {
      return {
        frame: k, units: this.units.subarray(k * m * d, (k + 1) * m * d), logW: this.logW.subarray(k * m, (k + 1) * m),
        logA: this.logA.subarray(k * m, (k + 1) * m), signs: this.signs.subarray(k * m, (k + 1) * m), ...this.outsAt(k, k, 0),
      };
    }
    if (!this.buffer) this.buffer = { units: new Float32Array(m * d), logW: new Float32Array(m), logA: new Float32Array(m) };
    const { units, logW, logA } = this.buffer;
    const one = k * m, two = next * m;
    for (let j = 0; j < m; j++) {
      logW[j] = this.logW[one + j] + share * (this.logW[two + j] - this.logW[one + j]);
      logA[j] = this.logA[one + j] + share * (this.logA[two + j] - this.logA[one + j]);
      let square = 0;
      for (let i = 0; i < d; i++) {
        const value = this.units[(one + j) * d + i] * (1 - share) + this.units[(two + j) * d + i] * share;
        units[j * d + i] = value;
        square += value * value;
      }
      const norm = Math.sqrt(square) || 1;
      for (let i = 0; i < d; i++) units[j * d + i] /= norm;
    }
    return { frame: k, units, logW, logA, signs: this.signs.subarray((share < 0.5 ? k : next) * m, ((share < 0.5 ? k : next) + 1) * m), ...this.outsAt(k, next, share) };
  }

  /** What `outputsBetween` gives of several outputs; nothing of one. @param {number} one @param {number} two @param {number} share */
  outsAt(one, two, share) { return this.K > 1 ? this.outputsBetween(one, two, share) : {}; }

  /**
   * Directions of the output weights between two frames, and the class each neuron speaks for most.
   * @param {number} one @param {number} two @param {number} share
   */
  outputsBetween(one, two, share) {
    if (!this.outs) throw new Error(ONE_OUTPUT);
    const size = this.m * this.K, outs = new Float32Array(size);
    for (let i = 0; i < size; i++) outs[i] = (1 - share) * this.outs[one * size + i] + share * this.outs[two * size + i];
    const classOf = (/** @type {number} */ j) => {
      let best = 0;
      for (let c = 1; c < this.K; c++) if (outs[j * this.K + c] > outs[j * this.K + best]) best = c;
      return best;
    };
    return { outs, classOf };
  }

  /** The class each neuron speaks for most in a kept state. @param {number} frame */
  classesIn(frame) { return this.outputsBetween(frame, frame, 0).classOf; }

  /** The outputs of each class at points, shape (count, K). @param {number} position @param {Shaped<Float64Array>} points */
  classOutputsAt(position, points) {
    const state = this.stateAt(position), { outs } = state, { m, d, K } = this, [count] = points.shape, x = points.data;
    const result = new Float32Array(count * K), at = Math.min(this.T - 1, Math.round(position)) * K;
    if (!outs) throw new Error(ONE_OUTPUT);
    if (this.b) for (let p = 0; p < count; p++) for (let c = 0; c < K; c++) result[p * K + c] = this.b[at + c];
    let heaviest = -Infinity;
    for (let j = 0; j < m; j++) heaviest = Math.max(heaviest, state.logW[j] + state.logA[j]);
    for (let j = 0; j < m; j++) {
      const size = state.logW[j] + state.logA[j];
      if (!(size > heaviest - 16)) continue;
      const factor = this.weight[j] * Math.exp(size);
      for (let p = 0; p < count; p++) {
        let z = 0;
        for (let i = 0; i < d; i++) z += state.units[j * d + i] * x[p * d + i];
        z = factor * (z > 0 ? z : this.leak * z);
        for (let c = 0; c < K; c++) result[p * K + c] += z * outs[j * K + c];
      }
    }
    return result;
  }

  /** h at points (each of length d) at a position; light neurons are left out where they cannot be seen. @param {number} position @param {Shaped<Float64Array>} points */
  outputsAt(position, points) {
    const state = this.stateAt(position), { m, d } = this;
    const [count] = points.shape, x = points.data;
    const result = new Float32Array(count);
    if (this.b) result.fill(this.b[Math.min(this.T - 1, Math.round(position))]);
    let heaviest = -Infinity;
    for (let j = 0; j < m; j++) heaviest = Math.max(heaviest, state.logW[j] + state.logA[j]);
    for (let j = 0; j < m; j++) {
      const size = state.logW[j] + state.logA[j];
      if (!(size > heaviest - 16)) continue;
      const factor = this.weight[j] * state.signs[j] * Math.exp(size);
      if (d === 2) { // the plane, a quarter of the time without the inner loop
        const u = state.units[2 * j], v = state.units[2 * j + 1];
        for (let p = 0; p < count; p++) {
          const z = u * x[2 * p] + v * x[2 * p + 1];
          result[p] += factor * (z > 0 ? z : this.leak * z);
        }
        continue;
      }
      for (let p = 0; p < count; p++) {
        let z = 0;
        for (let i = 0; i < d; i++) z += state.units[j * d + i] * x[p * d + i];
        result[p] += factor * (z > 0 ? z : this.leak * z);
      }
    }
    return result;
  }
}
