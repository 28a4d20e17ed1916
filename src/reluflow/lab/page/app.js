// The application: one state, the answers to it, and what the page shows of them.
// @ts-check
import { isDescentBeside } from "./gates.js";
import { Connection } from "./connection.js";
import { labelForces, planarForecast, planarGeometry } from "./planar.js";
import { Run } from "./run.js";
import { checkedState, decodeState, emptyState, encodeState, setDefaultRun } from "./state.js";
import { rowsOf } from "./wire.js";
/** @import { Answer, DataAnswer, DiagnosisAnswer, Done, Failure, GeometryAnswer, Hello, LimitAnswer, MovieAnswer, ReportAnswer, RunAnswer, VerdictAnswer } from "./answers.d.ts" */
/** @import { Status } from "./connection.js" */
/** @import { ChangeOptions, Data, Draggable, Extremal, Found, HeldOut, Model, PlanarGeometry, RunState, SecondRun, Selection, State, TimeAxis, View } from "./model.d.ts" */
/** @import { Moment } from "./run.js" */
/** @import { Viewer } from "./viewer.js" */

/** @typedef {VerdictAnswer | Failure | "asked"} Verdict what is known of a theorem that was asked about */
/**
 * What the server has answered about the state on the page.
 * @typedef {object} Answers
 * @property {DataAnswer | null} data
 * @property {GeometryAnswer | null} geometry
 * @property {LimitAnswer | null} limit
 * @property {DiagnosisAnswer | Failure | "asked" | null} diagnosis
 * @property {Record<string, Verdict>} verdicts
 * @property {LimitAnswer | null} ghostLimit
 */

const PATIENCE = 1500; // milliseconds a run may take during a drag before a newer one replaces it

/** @implements {Draggable} */
export class Application {
  /** @param {{viewer: Viewer, onChange: (what: string) => void, say: (words: string, isError?: boolean) => void}} parts */
  constructor({ viewer, onChange, say }) {
    this.viewer = viewer;
    this.onChange = onChange;
    this.say = say;
    /** @type {Connection | null} */
    this.connection = null;
    /** @type {Status | null} */
    this.connectionStatus = null;
    /** @type {Hello | null} */
    this.menus = null;
    this.state = emptyState();
    /** @type {Selection} */
    this.selection = { sample: null, neuron: null };
    /** What is asked for and has not come. @type {Set<string>} */
    this.waiting = new Set();
    /** @type {(() => void)[]} */
    this.resolvers = [];
    /** @type {Answers} */
    this.answers = { data: null, geometry: null, limit: null, diagnosis: null, verdicts: {}, ghostLimit: null };
    /** @type {Data | null} */ this.localData = null;
    /** @type {PlanarGeometry | null} */ this.geometry = null;
    /** @type {ReturnType<typeof planarForecast> | null} */ this.forecast = null;
    /** @type {Run | null} */ this.run = null;
    /** @type {Run | null} */ this.ghost = null;
    /** Where the cursor stands in a run that is still going on, and when it stood before. @type {{at: number, before: Moment | null, isMoved: boolean}} */
    this.cursor = { at: 1, before: null, isMoved: false };
    this.isStarted = this.isAnswered = this.isDragging = this.isBehind = false;
    /** What was wrong with the link. @type {string | null} */
    this.refusal = null;
    /** Why there is no run. @type {string | null} */
    this.failure = null;
    this.addressTimer = 0;
    /** The label of a sample that a click adds, or null where a click chooses. @type {number | null} */
    this.adding = null;
    /** What to do with a report that has come, or with none. @type {((message: ReportAnswer | null) => void) | null} */
    this.onReport = null;
    /** What to do with a film that has come. @type {((message: MovieAnswer) => void) | null} */
    this.onMovie = null;
    /** Layers of the circle that are hidden. @type {Set<string>} */
    this.hidden = new Set();
    /** What was said of data that were taken; it stays until something else is done. @type {string | null} */
    this.notice = null;
    this.numAnswers = 0; // runs that were shown, whole or as far as they were known
    /** When the last request and answer of each kind were, for the benchmark. @type {Partial<Record<"asked" | "answered" | "early" | "geometry", number>>} */
    this.marks = {};
  }

  /** @param {string} url */
  connect(url) {
    this.connection = new Connection(url, { onMessage: (message) => this.take(message), onStatus: (status) => this.status(status) });
  }

