// The state of the page: a run, an optional second run, and where one looks. It is what the address holds after #.
// @ts-check
import { TWO_VECTORS } from "./planes.js";
/** @import { LossAxis, RunState, SecondRun, State, TimeAxis, View } from "./model.d.ts" */

export const VERSION = 1;
const LOSSES = ["square", "logistic", "exponential", "softmax"];
/** @type {TimeAxis[]} */
const AXES = ["log", "change", "linear"];
/** @type {LossAxis[]} */
const LOSS_AXES = ["log", "linear"];
/** @type {View} */
export const EMPTY_VIEW = { at: 1, neuron: null, axis: "log", loss: "log", plane: "auto", scene: null };

/** Where a field is not given, this holds; the server's own defaults replace it at the first hello. @type {RunState} */
export let DEFAULT_RUN = {
  name: "three-points", X: null, y: null, bias: false, loss: "square", reduction: "mean", factor: 1, leak: 0,
  width: 60, scale: "1e-3", init: "balanced", seed: 0, neurons: null, method: "flow", lr: 0.01, iterations: 20000,
};
/** @param {RunState} defaults */
export function setDefaultRun(defaults) { DEFAULT_RUN = { ...defaults }; }

/** @returns {State} */
export function emptyState() { return { version: VERSION, run: { ...DEFAULT_RUN }, ghost: null, held: null, view: { ...EMPTY_VIEW } }; }

/** @param {unknown} x @returns {x is number} */
const isNumber = (x) => typeof x === "number" && Number.isFinite(x) && Math.abs(x) <= 1e6;
/** @param {unknown} rows @param {number} most @returns {rows is number[][]} */
const isTable = (rows, most) =>
  Array.isArray(rows) && rows.length >= 1 && rows.length <= most &&
  rows.every((row) => Array.isArray(row) && row.length === rows[0].length && row.length >= 1 && row.every(isNumber));

/** @param {unknown} v @param {number} least @param {number} most @returns {v is number} */
const isWhole = (v, least, most) => typeof v === "number" && Number.isInteger(v) && v >= least && v <= most;

/** One test per field of a run: what it must be, in words, and whether it is. @type {Record<keyof RunState, [string, (v: unknown) => boolean]>} */
const RUN_FIELDS = {
  name: ["a name of at most 200 characters", (v) => typeof v === "string" && v.length >= 1 && v.length <= 200],
  X: ["rows of numbers", (v) => v === null || isTable(v, 500)],
  y: ["a list of numbers", (v) => v === null || (Array.isArray(v) && v.length >= 1 && v.length <= 500 && v.every(isNumber))],
  bias: ["true or false", (v) => typeof v === "boolean"],
  loss: [LOSSES.join(", "), (v) => typeof v === "string" && LOSSES.includes(v)],
  reduction: ["mean or sum", (v) => v === "mean" || v === "sum"],
  factor: ["a positive number", (v) => isNumber(v) && v >= 1e-6],
  leak: ["a number in [0, 1]", (v) => isNumber(v) && v >= 0 && v <= 1],
  width: ["a whole number up to 5000, or inf", (v) => v === "inf" || isWhole(v, 1, 5000)],
  scale: ["a positive decimal such as 1e-3", (v) => typeof v === "string" && /^[0-9]*\.?[0-9]+([eE][+-]?[0-9]{1,5})?$/.test(v)],
  init: ["the name of an initialisation", (v) => typeof v === "string" && /^[a-z-]{1,40}$/.test(v)],
  seed: ["a whole number", (v) => isWhole(v, 0, 4294967295)],
  neurons: ["rows of (w, a)", (v) => v === null || (isTable(v, 500) && v[0].length >= 2)],
  method: ["flow or gd", (v) => v === "flow" || v === "gd"],
  lr: ["a positive number", (v) => isNumber(v) && v >= 1e-8 && v <= 1e3],
  iterations: ["a whole number up to 2000000", (v) => isWhole(v, 1, 2000000)],
};
const GHOST_FIELDS = /** @type {const} */ (["scale", "seed", "method", "lr", "iterations", "width", "leak", "init", "loss"]);

/** @param {string} key @returns {key is keyof RunState} */
const isField = (key) => key in RUN_FIELDS;

