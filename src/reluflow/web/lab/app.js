// The application: one state, the answers to it, and what the page shows of them.
// @ts-check
import { Connection } from "./connection.js";
import { labelForces, planarForecast, planarGeometry } from "./planar.js";
import { Run } from "./run.js";
import { checkedState, decodeState, emptyState, encodeState, setDefaultRun } from "./state.js";
import { rowsOf } from "./wire.js";

const PATIENCE = 1500; // milliseconds a run may take during a drag before a newer one replaces it

export class Application {
  /** @param {{viewer: any, onChange: (what: string) => void, say: (words: string, isError?: boolean) => void}} parts */
  constructor({ viewer, onChange, say }) {
    this.viewer = viewer;
    this.onChange = onChange;
    this.say = say;
    this.state = emptyState();
    this.selection = { sample: null, neuron: null };
    this.waiting = new Set();
    this.resolvers = [];
    this.answers = { data: null, geometry: null, limit: null, diagnosis: null, verdicts: {}, ghostLimit: null };
    this.run = this.ghost = null;
    this.isStarted = false;
    this.marks = {}; // when the last request and answer of each kind were, for the benchmark
  }

  connect(url) {
    this.connection = new Connection(url, { onMessage: (message) => this.take(message), onStatus: (status) => this.status(status) });
  }

  status(status) {
    this.connectionStatus = status;
    if (status === "reconnecting") this.say("The line to the server was lost; connecting again …");
    if (status === "lost") this.say("The server does not answer. If it was stopped, start it with this link: reluflow lab 'LINK'. The page goes on trying.", true);
    if (status === "connected" && this.isStarted) this.say("Connected.");
    this.onChange("status");
  }

  /** Begin with the state of the address, or with the server's own. */
  start(hello) {
    setDefaultRun(hello.defaults);
    this.menus = hello;
    this.isStarted = true;
    let state = null;
    if (location.hash.length > 1) {
      try { state = decodeState(location.hash); } catch (error) { this.refusal = `The link was not taken: ${error.message}`; }
    }
    this.set(state ?? { version: 1, run: hello.state, ghost: null, view: {} });
    this.onChange("menus");
  }

  /** A whole new state; throws one sentence if it is not one. Returns when it is settled. */
  set(state) {
    this.state = checkedState(state);
    this.selection = { sample: null, neuron: this.state.view.neuron };
    this.run = this.ghost = null;
    this.localData = null;
    this.ask();
    this.onChange("state");
    return this.settled();
  }

  /** Change the run; `data` are the samples and neurons where they are already known here, as during a drag. */
  change(changes, { isDragging = false, data = null } = {}) {
    this.state = { ...this.state, run: { ...this.state.run, ...changes } };
    this.refusal = null; // what was wrong with the link has been read
    if (data) this.showLocal(data); else this.localData = null;
    this.isDragging = isDragging;
    if (!isDragging || !this.waiting.has("run") || performance.now() - (this.marks.asked ?? 0) > PATIENCE) this.ask();
    else this.isBehind = true;
    this.onChange(isDragging ? "drag" : "state");
  }

  /** Changes checked as a link would be; throws one sentence. */
  checkedChange(changes) {
    const { run } = checkedState({ ...this.state, run: { ...this.state.run, ...changes } });
    return Object.fromEntries(Object.keys(changes).map((key) => [key, run[key]]));
  }

  setGhost(ghost) {
    this.state = checkedState({ ...this.state, ghost });
    this.ghost = null;
    this.askGhost();
    this.refresh();
    this.onChange("state");
  }

  setView(changes) {
    this.state.view = { ...this.state.view, ...changes };
    this.writeAddress();
    this.refresh();
    this.onChange("view");
  }

  select(selection) {
    this.selection = { sample: null, neuron: null, ...selection };
    this.state.view.neuron = this.selection.neuron;
    this.writeAddress();
    this.refresh();
    this.onChange("selection");
  }

  ask() {
    const { run } = this.state;
    this.isBehind = false;
    this.marks.asked = performance.now();
    this.answers = { ...this.answers, limit: null, diagnosis: null, verdicts: {} };
    if (!this.isDragging) this.answers.geometry = null;
    const wanted = this.isDragging ? ["run"] : ["data", "geometry", "run"];
    for (const what of wanted) { this.waiting.add(what); this.connection.ask(what, run); }
    this.waiting.add("limit");
    this.askGhost();
    this.writeAddress();
  }

  askGhost() {
    if (!this.state.ghost) { this.waiting.delete("ghost"); return; }
    this.waiting.add("ghost");
    this.connection.ask("run", { ...this.state.run, ...this.state.ghost }, { tag: "ghost" });
  }

  askDiagnosis() {
    if (this.answers.diagnosis || !this.connection) return;
    this.answers.diagnosis = "asked";
    this.connection.ask("diagnosis", this.state.run);
  }

