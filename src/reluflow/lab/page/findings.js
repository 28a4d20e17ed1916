// The findings: why, extremal vectors, phases and the certified end, the diagnosis, the theorems. Asked for lazily.
// @ts-check
import { gateWords } from "./gates.js";
import { element, shown, shownTime, table, vectorText } from "./dom.js";
import { explained } from "./explanations.js";
import { forecastWords } from "./forecast.js";
import { whyOf } from "./why.js";
/** @import { Limit, VerdictAnswer } from "./answers.d.ts" */
/** @import { Application } from "./app.js" */
/** @import { Child } from "./dom.js" */
/** @import { Model } from "./model.d.ts" */
/** @import { Run } from "./run.js" */
/** @import { TakeAway } from "./take.js" */

/** @typedef {"why" | "end" | "extremal" | "diagnosis" | "theorems" | "take"} Tab */
/** @type {[Tab, string][]} */
const TABS = [["why", "Why"], ["end", "Phases and end"], ["extremal", "Extremal vectors"], ["diagnosis", "Diagnosis"], ["theorems", "Theorems"], ["take", "Take away"]];
/** @type {Record<string, string>} */
const KINDS = {
  "global-minimum": "a global minimum", "local-minimum": "a local minimum", saddle: "a saddle", "kkt-direction": "a KKT direction of the margin problem",
  "max-margin": "the max-margin direction", "partial-direction": "a direction that leaves some samples at output 0", "not-stationary": "no stationary point",
  undecided: "a state that could not be certified",
};

/** A number of things: "1 step", "2 steps". @param {number} number @param {string} one @param {string} [more] */
function several(number, one, more = `${one}s`) {
  return `${number} ${number === 1 ? one : more}`;
}

export class Findings {
  /** @param {HTMLElement} root @param {Application} app @param {TakeAway} take */
  constructor(root, app, take) {
    this.root = root;
    this.app = app;
    this.take = take;
    /** @type {Tab} */
    this.current = "why";
    this.tabs = TABS.map(([key, words]) => element("button", { type: "button", role: "tab", id: `tab-${key}`, "aria-controls": "says-panel", "aria-selected": "false", tabindex: -1, onclick: () => this.open(key), onkeydown: (event) => this.key(event) }, words));
    this.panel = element("div", { role: "tabpanel", id: "says-panel", tabindex: 0 });
    const handle = element("button", { type: "button", class: "sheet-handle", "aria-label": "Lower or raise the findings", onclick: () => root.classList.toggle("is-low") }, "━━");
    root.append(handle, element("div", { role: "tablist", "aria-label": "Findings", class: "tabs" }, this.tabs), this.panel);
    this.open("why");
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const at = TABS.findIndex(([key]) => key === this.current);
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? TABS.length - 1 : 0;
    if (!by) return;
    this.open(TABS[(at + by) % TABS.length][0]);
    this.tabs[(at + by) % TABS.length].focus();
    event.preventDefault();
  }

  /** @param {Tab} key */
  open(key) {
    this.current = key;
    TABS.forEach(([name], k) => {
      this.tabs[k].setAttribute("aria-selected", String(name === key));
      this.tabs[k].tabIndex = name === key ? 0 : -1;
    });
    this.panel.setAttribute("aria-labelledby", `tab-${key}`);
    if (["diagnosis", "theorems"].includes(key)) this.app.askDiagnosis();
    this.show();
  }

  /** Write the open tab. */
  show() {
    const data = this.app.localData;
    if (!data) { this.panel.replaceChildren(element("p", {}, this.app.failure ?? "Waiting for the server …")); return; }
    const model = this.app.modelOf(data);
    /** @type {Record<Tab, () => Child[]>} */
    const writers = { why: () => this.why(model), end: () => this.end(), extremal: () => this.extremal(model), diagnosis: () => this.diagnosis(), theorems: () => this.theorems(), take: () => this.take.content() };
    if (["diagnosis", "theorems"].includes(this.current) && !this.app.answers.diagnosis) this.app.askDiagnosis();
    this.panel.replaceChildren(...writers[this.current]().flatMap((node) => node ?? []));
  }

  /** @param {Model} model @returns {Child[]} */
  why(model) {
    const { neuron } = this.app.selection;
    const forecast = this.forecast();
    if (neuron === null || !model.run || model.run.isRunning) {
      return [element("p", {}, "Click a neuron to read why it went where it went."), forecast ? element("p", {}, forecast) : null, this.summary(model.run)];
    }
    return whyOf(model, neuron).map((sentence) => element("p", {}, sentence));
  }

  /** Where neurons go as the scale vanishes. */
  forecast() {
    const { geometry, data } = this.app.answers;
    if (!geometry || geometry.open !== undefined || !data) return "";
    return forecastWords(Array.from(geometry.arrays.end.data, (end) => geometry.ends[end]), data.arrays.weight.data);
  }

  /** @param {Run | null} run */
  summary(run) {
    if (!run) return element("p", {}, this.app.failure ?? "The exact flow is being computed …");
    const { header } = run;
    return element("p", {}, `${header.sentence} ${several(header.steps, "step")}, ${several(header.crossings, "boundary", "boundaries")} met, ${several(header.slides, "slide")}; loss ${shown(header.loss, 6)} at t = ${shownTime(header.time, header.log_time)}. Solver: ${header.method}.`);
  }

