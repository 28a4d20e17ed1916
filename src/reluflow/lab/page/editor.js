// The selected sample or neuron as numbers, reachable by keyboard; and data pasted or dropped.
// @ts-check
import { parseData } from "./csv.js";
import { element, put } from "./dom.js";
import { lineOf } from "./function_plot.js";
/** @import { Application } from "./app.js" */
/** @import { Edits } from "./edits.js" */

export class Editor {
  /** @param {HTMLElement} root @param {Application} app @param {Edits} edits */
  constructor(root, app, edits) {
    this.root = root;
    this.app = app;
    this.edits = edits;
    this.selected = element("div", { class: "selected" });
    this.text = element("textarea", { id: "paste", rows: 5, spellcheck: "false", placeholder: "x1,x2,y\n1,0.2,1\n0.4,1,1\n-1,0.3,-1" });
    this.bias = element("input", { type: "checkbox", id: "paste-bias" });
    this.numbers = element("input", { type: "checkbox", id: "paste-numbers" });
    this.noise = element("input", { type: "number", id: "noise", min: 0, max: 100, step: 5, value: 10 });
    this.held = element("p", { class: "hint", id: "held-words" });
    this.all = element("button", { type: "button", id: "train-on-all", onclick: () => edits.trainOnAll() }, "Train on all again");
    root.append(
      this.selected,
      element("details", {},
        element("summary", {}, "Your own data"),
        element("label", { for: "paste" }, "One sample per line, the label last: a number, −1 and 1, 0 and 1, or words for classes. Or drop a CSV file anywhere."),
        this.text,
        element("label", { class: "inline", for: "paste-bias" }, this.bias, "append the constant coordinate 1"),
        element("label", { class: "inline", for: "paste-numbers" }, this.numbers, "labels are numbers"),
        element("button", { type: "button", id: "use-data", onclick: () => this.useText(this.text.value, "pasted data") }, "Use these data")),
      element("details", { id: "held-and-noise" },
        element("summary", {}, "Held-out data and noise"),
        this.held,
        element("div", { class: "buttons" }, element("button", { type: "button", id: "hold-out", onclick: () => edits.holdOut(Array.from(edits.data.y.keys()).filter((k) => k % 3 === 2)) }, "Hold out a third"), this.all),
        element("label", { class: "inline", for: "noise" }, "noise, %", this.noise),
        element("button", { type: "button", id: "add-noise", onclick: () => edits.addNoise(Math.max(0, this.noise.valueAsNumber || 0) / 100) }, "Add noise")));
    window.addEventListener("dragover", (event) => event.preventDefault());
    window.addEventListener("drop", (event) => this.drop(event));
    document.addEventListener("paste", (event) => {
      const target = /** @type {HTMLElement} */ (event.target);
      if (/^(input|textarea|select)$/i.test(target?.tagName ?? "")) return;
      this.useText(event.clipboardData?.getData("text") ?? "", "pasted data");
    });
  }

  /** @param {DragEvent} event */
  async drop(event) {
    event.preventDefault();
    const file = event.dataTransfer?.files?.[0];
    if (!file) return;
    if (file.size > 262144) { this.app.say("A dropped file must be at most 256 kB; `reluflow lab FILE` takes larger ones.", true); return; }
    this.useText(await file.text(), file.name.replace(/\.[a-z]+$/i, "").slice(0, 80) || "dropped data");
  }

  /** Take data given as text; what is wrong is said in one sentence and nothing changes. @param {string} text @param {string} name */
  useText(text, name) {
    try {
      const { X, y, words, classes } = parseData(text, this.numbers.checked);
      const zero = X.findIndex((row) => row.every((value) => value === 0));
      if (zero >= 0 && !this.bias.checked) throw new Error(`Sample ${zero + 1} is zero: it moves no neuron; remove it, or append the constant coordinate.`);
      const isBinary = !classes && y.every((label) => Math.abs(label) === 1);
      this.app.select({});
      this.app.run = null;
      this.app.change(this.app.checkedChange({
        name, X, y, bias: this.bias.checked, neurons: null, loss: classes ? "softmax" : isBinary ? "logistic" : "square", reduction: "mean", factor: 1,
        ...(X[0].length + Number(this.bias.checked) !== 2 && this.app.state.run.width === "inf" ? { width: 60 } : {}),
      }), { held: null });
      this.app.notice = `${X.length} samples taken. ${words}`.trim();
      this.app.say(this.app.notice);
    } catch (error) { this.app.say(/** @type {Error} */ (error).message, true); }
  }