  askVerdict(key) {
    this.answers.verdicts[key] = "asked";
    this.connection.ask("verdict", this.state.run, { key });
    this.onChange("verdict");
  }

  take(message) {
    const { what } = message;
    if (what === "hello") { if (!this.isStarted) this.start(message); return; }
    if (what === "stage") { this.say(message.sentence); return; }
    if (what === "error") { this.takeError(message); return; }
    if (message.tag === "ghost") { this.takeGhost(message); return; }
    if (what === "data") this.takeData(message);
    else if (what === "geometry") { this.answers.geometry = message; this.waiting.delete("geometry"); this.refresh(); this.onChange("geometry"); }
    else if (what === "run") this.takeRun(message);
    else if (what === "limit") { this.answers.limit = message; this.waiting.delete("limit"); this.onChange("limit"); }
    else if (what === "diagnosis") { this.answers.diagnosis = message; this.onChange("diagnosis"); }
    else if (what === "verdict") { this.answers.verdicts[message.key] = message; this.onChange("verdict"); }
    else if (what === "report") { this.onReport?.(message); }
    else if (what === "movie") { this.onMovie?.(message); }
    this.maybeSettled();
  }

  takeError(message) {
    if (message.of === "verdict") { this.answers.verdicts[message.key] = { sentence: message.sentence }; this.onChange("verdict"); return; }
    this.say(message.sentence, true);
    if (message.tag === "ghost") this.waiting.delete("ghost");
    else for (const what of message.of === "run" || !message.of ? ["run", "limit"] : [message.of]) this.waiting.delete(what);
    if (message.of === "report") this.onReport?.(null);
    this.maybeSettled();
  }

  takeData(message) {
    const { arrays } = message;
    this.answers.data = message;
    this.showLocal({
      X: rowsOf(arrays.X), y: Array.from(arrays.y.data), w: rowsOf(arrays.w), a: Array.from(arrays.a.data), logScale: message.log_scale,
    });
    this.waiting.delete("data");
    this.onChange("data");
  }

  takeRun(message) {
    this.run = new Run(message);
    this.waiting.delete("run");
    this.marks.answered = performance.now();
    if (message.outcome === "interrupted") this.say(message.sentence, true);
    else this.say(this.refusal ?? "", Boolean(this.refusal));
    this.refresh();
    this.onChange("run");
    if (this.isBehind && this.isDragging) this.ask();
  }

  takeGhost(message) {
    if (message.what === "run") { this.ghost = new Run(message); this.waiting.delete("ghost"); this.refresh(); this.onChange("ghost"); }
    if (message.what === "limit") { this.answers.ghostLimit = message; this.onChange("ghost"); }
    this.maybeSettled();
  }

  /** Show data known here: their geometry in the plane is worked out at once. */
  showLocal(data) {
    this.localData = data;
    const isPlanar = data.X[0].length === 2 && data.X.every((x) => x[0] !== 0 || x[1] !== 0);
    this.geometry = isPlanar ? planarGeometry(data.X, labelForces(data.y, this.state.run), this.state.run.leak) : null;
    this.forecast = this.geometry ? planarForecast(this.geometry, data.w, data.a) : null;
    this.refresh();
    this.marks.geometry = performance.now();
  }

  model() {
    const answer = this.answers.geometry;
    const fromServer = () => answer.extremal.map((row, k) => ({ ...row, direction: Array.from(answer.arrays.directions.data.subarray(k * this.localData.X[0].length, (k + 1) * this.localData.X[0].length)) }));
    const extremal = this.geometry ? this.geometry.extremal : answer ? fromServer() : [];
    const run = this.run && this.localData && this.run.d === this.localData.X[0].length ? this.run : null;
    const ghost = this.ghost && run && this.ghost.d === run.d ? this.ghost : null;
    return {
      data: this.localData, geometry: this.geometry, geometryAnswer: answer, extremal, run, ghost,
      view: this.state.view, selection: this.selection, leak: this.state.run.leak, isDragging: this.isDragging,
    };
  }

  refresh() { if (this.localData) this.viewer.show(this.model()); }

  maybeSettled() {
    if (this.waiting.size) return;
    requestAnimationFrame(() => {
      if (this.waiting.size) return;
      for (const resolve of this.resolvers.splice(0)) resolve();
    });
  }

  /** Resolves when the newest answer is drawn. */
  settled() {
    return new Promise((resolve) => { this.resolvers.push(resolve); this.maybeSettled(); });
  }

  writeAddress() {
    window.clearTimeout(this.addressTimer);
    this.addressTimer = window.setTimeout(() => this.writeAddressNow(), 120);
  }

  writeAddressNow() {
    window.clearTimeout(this.addressTimer);
    const fragment = encodeState(this.state);
    if (`#${fragment}` !== location.hash) history.replaceState(null, "", `#${fragment}`);
  }
}
