// The page: builds its parts, connects them, and offers window.reluflow.
// @ts-check
import { Application } from "./app.js";
import { Controls } from "./controls.js";
import { Dragging } from "./drag.js";
import { Editor } from "./editor.js";
import { Edits } from "./edits.js";
import { History } from "./history.js";
import { element, put, shown, write } from "./dom.js";
import { heldLoss } from "./held.js";
import { planarGeometry } from "./planar.js";
import { PlaneChoice } from "./plane_choice.js";
import { Findings } from "./findings.js";
import { decodeState } from "./state.js";
import { TakeAway } from "./take.js";
import { Tour } from "./tour.js";
import { Viewer } from "./viewer.js";
/** @import { Found } from "./model.d.ts" */

const find = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const findButton = (/** @type {string} */ id) => /** @type {HTMLButtonElement} */ (document.getElementById(id));
const status = find("status");

/** @param {string} words @param {boolean} isError */
function say(words, isError = false) {
  write(status, words);
  status.classList.toggle("is-error", isError);
  put(status, "hidden", !words);
}

const viewer = new Viewer(find("viewer"), {
  onScrub: (at) => {
    app.scrubbed(at);
    if (findings.current === "end" && app.isDescentBeside) findings.show(); // it names the gates that differ at this time
  },
  onAxis: (axis) => app.setView({ axis, at: viewer.given?.run?.placeOfPosition(viewer.position, axis) ?? 1 }),
  onLossAxis: (loss) => app.setView({ loss }),
});
const app = new Application({ viewer, say, onChange: (what) => changed(what) });
const edits = new Edits(app);
const controls = new Controls(find("controls"), app);
const editor = new Editor(find("editor"), app, edits);
const take = new TakeAway(app, viewer);
const findings = new Findings(find("says"), app, take);
const tour = new Tour(find("tour"), app);
const planes = new PlaneChoice(find("plane-choice"), app);
new Dragging(app, viewer, edits);
const history = new History(app, () => {
  put(findButton("undo"), "disabled", !history.past.length);
  put(findButton("redo"), "disabled", !history.future.length);
  put(findButton("reset"), "disabled", history.first === history.present);
});
for (const name of /** @type {const} */ (["undo", "redo", "reset"])) find(name).addEventListener("click", () => history[name]());
find("present").addEventListener("click", () => present());

/** Large type and no settings, for a projector. */
function present() {
  const isOn = document.body.classList.toggle("is-presenting");
  find("present").setAttribute("aria-pressed", String(isOn));
}

let lastNumbers = 0;
/** What each change needs to be written anew. @type {Record<string, () => void>} */
const NEEDED = {
  menus: () => { if (app.menus) controls.build(app.menus.datasets, app.menus.schemes); tour.show(); },
  state: () => { controls.show(); editor.show(); findings.show(); tour.show(); planes.show(); },
  data: () => { controls.show(); editor.show(); findings.show(); planes.show(); },
  drag: () => { // the numbers beside the picture may lag behind it a little
    if (performance.now() - lastNumbers < 120) return;
    lastNumbers = performance.now();
    editor.showNumbers();
    if (findings.current === "extremal") sayLater();
  },
  selection: () => { editor.show(); if (app.selection.neuron !== null) { find("says").classList.remove("is-low"); find("says").scrollTop = 0; } if (app.selection.neuron !== null && findings.current !== "why") findings.open("why"); else findings.show(); planes.show(); announce(); },
  geometry: () => { findings.show(); planes.show(); },
  view: () => { if (findings.current === "take") findings.show(); planes.show(); },
};
/** @param {string} what */
function changed(what) {
  if (app.isStarted && !app.isDragging && (what === "state" || what === "data")) history.note();
  (NEEDED[what] ?? (() => (app.isDragging ? sayLater() : findings.show())))();
  put(document, "title", `${app.state.run.name} · reluflow laboratory`);
  put(find("busy"), "hidden", !app.waiting.has("run") && !app.isDragging);
  write(find("connection"), app.connectionStatus === "connected" ? "" : "not connected");
}

/** What is said of a run that came in the middle of a drag is written between two frames. */
function sayLater() {
  viewer.later.do("says", (function* saying() { findings.show(); })());
}

/** Say what is selected to a screen reader. */
function announce() {
  const { sample, neuron } = app.selection, data = app.localData;
  find("announcement").textContent = sample !== null && data ? `Sample ${sample + 1}, ${data.X[sample].map((value) => value.toPrecision(3)).join(", ")}, label ${data.y[sample]}` : neuron !== null ? `Neuron ${neuron + 1}` : "";
}

