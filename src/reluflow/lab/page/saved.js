// A run without a server: in a notebook, and as a saved page with what is said of it.
// @ts-check
import { Dragging } from "./drag.js";
import { element, shown, shownTime, table } from "./dom.js";
import { explained } from "./explanations.js";
import { forecastWords } from "./forecast.js";
import { planarForecast, planarGeometry } from "./planar.js";
import { EVENT_WORDS, Run } from "./run.js";
import { SavedEdits } from "./saved_edits.js";
import { Viewer } from "./viewer.js";
import { whyOf } from "./why.js";
import { decodeFrame, rowsOf } from "./wire.js";
/** @import { Limit } from "./answers.d.ts" */
/** @import { Data, HeldOut, Model, PlanarGeometry, Selection, View } from "./model.d.ts" */

const MOST_EVENTS = 300;

/**
 * Show a run given as two frames.
 * @param {HTMLElement} root @param {ArrayBuffer[]} buffers of the data and of the run
 * @param {(model: Model, edits: SavedEdits) => void} onSelect called when a neuron or a sample was chosen or moved
 * @param {HeldOut | null} held samples that it was not trained on
 */
export function showRun(root, buffers, onSelect = () => {}, place = 1, held = null) {
  const [head, runHead] = buffers.map(decodeFrame);
  if (head.what !== "data" || runHead.what !== "run") throw new Error("a saved page holds the data and the run");
  const { arrays } = head;
  /** @type {Data} */
  const data = {
    X: rowsOf(arrays.X), y: Array.from(arrays.y.data), w: rowsOf(arrays.w), a: Array.from(arrays.a.data),
    v: arrays.v ? rowsOf(arrays.v) : null, classes: head.classes ?? null, logScale: head.log_scale,
  };
  const isPlanar = data.X[0].length === 2 && data.X.every((x) => x[0] !== 0 || x[1] !== 0);
  const forces = isPlanar && arrays.forces ? Array.from(arrays.forces.data) : null;
  const geometry = forces ? planarGeometry(data.X, forces, runHead.leak) : null;
  /** @type {View} */
  const view = { at: place, axis: place === 1 ? "log" : "change", loss: "log", plane: "auto", neuron: null, scene: null };
  /** @type {Selection} */
  const selection = { sample: null, neuron: null };
  const run = new Run(runHead);
  /** @type {Model} */
  const model = { data, geometry, extremal: geometry ? geometry.extremal : [], run, ghost: null, held, view, selection, leak: runHead.leak };
  const viewer = new Viewer(root, {
    onAxis: (axis) => {
      view.at = run.placeOfPosition(viewer.position, axis);
      view.axis = axis;
      viewer.show(model);
    },
    onLossAxis: (loss) => {
      view.loss = loss;
      viewer.show(model);
    },
  });
  const edits = new SavedEdits(viewer, model, run, forces, () => onSelect(model, edits));
  new Dragging(edits, viewer, edits);
  viewer.show(model);
  return { viewer, model, edits };
}

/** The whole saved page, from what stands in it. */
export function showSavedPage() {
  const find = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
  const bytes = (/** @type {string} */ id) => Uint8Array.from(atob(find(id).textContent ?? ""), (letter) => letter.charCodeAt(0)).buffer;
  document.body.classList.toggle("is-embedded", window.self !== window.top);
  const limit = JSON.parse(find("limit").textContent ?? "null"), says = find("says");
  const write = (/** @type {Model} */ model, /** @type {SavedEdits} */ edits) => says.replaceChildren(...(edits.isEdited ? sayingsOfEdits(model, edits) : sayings(model, limit)));
  const { viewer, model, edits } = showRun(find("viewer"), [bytes("data"), bytes("run")], write, 0, JSON.parse(find("held").textContent ?? "null"));
  write(model, edits);
  document.addEventListener("keydown", (event) => {
    if (/^(input|select|button|summary)$/i.test(/** @type {HTMLElement} */ (event.target).tagName)) return;
    if (event.key === " ") { viewer.togglePlay(); event.preventDefault(); }
  });
  Object.defineProperty(window, "reluflow", { value: Object.freeze({
    run: () => (model.run ? { T: model.run.T, m: model.run.m, loss: model.run.header.loss, events: model.run.events.t.length } : null),
    extremal: () => JSON.parse(JSON.stringify(model.extremal)),
    data: () => JSON.parse(JSON.stringify({ X: model.data.X, y: model.data.y, w: model.data.w, a: model.data.a })),
    sample: (/** @type {number} */ k) => viewer.plane.samplePoint(k),
    held: () => viewer.plane.heldPoints(), plot: (/** @type {number} */ k) => viewer.function.samplePoint(k),
    at: () => viewer.position, scrub: (/** @type {number} */ place) => viewer.scrub(place),
    neuron: (/** @type {number} */ j) => viewer.plane.neuronPoint(j, viewer.displayed()),
  }) });
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  new IntersectionObserver((changes, observer) => { // within another page the run would be over before one comes to it
    if (!changes.some((change) => change.isIntersecting)) return;
    observer.disconnect();
    viewer.play(1);
  }, { threshold: 0.5 }).observe(viewer.planeCanvas);
}