  /** @param {Status} status */
  status(status) {
    this.connectionStatus = status;
    if (status === "reconnecting") this.say("The line to the server was lost; connecting again …");
    if (status === "lost") this.say("The server does not answer. If it was stopped, start it with this link: reluflow lab 'LINK'. The page goes on trying.", true);
    if (status === "ended") this.say("This laboratory was stopped, and another one answers at its address. To go on with this run there, start it with the whole link: reluflow lab 'LINK' (the tab Take away has it). What is on the page stays.", true);
    if (status === "connected" && this.isStarted) this.say("Connected.");
    this.onChange("status");
  }

  /** Begin with the state of the address, or with the server's own. @param {Hello} hello */
  start(hello) {
    setDefaultRun(hello.defaults);
    this.menus = hello;
    this.isStarted = true;
    /** @type {State | null} */
    let state = null;
    if (location.hash.length > 1) {
      try { state = decodeState(location.hash); } catch (error) { this.refusal = `The link was not taken: ${/** @type {Error} */ (error).message}`; }
    }
    const isFresh = state === null && !this.refusal;
    const settled = this.set(state ?? { version: 1, run: hello.state, ghost: null, view: isFresh ? { at: 0, axis: "change" } : {} });
    this.onChange("menus");
    if (isFresh && !matchMedia("(prefers-reduced-motion: reduce)").matches) settled.then(() => { if (!this.cursor.isMoved) this.viewer.play(1); });
  }

  /** A whole new state; throws one sentence if it is not one. Returns when it is settled. @param {unknown} state */
  set(state) {
    this.state = checkedState(state);
    this.selection = { sample: null, neuron: this.state.view.neuron };
    this.run = this.ghost = null;
    this.localData = null;
    this.ask();
    this.onChange("state");
    return this.settled();
  }

  /** Change the run. @param {Partial<RunState>} changes @param {ChangeOptions} options */
  change(changes, { isDragging = false, data = null, held = this.state.held } = {}) {
    this.state = { ...this.state, held, run: { ...this.state.run, ...changes } };
    this.notice = null;
    this.refusal = null; // what was wrong with the link has been read
    this.isDragging = isDragging;
    if (data) this.showLocal(data); else this.localData = null;
    if (!isDragging || this.isAnswered || performance.now() - (this.marks.asked ?? 0) > PATIENCE) this.ask();
    else this.isBehind = true;
    this.onChange(isDragging ? "drag" : "state");
  }

  /** Changes checked as a link would be; throws one sentence. @param {Partial<RunState>} changes */
  checkedChange(changes) {
    checkedState({ ...this.state, held: null, run: { ...this.state.run, ...changes } });
    return changes;
  }

  /** @param {SecondRun | null} ghost */
  setGhost(ghost) {
    this.state = checkedState({ ...this.state, ghost });
    this.ghost = null;
    this.askGhost();
    this.refresh();
    this.onChange("state");
  }

  /** @param {Partial<View>} changes */
  setView(changes) {
    this.state.view = { ...this.state.view, ...changes };
    if (changes.at !== undefined) this.cursor = { at: changes.at, before: null, isMoved: true };
    this.writeAddress();
    this.refresh();
    this.onChange("view");
  }

  /** Hide or show a layer of the circle; the link does not hold it. @param {string} layer @param {boolean} isHidden */
  setHidden(layer, isHidden) {
    if (isHidden) this.hidden.add(layer); else this.hidden.delete(layer);
    this.refresh();
  }

  /** The cursor was moved. @param {number} at */
  scrubbed(at) {
    this.state.view.at = at;
    this.cursor = { at, before: null, isMoved: true };
    this.writeAddress();
  }

  /** @param {Found} selection */
  select(selection) {
    this.selection = { sample: null, neuron: null, ...selection };
    this.state.view.neuron = this.selection.neuron;
    this.writeAddress();
    this.refresh();
    this.onChange("selection");
  }

  ask() {
    const { run } = this.state;
    this.isBehind = this.isAnswered = false;
    this.failure = null;
    this.cursor.isMoved = false;
    for (const what of [...this.waiting]) if (what === "diagnosis" || what.startsWith("verdict")) this.waiting.delete(what); // of other data
    this.marks.asked = performance.now();
    this.answers = { ...this.answers, limit: null, diagnosis: null, verdicts: {} };
    if (!this.isDragging) this.answers.geometry = null;
    const wanted = this.isDragging ? ["run"] : ["run", "data", "geometry"]; // first what takes longest
    for (const what of wanted) { this.waiting.add(what); this.connection?.ask(what, run, { isBrief: what === "run" && this.isDragging }); }
    this.waiting.add("limit");
    this.askGhost();
    this.writeAddress();
  }