  /** Show what is selected. */
  show() {
    const data = this.app.localData, { sample, neuron } = this.app.selection;
    if (!data) return;
    const { held } = this.app.state;
    this.all.hidden = held === null;
    this.held.textContent = held ? `${held.y.length} sample${held.y.length === 1 ? " is" : "s are"} held out: hollow in the circle and in the plot of h, and the loss there is dotted.` : "Every third sample, or one that is chosen, can be left out of the training. Noise is put on labels that are numbers, else on the samples.";
    const { activeElement } = document, hadFocus = activeElement && this.selected.contains(activeElement) ? activeElement.id : null;
    /** @param {string} id @param {string} label @param {number} value @param {(next: number) => void} write */
    const number = (id, label, value, write, disabled = false) => {
      const input = element("input", { id, type: "number", step: "any", value, disabled, "aria-label": label, onchange: () => { if (Number.isFinite(input.valueAsNumber)) write(input.valueAsNumber); } });
      return element("label", { class: "inline", for: id }, label, input);
    };
    const button = (/** @type {string} */ words, /** @type {() => void} */ act) => element("button", { type: "button", onclick: act }, words);
    /** @type {HTMLElement[]} */
    const nodes = [];
    if (sample !== null && sample < data.X.length) {
      const line = lineOf(data.X);
      nodes.push(element("h2", {}, `Sample ${sample + 1} of ${data.X.length}`));
      data.X[sample].slice(0, 6).forEach((value, i) => nodes.push(number(`sample-${i}`, `x${i + 1}`, value, (next) => this.edits.moveSample(sample, data.X[sample].map((old, c) => (c === i ? next : old))), Boolean(line) && i === 1)));
      nodes.push(number("sample-y", "label y", data.y[sample], (next) => this.edits.relabel(sample, next)));
      nodes.push(button("Flip the label", () => this.edits.flip(sample)), button("Hold out", () => this.edits.holdOut([sample])), button("Remove", () => this.edits.removeSample(sample)));
    } else if (neuron !== null && neuron < data.w.length) {
      nodes.push(element("h2", {}, `Neuron ${neuron + 1} of ${this.app.answers.data?.num_neurons ?? data.w.length}, at the start`));
      if (this.app.state.run.width !== "inf" && data.w.length <= 500 && data.X[0].length <= 6) {
        const row = this.edits.neuronRows()[neuron];
        const names = [...row.slice(0, -1).map((_, i) => `w${i + 1} / scale`), "a / scale"];
        row.forEach((value, i) => nodes.push(number(`neuron-${i}`, names[i], Number(value.toPrecision(6)), (next) => {
          const changed = row.map((old, c) => (c === i ? next : old));
          this.edits.moveNeuron(neuron, changed.slice(0, -1), changed[changed.length - 1]);
        })));
        nodes.push(button("Remove", () => this.edits.removeNeuron(neuron)));
      }
    } else nodes.push(element("p", { class: "hint" }, "Click a sample or a neuron; drag it. Double-click adds a sample. Shift-drag a sample changes its label."));
    nodes.push(element("div", { class: "pair" }, button("Add a sample", () => this.addSample()), button("Add a neuron", () => this.edits.addNeuron())));
    this.selected.replaceChildren(...nodes);
    if (hadFocus) document.getElementById(hadFocus)?.focus();
  }

  /** The numbers of the sample that is dragged, in the fields that are there. */
  showNumbers() {
    const { sample } = this.app.selection, { X, y } = this.edits.data;
    const values = new Map(sample === null ? [] : [...X[sample].slice(0, 6).map((value, i) => /** @type {const} */ ([`sample-${i}`, value])), ["sample-y", y[sample]]]);
    const inputs = [...this.selected.querySelectorAll("input")].filter(({ id }) => values.has(id));
    if (!values.size || inputs.length < values.size) { this.show(); return; }
    for (const input of inputs) put(input, "value", String(values.get(input.id)));
  }

  addSample() {
    const { X } = this.edits.data, line = lineOf(X), d = X[0].length;
    const reach = Math.max(...X.map((x) => Math.hypot(...x)));
    let x = Array.from({ length: d }, (_, i) => (i === 1 ? line?.constant : null) ?? (reach * Math.cos(1.3 * X.length + 1.9 * i)));
    if (x.every((value) => value === 0)) x = x.map(() => reach);
    this.edits.addSample(x, 1);
  }
}