/** What is said of a run: why of the neuron chosen, phases, end, events. */
function sayings(/** @type {Model} */ model, /** @type {Limit | null} */ limit) {
  const { run, selection, geometry } = model;
  /** @type {HTMLElement[]} */
  const nodes = [];
  const heading = (/** @type {string} */ words) => nodes.push(element("h2", {}, words));
  if (selection.neuron !== null) {
    heading(`Neuron ${selection.neuron + 1}`);
    nodes.push(...whyOf(model, selection.neuron).map((sentence) => element("p", {}, sentence)));
  } else nodes.push(element("p", {}, `Click a neuron to read why it went where it went; point at anything to read its name.${model.geometry ? " Drag a sample or a neuron: cones, arrows and rings follow." : ""}`));
  if (!run) return nodes;
  if (geometry) nodes.push(element("p", {}, forecastOf(model.data, geometry, run.weight)));
  const { header } = run;
  heading("The run");
  nodes.push(element("p", {}, `${header.sentence} ${header.steps} steps, ${header.crossings} boundaries met, ${header.slides} slides; loss ${shown(header.loss, 6)} at t = ${shownTime(header.time, header.log_time)}. Solver: ${header.method}.`));
  if (header.phases.length) nodes.push(table(["phase", "from", "to"], header.phases.map((phase) => [explained(phase.name), shownTime(phase.start, header.log_time), shownTime(phase.end, header.log_time)]), "Phases"));
  if (limit) {
    heading(`The end: ${limit.kind}${limit.proof ? " (certified)" : " (not a proof)"}`);
    nodes.push(...[limit.reason, ...limit.reasons].map((words) => element("p", {}, words)));
  }
  const { t, neuron, sample, kind } = run.events, count = Math.min(t.length, MOST_EVENTS);
  const rows = Array.from({ length: count }, (_, k) => [shown(t[k], 5), neuron[k] >= 0 ? String(neuron[k] + 1) : "", sample[k] >= 0 ? String(sample[k] + 1) : "", EVENT_WORDS[kind[k]]]);
  if (count) nodes.push(element("details", {}, element("summary", {}, `${t.length} events${count < t.length ? `, the first ${count}` : ""}`), table(["t", "neuron", "sample", "what"], rows)));
  return nodes;
}

/** What is said where something was moved: the geometry and the forecast, and the way back. */
function sayingsOfEdits(/** @type {Model} */ model, /** @type {SavedEdits} */ edits) {
  const { extremal, geometry } = model, { weight } = edits.made.run;
  return [
    element("p", {}, "Moved: the circle shows the start of a run on these samples and neurons. Cones, arrows and rings are worked out in this page; the run itself needs the laboratory (reluflow lab)."),
    geometry ? element("p", {}, forecastOf(model.data, geometry, weight)) : "",
    element("p", {}, `${extremal.length} arrow${extremal.length === 1 ? "" : "s"}: ${extremal.map((one, k) => `${k + 1} is a ${one.kind}, |D| = ${shown(one.norm, 4)}`).join("; ")}.`),
    element("button", { type: "button", id: "put-back", onclick: () => edits.putBack() }, "Back to the run"),
  ];
}

/** Where the neurons go while they are small, by the basins of the plane. */
function forecastOf(/** @type {Data} */ data, /** @type {PlanarGeometry} */ geometry, /** @type {Float64Array} */ weight) {
  const ends = planarForecast(geometry, data.w, data.a).map((end) => (typeof end === "number" ? geometry.extremal[end].kind : end ?? "open"));
  return forecastWords(ends, weight);
}
