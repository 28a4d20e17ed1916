// The state of the page: a run, an optional second run, and where one looks. It is what the address holds after #.
// @ts-check
import { TWO_VECTORS } from "./planes.js";

export const VERSION = 1;
const LOSSES = ["square", "logistic", "exponential", "softmax"];
const AXES = ["log", "change", "linear"];
const LOSS_AXES = ["log", "linear"];
export const EMPTY_VIEW = { at: 1, neuron: null, axis: "log", loss: "log", plane: "auto", scene: null };

/** Where a field is not given, this holds; the server's own defaults replace it at the first hello. */
export let DEFAULT_RUN = {
  name: "three-points", X: null, y: null, bias: false, loss: "square", reduction: "mean", factor: 1, leak: 0,
  width: 60, scale: "1e-3", init: "balanced", seed: 0, neurons: null, method: "flow", lr: 0.01, iterations: 20000,
};
export function setDefaultRun(defaults) { DEFAULT_RUN = { ...defaults }; }

/** @returns {{version: number, run: Record<string, any>, ghost: Record<string, any> | null, view: Record<string, any>}} */
export function emptyState() { return { version: VERSION, run: { ...DEFAULT_RUN }, ghost: null, view: { ...EMPTY_VIEW } }; }

const isNumber = (x) => typeof x === "number" && Number.isFinite(x) && Math.abs(x) <= 1e6;
const isTable = (rows, most) =>
  Array.isArray(rows) && rows.length >= 1 && rows.length <= most &&
  rows.every((row) => Array.isArray(row) && row.length === rows[0].length && row.length >= 1 && row.every(isNumber));

/** One test per field of a run: what it must be, in words, and whether it is. */
const RUN_FIELDS = {
  name: ["a name of at most 200 characters", (v) => typeof v === "string" && v.length >= 1 && v.length <= 200],
  X: ["rows of numbers", (v) => v === null || isTable(v, 500)],
  y: ["a list of numbers", (v) => v === null || (Array.isArray(v) && v.length >= 1 && v.length <= 500 && v.every(isNumber))],
  bias: ["true or false", (v) => typeof v === "boolean"],
  loss: [LOSSES.join(", "), (v) => LOSSES.includes(v)],
  reduction: ["mean or sum", (v) => v === "mean" || v === "sum"],
  factor: ["a positive number", (v) => isNumber(v) && v >= 1e-6],
  leak: ["a number in [0, 1]", (v) => isNumber(v) && v >= 0 && v <= 1],
  width: ["a whole number up to 5000, or inf", (v) => v === "inf" || (Number.isInteger(v) && v >= 1 && v <= 5000)],
  scale: ["a positive decimal such as 1e-3", (v) => typeof v === "string" && /^[0-9]*\.?[0-9]+([eE][+-]?[0-9]{1,5})?$/.test(v)],
  init: ["the name of an initialisation", (v) => typeof v === "string" && /^[a-z-]{1,40}$/.test(v)],
  seed: ["a whole number", (v) => Number.isInteger(v) && v >= 0 && v <= 4294967295],
  neurons: ["rows of (w, a)", (v) => v === null || (isTable(v, 500) && v[0].length >= 2)],
  method: ["flow or gd", (v) => v === "flow" || v === "gd"],
  lr: ["a positive number", (v) => isNumber(v) && v >= 1e-8 && v <= 1e3],
  iterations: ["a whole number up to 2000000", (v) => Number.isInteger(v) && v >= 1 && v <= 2000000],
};
const GHOST_FIELDS = ["scale", "seed", "method", "lr", "iterations", "width", "leak", "init", "loss"];