find("start-tour").addEventListener("click", () => tour.open(6));
find("theme").addEventListener("click", () => {
  const isDark = document.documentElement.dataset.theme === "dark" || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = isDark ? "light" : "dark";
  viewer.refresh();
});
document.addEventListener("keydown", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  if (/^(input|textarea|select|button|summary)$/i.test(target.tagName)) return;
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z") { if (event.shiftKey) history.redo(); else history.undo(); event.preventDefault(); }
  else if (event.key === "p" && !event.ctrlKey && !event.metaKey) present();
  else if (event.key === "<") viewer.step(-1);
  else if (event.key === ">") viewer.step(1);
  else if (event.key === " ") { viewer.togglePlay(); event.preventDefault(); }
  else if (event.key === "Home") viewer.scrub(0);
  else if (event.key === "End") viewer.scrub(1);
});
window.addEventListener("hashchange", () => {
  try { app.set(decodeState(location.hash)); } catch (error) { say(`The link was not taken: ${/** @type {Error} */ (error).message}`, true); }
});

/** @template T @param {T} value @returns {T} */
const copy = (value) => JSON.parse(JSON.stringify(value));
Object.defineProperty(window, "reluflow", {
  value: Object.freeze({
    state: () => copy(app.state),
    set: (/** @type {unknown} */ state) => app.set(copy(state)),
    settled: () => app.settled(),
    // for tests and benchmarks
    geometry: () => (app.geometry ? copy({ extremal: app.geometry.extremal, forecast: app.forecast, arcs: app.geometry.arcs.length }) : null),
    planar: (/** @type {number[][]} */ X, /** @type {number[]} */ forces, /** @type {number} */ leak) => copy(planarGeometry(X, forces, leak).extremal),
    marks: () => ({ ...app.marks }),
    timing: () => [...viewer.timing],
    answers: () => app.numAnswers,
    run: () => (app.run ? copy(app.run.header) : null),
    summary: () => (app.run ? { time: app.run.header.time, loss: app.run.header.loss, outcome: app.run.header.outcome } : null),
    extremal: () => copy(app.extremal()),
    plane: () => ({ center: viewer.plane.center, samples: viewer.model.data.X.map((_, k) => viewer.plane.samplePoint(k)), held: viewer.plane.heldPoints(), neuron: (/** @type {number} */ j) => viewer.plane.neuronPoint(j, viewer.displayed()) }),
    paint: (/** @type {number} */ place) => { viewer.pause(); viewer.scrub(place, true); viewer.paint(); },
    select: (/** @type {Found} */ found) => app.select(found),
    nearSide: (/** @type {"sample" | "neuron"} */ kind) => {
      const { units, m } = viewer.displayed(), samples = viewer.model.data.X.map((x) => x.map((value) => value / Math.hypot(...x)));
      const all = kind === "sample" ? samples : Array.from({ length: m }, (_, j) => Array.from(units.subarray(3 * j, 3 * j + 3)));
      return all.map((unit) => viewer.sphere.place(unit)).filter(([, , depth]) => depth > 0);
    },
    held: (/** @type {number} */ place) => {
      const { run, held } = viewer.model;
      if (!run || !held) return null;
      viewer.pause();
      viewer.scrub(place, true);
      viewer.position = Math.round(viewer.position); // at a kept state, where the outputs are those of the network
      viewer.paint();
      const loss = heldLoss(run, viewer.position, held);
      return { t: run.timeAt(viewer.position).t, loss, shown: shown(loss, 4) };
    },
    redrawPlane: () => app.refresh(),
    drop: () => app.connection?.socket?.close(),
    data: () => copy({ X: viewer.model.data.X, y: viewer.model.data.y, w: viewer.model.data.w }),
    dead: () => { const state = viewer.displayed(); return Array.from({ length: state.m }, (_, j) => j).filter((j) => state.isDead?.(j)); },
    differingGates: () => copy(viewer.differingGates()),
    ghostCurve: () => (app.run && app.ghost ? viewer.tracks.curveOf(app.run, app.ghost).map(([time, x]) => [time, Number.isFinite(x)]) : []),
    plot: () => ({ samples: viewer.model.data.X.map((_, k) => viewer.function.samplePoint(k)), held: viewer.function.heldPoints() }),
    functionTop: () => [viewer.function.y(viewer.function.heights[1]), viewer.function.y(viewer.function.heights[0])],
  }),
});

say("Connecting …");
document.body.append(element("p", { id: "announcement", class: "only-read", "aria-live": "polite" }));
app.connect(`ws://${location.host}${location.pathname}socket`);