  /** @returns {Child[]} */
  end() {
    const { run } = this.app, { limit, ghostLimit } = this.app.answers;
    if (!run) return [this.summary(run)];
    if (run.isRunning) return [this.summary(run), element("p", {}, "Phases and end are shown when the run is over.")];
    const { header } = run;
    /** @type {Child[]} */
    const nodes = [
      table(["phase", "from", "to"], header.phases.map((phase) => [explained(phase.name), shownTime(phase.start, header.log_time), shownTime(phase.end, header.log_time)]), "Phases of the run"),
    ];
    if (!limit) nodes.push(element("p", {}, "The end is being certified …"));
    else nodes.push(...this.limitNodes(limit, "The end"));
    if (this.app.ghost) {
      const ghost = this.app.ghost.header;
      nodes.push(element("h2", {}, "Second run"), element("p", {}, `${ghost.method}: ${ghost.sentence} Loss ${shown(ghost.loss, 6)} at t = ${shownTime(ghost.time, ghost.log_time)}.`));
      if (this.app.isDescentBeside) nodes.push(element("p", {}, gateWords(this.app.viewer.differingGates())));
      if (ghostLimit) nodes.push(...this.limitNodes(ghostLimit, "Its end"));
    }
    return nodes;
  }

  /** @param {Limit} limit @param {string} title @returns {Child[]} */
  limitNodes(limit, title) {
    /** @type {Child[][]} */
    const rows = Object.entries(limit.residuals).map(([name, value]) => [`residual: ${name}`, shown(value)]);
    for (const [name, key] of /** @type {const} */ ([["margin of this network over |(w, a)|²", "margin"], ["largest margin of any network over |(w, a)|²", "global_margin"], ["largest margin of a linear classifier, over |w|", "best_linear_margin"]])) if (limit[key] !== null) rows.push([name, shown(limit[key], 6)]);
    return [
      element("h2", {}, `${title}: `, explained(limit.kind, KINDS[limit.kind] ?? limit.kind), limit.proof ? " (certified)" : " (not a proof)"),
      element("p", {}, limit.reason), ...limit.reasons.map((reason) => element("p", {}, reason)),
      limit.ignored?.length ? element("p", {}, `Samples whose output stays 0, numbered as in the plane: ${limit.ignored.map((k) => k + 1).join(", ")}.`) : null,
      rows.length ? table(["quantity", "value"], rows) : null,
    ];
  }

  /** @param {Model} model @returns {Child[]} */
  extremal(model) {
    const answer = this.app.answers.geometry;
    const rows = model.extremal.slice(0, 60).map((one, k) => [`${k + 1}`, vectorText(one.vector), shown(one.norm, 6), explained(one.kind), one.side > 0 ? "+1" : "−1", typeof one.pattern === "string" ? one.pattern : one.pattern.map((u) => "-0+"[u + 1]).join("")]);
    if (answer?.open !== undefined) return [element("p", {}, answer.open)];
    return [
      element("p", {}, answer && !answer.exact ? "Those found by search; there may be more." : `${model.extremal.length} extremal vector${model.extremal.length === 1 ? "" : "s"}: where neurons can align as the scale vanishes.`),
      ...(answer?.degenerate ?? []).map((words) => element("p", { class: "hint" }, `Not in general position: ${words}.`)),
      table(["number", "D", "|D|", "kind", "side", "pattern"], rows),
      model.extremal.length > 60 ? element("p", {}, `${model.extremal.length - 60} more are not listed here; \`reluflow extremal\` lists all.`) : null,
    ];
  }

  diagnosis() {
    const answer = this.app.answers.diagnosis;
    if (!answer || answer === "asked") return [element("p", {}, "Every assumption of the papers is being checked …")];
    if (answer.what === "error") return [element("p", {}, answer.sentence)];
    const word = (/** @type {boolean | null} */ holds) => (holds === null ? "open" : holds ? "holds" : "fails");
    return [table(["condition", "answer", "margin", "measured"], answer.conditions.map((one) => [element("details", {}, element("summary", {}, one.key), element("p", {}, `${one.paper}: ${one.statement}`)), element("span", { class: `verdict ${word(one.holds)}` }, word(one.holds)), shown(one.margin), one.detail]), "Assumptions of the papers on these data")];
  }

  theorems() {
    const answer = this.app.answers.diagnosis;
    if (!answer || answer === "asked") return [element("p", {}, "Which theorems the data allow is being checked …")];
    if (answer.what === "error") return [element("p", {}, answer.sentence)];
    const { verdicts } = this.app.answers;
    const order = [...answer.theorems].sort((one, two) => Number(two.applicable !== false) - Number(one.applicable !== false));
    const rows = order.map((one) => {
      const verdict = verdicts[one.key];
      const cell = verdict === "asked" ? "asking …" : verdict?.what === "error" ? verdict.sentence : verdict ? verdictNode(verdict) : one.applicable === false ? "not applicable" : element("button", { type: "button", "aria-label": `Check ${one.key}`, onclick: () => this.app.askVerdict(one.key) }, "check");
      return [element("details", {}, element("summary", {}, one.key), element("p", {}, one.statement || "")), cell, one.why];
    });
    return [element("p", {}, "Each theorem is asked in the setting it is stated in, with its loss, its initialisation and the scale it asks for, on these data."), table(["theorem", "verdict", "data"], rows, undefined, true)];
  }
}

/** What one theorem says, with its conclusions behind it. @param {VerdictAnswer} verdict */
function verdictNode(verdict) {
  const slack = verdict.conclusions.filter((one) => one.slack !== null).map((one) => [one.source === "reluflow" ? `${one.name} (ours)` : one.name, shown(one.measured), shown(one.bound), shown(one.slack)]);
  return element("details", {}, element("summary", {}, element("span", { class: `verdict ${verdict.verdict}` }, verdict.verdict)), element("p", {}, verdict.why), slack.length ? table(["conclusion", "measured", "bound", "slack"], slack) : "", verdict.erratum ? element("p", {}, `Erratum: ${verdict.erratum}`) : "");
}