  askGhost() {
    if (!this.state.ghost) { this.waiting.delete("ghost"); return; }
    this.waiting.add("ghost");
    this.connection?.ask("run", { ...this.state.run, ...this.state.ghost }, { tag: "ghost", isBrief: Boolean(this.isDragging) });
  }

  askDiagnosis() {
    if (this.answers.diagnosis || !this.connection) return;
    this.answers.diagnosis = "asked";
    this.waiting.add("diagnosis");
    this.connection.ask("diagnosis", this.state.run);
  }

  /** @param {string} key */
  askVerdict(key) {
    this.answers.verdicts[key] = "asked";
    this.waiting.add(`verdict ${key}`);
    this.connection?.ask("verdict", this.state.run, { key });
    this.onChange("verdict");
  }

  /** @param {Answer} message */
  take(message) {
    if (message.what === "hello") { if (!this.isStarted) this.start(message); return; }
    if (message.what === "stage") { this.say(message.sentence); return; }
    if (message.what === "error") { this.takeError(message); return; }
    if (message.tag === "ghost") { this.takeGhost(message); return; }
    if (message.what === "data") this.takeData(message);
    else if (message.what === "geometry") { this.answers.geometry = message; this.waiting.delete("geometry"); this.refresh(); this.onChange("geometry"); }
    else if (message.what === "run") this.takeRun(message);
    else if (message.what === "limit") { this.answers.limit = message; this.onChange("limit"); }
    else if (message.what === "done") this.takeDone(message);
    else if (message.what === "diagnosis") { this.answers.diagnosis = message; this.onChange("diagnosis"); }
    else if (message.what === "verdict") { this.answers.verdicts[message.key] = message; this.onChange("verdict"); }
    else if (message.what === "report") { this.onReport?.(message); }
    else if (message.what === "movie") { this.onMovie?.(message); }
    this.maybeSettled();
  }

  /** All of an answer has come. @param {Done} message */
  takeDone({ of, key }) {
    if (of === "run") this.waiting.delete("limit");
    this.waiting.delete(key ? `${of} ${key}` : of);
    this.onChange("done");
  }

  /** @param {Failure} message */
  takeError(message) {
    if (message.of === "verdict") { this.waiting.delete(`verdict ${message.key}`); this.answers.verdicts[message.key ?? ""] = message; this.onChange("verdict"); this.maybeSettled(); return; }
    this.say(message.sentence, true);
    if ((message.of === "run" || message.of === "data") && message.tag !== "ghost") this.failure = message.sentence;
    if (message.of === "diagnosis") this.answers.diagnosis = message;
    if (message.tag === "ghost") this.waiting.delete("ghost");
    else for (const what of message.of === "run" || !message.of ? ["run", "limit"] : [message.of]) this.waiting.delete(what);
    if (message.of === "report") this.onReport?.(null);
    this.onChange("done");
    this.maybeSettled();
  }

  /** @param {DataAnswer} message */
  takeData(message) {
    const { arrays } = message;
    this.answers.data = message;
    this.showLocal({
      X: rowsOf(arrays.X), y: Array.from(arrays.y.data), w: rowsOf(arrays.w), a: Array.from(arrays.a.data), logScale: message.log_scale,
      v: arrays.v ? rowsOf(arrays.v) : null, classes: message.classes ?? null,
    });
    this.waiting.delete("data");
    this.onChange("data");
  }

  /** @param {RunAnswer} message */
  takeRun(message) {
    const run = new Run(message), before = this.run, { view } = this.state;
    if (run.isRunning && !before?.isRunning) this.cursor = { at: view.at, isMoved: false, before: before && view.at < 1 ? before.timeAt(before.positionOf(view.at, view.axis)) : null };
    // more of a run that is shown: where one scrubbed, the time stays
    if (before && before.header.id === message.id && this.cursor.isMoved && this.cursor.at < 1) view.at = this.cursor.at = this.sameTime(before, run, this.cursor.at);
    this.run = run;
    this.numAnswers += 1;
    this.isAnswered = true;
    if (!run.isRunning) this.waiting.delete("run");
    this.marks[run.isRunning ? "early" : "answered"] = performance.now();
    if (message.outcome === "interrupted") this.say(message.sentence, true);
    else this.say(this.refusal ?? this.notice ?? "", Boolean(this.refusal));
    this.refresh();
    this.onChange("run");
    if (this.isBehind && this.isDragging) this.ask();
  }