/** A state checked field by field; throws one sentence that says what is wrong. @param {unknown} given */
export function checkedState(given) {
  if (typeof given !== "object" || given === null) throw new Error("`state` must be an object.");
  const state = /** @type {{version?: unknown, run?: object, ghost?: object | null, held?: {X?: unknown, y?: unknown} | null, view?: Partial<Record<keyof View, unknown>>}} */ (given);
  if (state.version !== undefined && state.version !== VERSION) {
    throw new Error(`\`version\` must be ${VERSION}, got ${String(state.version).slice(0, 20)}; this link is of another version.`);
  }
  const result = emptyState();
  for (const [key, value] of Object.entries(state.run || {})) {
    if (!isField(key)) throw new Error(`\`${key.slice(0, 30)}\` is not a field of a run.`);
    Object.assign(result.run, checkedField(key, value));
  }
  const { X, y } = result.run;
  if ((X === null) !== (y === null)) throw new Error("`X` and `y` must be given together.");
  if (X?.length !== y?.length) throw new Error("`y` must hold one label for each sample.");
  if (state.ghost) {
    /** @type {SecondRun} */
    const ghost = {};
    for (const [name, value] of Object.entries(state.ghost)) {
      const key = GHOST_FIELDS.find((field) => field === name);
      if (!key) throw new Error(`\`${name.slice(0, 30)}\` is not a field of the second run.`);
      Object.assign(ghost, checkedField(key, value));
    }
    result.ghost = ghost;
  }
  if (state.held) {
    const { X: rows, y: labels } = state.held, d = X ? X[0].length + Number(result.run.bias) : NaN;
    if (!(isTable(rows, 500) && Array.isArray(labels) && labels.every(isNumber) && labels.length === rows.length)) throw new Error("`held` must hold rows of numbers and one label for each.");
    if (rows[0].length !== d) throw new Error("`held` must have as many coordinates as the samples of the link.");
    result.held = { X: rows, y: labels };
  }
  const view = state.view || {};
  if (view.at !== undefined) {
    if (!(isNumber(view.at) && view.at >= 0 && view.at <= 1)) throw new Error("`at` must lie in [0, 1].");
    result.view.at = view.at;
  }
  if (view.axis !== undefined) {
    const axis = AXES.find((one) => one === view.axis);
    if (!axis) throw new Error(`\`axis\` must be one of ${AXES.join(", ")}.`);
    result.view.axis = axis;
  }
  if (view.loss !== undefined) {
    const loss = LOSS_AXES.find((one) => one === view.loss);
    if (!loss) throw new Error(`\`loss\` of a view must be one of ${LOSS_AXES.join(", ")}.`);
    result.view.loss = loss;
  }
  if (view.neuron !== undefined && view.neuron !== null) {
    if (!isWhole(view.neuron, 0, 4999)) throw new Error("`neuron` must be a whole number.");
    result.view.neuron = view.neuron;
  }
  if (view.plane !== undefined) {
    if (typeof view.plane !== "string" || (!/^(auto|principal|sphere)$/.test(view.plane) && !TWO_VECTORS.test(view.plane))) throw new Error("`plane` must be auto, principal, sphere, samples-i-j, extremal-i-j or extremal-i-sample-j.");
    result.view.plane = view.plane;
  }
  if (view.scene !== undefined && view.scene !== null) {
    if (!isWhole(view.scene, 0, 6)) throw new Error("`scene` must be a number from 0 to 6.");
    result.view.scene = view.scene;
  }
  return result;
}

/** @param {keyof RunState} key @param {unknown} value @returns {Partial<RunState>} */
function checkedField(key, value) {
  const [words, test] = RUN_FIELDS[key];
  if (!test(value)) throw new Error(`\`${key}\` must be ${words}, got ${JSON.stringify(value)?.slice(0, 40)}.`);
  return { [key]: value };
}

const rowsToText = (/** @type {number[][]} */ rows) => rows.map((row) => row.join(",")).join(";");
const textToRows = (/** @type {string} */ text) => text.split(";").map((row) => row.split(",").map(toNumber));
/** @param {string} text */
function toNumber(text) {
  if (!/^-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text)) throw new Error(`a number must be a decimal, got ${text.slice(0, 30)}.`);
  return Number(text);
}

/** The address' part after #, with every digit; fields at their defaults are left out. @param {State} state */
export function encodeState(state) {
  const words = new URLSearchParams({ v: String(VERSION) });
  /** @param {string} prefix @param {object} fields @param {object} [usual] what is left out */
  const put = (prefix, fields, usual = {}) => {
    const known = new Map(Object.entries(usual));
    for (const [key, value] of Object.entries(fields)) {
      if (value === null || (value === known.get(key) && key !== "name")) continue;
      if (key === "X" || key === "neurons") words.set(prefix + key, rowsToText(value));
      else if (key === "y") words.set(prefix + key, value.join(","));
      else words.set(prefix + key, String(value));
    }
  };
  put("", state.run, DEFAULT_RUN);
  if (state.ghost) put("ghost.", state.ghost);
  if (state.held) put("held.", state.held);
  put("view.", state.view, EMPTY_VIEW);
  return words.toString().replaceAll("%2C", ",").replaceAll("%3B", ";").replaceAll("%3A", ":");
}

/** From the part after # to a checked state; throws one sentence. @param {string} fragment */
export function decodeState(fragment) {
  const words = new URLSearchParams(fragment.replace(/^#/, ""));
  if (!words.has("v")) throw new Error("a link must say its version (v=1).");
  /** @type {{run: Record<string, unknown>, view: Record<string, unknown>, ghost: Record<string, unknown> | null, held: Record<string, unknown> | null}} */
  const state = { run: {}, ghost: null, held: null, view: {} };
  for (const [name, text] of words) {
    if (name === "v") continue;
    const [group, key] = name.startsWith("ghost.") ? [state.ghost ??= {}, name.slice(6)] : name.startsWith("held.") ? [state.held ??= {}, name.slice(5)] : name.startsWith("view.") ? [state.view, name.slice(5)] : [state.run, name];
    group[key] = read(key, text);
  }
  return checkedState({ ...state, version: Number(words.get("v")) });
}

/** @param {string} key @param {string} text */
function read(key, text) {
  if (key === "X" || key === "neurons") return textToRows(text);
  if (key === "y") return text.split(",").map(toNumber);
  if (key === "bias") return text === "true" ? true : text === "false" ? false : text;
  if (["factor", "leak", "seed", "lr", "iterations", "at", "neuron", "scene"].includes(key)) return toNumber(text);
  if (key === "width") return text === "inf" ? "inf" : toNumber(text);
  return text;
}