/** A state checked field by field; throws one sentence that says what is wrong. */
export function checkedState(state) {
  if (typeof state !== "object" || state === null) throw new Error("`state` must be an object.");
  if (state.version !== undefined && state.version !== VERSION) {
    throw new Error(`\`version\` must be ${VERSION}, got ${String(state.version).slice(0, 20)}; this link is of another version.`);
  }
  const result = emptyState();
  for (const [key, value] of Object.entries(state.run || {})) {
    if (!(key in RUN_FIELDS)) throw new Error(`\`${key.slice(0, 30)}\` is not a field of a run.`);
    result.run[key] = checkedField(key, value);
  }
  if ((result.run.X === null) !== (result.run.y === null)) throw new Error("`X` and `y` must be given together.");
  if (result.run.X && result.run.X.length !== result.run.y.length) throw new Error("`y` must hold one label for each sample.");
  if (state.ghost) {
    result.ghost = {};
    for (const [key, value] of Object.entries(state.ghost)) {
      if (!GHOST_FIELDS.includes(key)) throw new Error(`\`${key.slice(0, 30)}\` is not a field of the second run.`);
      result.ghost[key] = checkedField(key, value);
    }
  }
  const view = state.view || {};
  if (view.at !== undefined) {
    if (!(isNumber(view.at) && view.at >= 0 && view.at <= 1)) throw new Error("`at` must lie in [0, 1].");
    result.view.at = view.at;
  }
  if (view.axis !== undefined) {
    if (!AXES.includes(view.axis)) throw new Error(`\`axis\` must be one of ${AXES.join(", ")}.`);
    result.view.axis = view.axis;
  }
  if (view.loss !== undefined) {
    if (!LOSS_AXES.includes(view.loss)) throw new Error(`\`loss\` of a view must be one of ${LOSS_AXES.join(", ")}.`);
    result.view.loss = view.loss;
  }
  if (view.neuron !== undefined && view.neuron !== null) {
    if (!(Number.isInteger(view.neuron) && view.neuron >= 0 && view.neuron < 5000)) throw new Error("`neuron` must be a whole number.");
    result.view.neuron = view.neuron;
  }
  if (view.plane !== undefined) {
    if (!/^(auto|principal|sphere)$/.test(view.plane) && !TWO_VECTORS.test(view.plane)) throw new Error("`plane` must be auto, principal, sphere, samples-i-j, extremal-i-j or extremal-i-sample-j.");
    result.view.plane = view.plane;
  }
  if (view.scene !== undefined && view.scene !== null) {
    if (!(Number.isInteger(view.scene) && view.scene >= 0 && view.scene < 7)) throw new Error("`scene` must be a number from 0 to 6.");
    result.view.scene = view.scene;
  }
  return result;
}

function checkedField(key, value) {
  const [words, test] = RUN_FIELDS[key];
  if (!test(value)) throw new Error(`\`${key}\` must be ${words}, got ${JSON.stringify(value)?.slice(0, 40)}.`);
  return value;
}

const rowsToText = (rows) => rows.map((row) => row.join(",")).join(";");
const textToRows = (text) => text.split(";").map((row) => row.split(",").map(toNumber));
function toNumber(text) {
  if (!/^-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text)) throw new Error(`a number must be a decimal, got ${text.slice(0, 30)}.`);
  return Number(text);
}

/** The address' part after #, with every digit; fields at their defaults are left out. */
export function encodeState(state) {
  const words = new URLSearchParams({ v: String(VERSION) });
  const put = (prefix, fields) => {
    for (const [key, value] of Object.entries(fields)) {
      if (value === null) continue;
      if (key === "X" || key === "neurons") words.set(prefix + key, rowsToText(value));
      else if (key === "y") words.set(prefix + key, value.join(","));
      else words.set(prefix + key, String(value));
    }
  };
  put("", Object.fromEntries(Object.entries(state.run).filter(([key, value]) => value !== DEFAULT_RUN[key] || key === "name")));
  if (state.ghost) put("ghost.", state.ghost);
  put("view.", Object.fromEntries(Object.entries(state.view).filter(([key, value]) => value !== EMPTY_VIEW[key])));
  return words.toString().replaceAll("%2C", ",").replaceAll("%3B", ";").replaceAll("%3A", ":");
}

/** From the part after # to a checked state; throws one sentence. */
export function decodeState(fragment) {
  const words = new URLSearchParams(fragment.replace(/^#/, ""));
  if (!words.has("v")) throw new Error("a link must say its version (v=1).");
  /** @type {Record<string, any>} */
  const state = { version: Number(words.get("v")), run: {}, ghost: null, view: {} };
  for (const [name, text] of words) {
    if (name === "v") continue;
    const [group, key] = name.startsWith("ghost.") ? ["ghost", name.slice(6)] : name.startsWith("view.") ? ["view", name.slice(5)] : ["run", name];
    if (group === "ghost" && !state.ghost) state.ghost = {};
    state[group][key] = read(key, text);
  }
  return checkedState(state);
}

function read(key, text) {
  if (key === "X" || key === "neurons") return textToRows(text);
  if (key === "y") return text.split(",").map(toNumber);
  if (key === "bias") return text === "true" ? true : text === "false" ? false : text;
  if (["factor", "leak", "seed", "lr", "iterations", "at", "neuron", "scene"].includes(key)) return toNumber(text);
  if (key === "width") return text === "inf" ? "inf" : toNumber(text);
  return text;
}