  /** The place in another state of a run that shows the same time. @param {Run} one @param {Run} other @param {number} at */
  sameTime(one, other, at) {
    const { axis } = this.state.view;
    return other.placeShowing(one.timeAt(one.positionOf(at, axis)), axis);
  }

  /** @param {Answer} message */
  takeGhost(message) {
    if (message.what === "run") { this.ghost = new Run(message); this.refresh(); this.onChange("ghost"); }
    if (message.what === "done") this.waiting.delete("ghost");
    if (message.what === "limit") { this.answers.ghostLimit = message; this.onChange("ghost"); }
    this.maybeSettled();
  }

  /** Show data known here: their geometry in the plane is worked out at once. @param {Data} data */
  showLocal(data) {
    this.localData = data;
    const isPlanar = !data.classes && data.X[0].length === 2 && data.X.every((x) => x[0] !== 0 || x[1] !== 0);
    this.geometry = isPlanar ? planarGeometry(data.X, labelForces(data.y, this.state.run), this.state.run.leak) : null;
    this.forecast = this.geometry ? planarForecast(this.geometry, data.w, data.a) : null;
    this.refresh();
    this.marks.geometry = performance.now();
  }

  /** Where neurons can align: worked out here in the plane, elsewhere by the server. @returns {Extremal[]} */
  extremal() {
    if (this.geometry) return this.geometry.extremal;
    const answer = this.answers.geometry;
    if (!answer || answer.open !== undefined) return [];
    const { data, shape: [, d] } = answer.arrays.directions;
    return answer.extremal.map((row, k) => ({ ...row, direction: Array.from(data.subarray(k * d, (k + 1) * d)) }));
  }

  /** What the viewer shows of some data. @param {Data} data @returns {Model} */
  modelOf(data) {
    const run = this.run && this.run.d === data.X[0].length ? this.run : null;
    const ghost = this.ghost && run && this.ghost.d === run.d ? this.ghost : null;
    return {
      data, geometry: this.geometry, geometryAnswer: this.answers.geometry, extremal: this.extremal(), run, ghost,
      isDescentBeside: this.isDescentBeside, held: this.heldOut(data),
      view: run?.isRunning ? { ...this.state.view, at: this.placeInRunning(run) } : this.state.view, selection: this.selection, hidden: this.hidden, leak: this.state.run.leak, isDragging: this.isDragging,
    };
  }

  /** What is held out, with the objective of the run. @param {Data} data @returns {HeldOut | null} */
  heldOut(data) {
    const { held, run: { loss, factor, reduction } } = this.state;
    return held && held.X[0].length === data.X[0].length ? { ...held, loss, factor, reduction } : null;
  }

  get isDescentBeside() { return isDescentBeside(this.state.run, this.state.ghost); }

  /** Where the cursor stands in a run as far as it is known: at the time it showed before, if that has come. @param {Run} run */
  placeInRunning(run) {
    const { before, at } = this.cursor;
    return before ? run.placeShowing(before, this.state.view.axis) : at;
  }

  refresh() { if (this.localData) this.viewer.show(this.modelOf(this.localData)); }

  maybeSettled() {
    if (this.waiting.size) return;
    requestAnimationFrame(() => {
      if (this.waiting.size) return;
      for (const resolve of this.resolvers.splice(0)) resolve();
    });
  }

  /** Resolves when the newest answer is drawn. @returns {Promise<void>} */
  settled() {
    return new Promise((resolve) => { this.resolvers.push(resolve); this.maybeSettled(); });
  }

  writeAddress() {
    window.clearTimeout(this.addressTimer);
    if (this.isDragging) return; // it is written when one lets go
    this.addressTimer = window.setTimeout(() => this.writeAddressNow(), 120);
  }

  writeAddressNow() {
    window.clearTimeout(this.addressTimer);
    const fragment = encodeState(this.state);
    if (`#${fragment}` !== location.hash) history.replaceState(null, "", `#${fragment}`);
  }
}
