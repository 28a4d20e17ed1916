// The controls: data, objective, neurons, a second run. Each writes one field of the state.
// @ts-check
import { element } from "./dom.js";
import { logOfScale, scaleText } from "./edits.js";
import { HELP, helpOf } from "./help.js";
import { LAYERS } from "./plane.js";
import { thumbnails } from "./thumbnails.js";
/** @import { DatasetEntry, Scheme } from "./answers.d.ts" */
/** @import { Application } from "./app.js" */
/** @import { Child } from "./dom.js" */
/** @import { RunState } from "./model.d.ts" */

const SCALE_POWER = 3; // of the slider: fine near 1, coarse near 1e-1000

/** @param {Scheme[]} entries */
function byPaper(entries) {
  return [...new Set(entries.map((one) => one.paper))].map((paper) =>
    element("optgroup", { label: paper }, entries.filter((one) => one.paper === paper).map((one) => element("option", { value: one.name, title: one.summary }, one.name))));
}

/** @param {[string, string][]} values and words */
const options = (values) => values.map(([value, words]) => element("option", { value }, words));

/** @param {string} label @param {keyof typeof HELP} id @param {...Child} nodes */
const field = (label, id, ...nodes) => element("div", { class: "field" }, element("label", { for: id }, label), helpOf(id, label), ...nodes);

export class Controls {
  /** @param {HTMLElement} root @param {Application} app */
  constructor(root, app) {
    this.root = root;
    this.app = app;
    this.isBuilt = false;
    this.words = element("p", { id: "data-words", class: "hint" });
    const data = element("select", { id: "data", "aria-describedby": "data-words", onchange: () => this.chooseData(data.value) });
    this.inputs = {
      data,
      loss: this.choice("loss", options([["square", "square"], ["logistic", "logistic"], ["exponential", "exponential"], ["softmax", "softmax"]])),
      reduction: this.choice("reduction", options([["mean", "mean"], ["sum", "sum"]])),
      init: this.choice("init", []),
      method: this.choice("method", options([["flow", "exact gradient flow"], ["gd", "gradient descent"]])),
      leak: this.range("leak", 0, 1, 0.01),
      width: element("input", { id: "width", type: "number", min: 1, max: 5000, step: 1, onchange: () => this.write("width", Math.round(Number(this.inputs.width.value)), { neurons: null }) }),
      infinite: element("input", { id: "infinite", type: "checkbox", onchange: () => this.write("width", this.inputs.infinite.checked ? "inf" : 60, { neurons: null, ...(this.inputs.infinite.checked ? { init: "balanced" } : {}) }) }),
      seed: element("input", { id: "seed", type: "number", min: 0, step: 1, onchange: () => this.write("seed", Math.round(Number(this.inputs.seed.value)), { neurons: null }) }),
      scale: element("input", { id: "scale", type: "text", inputmode: "decimal", spellcheck: "false", onchange: () => this.write("scale", this.inputs.scale.value.trim()) }),
      scaleSlider: element("input", { type: "range", min: 0, max: 1, step: 0.001, "aria-label": "Scale, from 1 to 1e-1000", oninput: () => this.slideScale(), onchange: () => this.write("scale", this.inputs.scale.value) }),
      lr: element("input", { id: "lr", type: "number", min: 1e-8, step: "any", onchange: () => this.write("lr", Number(this.inputs.lr.value)) }),
      iterations: element("input", { id: "iterations", type: "number", min: 1, step: 1, onchange: () => this.write("iterations", Math.round(Number(this.inputs.iterations.value))) }),
      ghost: element("select", { id: "ghost", onchange: () => this.chooseGhost() },
        options([["", "none"], ["scale", "another scale"], ["seed", "another seed"], ["gd", "descent"], ["leak", "another leak"]])),
      ghostValue: element("input", { id: "ghost-value", type: "text", "aria-label": "Value of the second run", spellcheck: "false", onchange: () => this.chooseGhost() }),
    };
    const { inputs } = this;
    inputs.reduction.setAttribute("aria-label", "Mean or sum over samples");
    this.descent = element("div", { class: "descent" }, field("learning rate", "lr", inputs.lr), field("iterations", "iterations", inputs.iterations));
    this.adding = element("select", { id: "adding", onchange: () => { this.app.adding = this.adding.value === "" ? null : Number(this.adding.value); } });
    this.redraw = element("button", { type: "button", onclick: () => this.app.change({ neurons: null }) }, "Draw the neurons again");
  }

  /** Fill the menus with what the server has, and put all on the page. @param {DatasetEntry[]} datasets @param {Scheme[]} schemes */
  build(datasets, schemes) {
    const { inputs } = this;
    inputs.data.append(...byPaper(datasets), element("option", { value: "", disabled: true }, "your own data"));
    inputs.init.append(...byPaper(schemes));
    this.root.append(
      field("dataset", "data", inputs.data, this.words, thumbnails(datasets, (name) => this.chooseData(name))),
      field("initial size", "scale", element("div", { class: "pair" }, inputs.scaleSlider, inputs.scale)),
      field("number of neurons", "width", element("div", { class: "pair" }, inputs.width, element("label", { class: "inline", for: "infinite" }, inputs.infinite, "∞"))),
      field("negative slope", "leak", element("div", { class: "pair" }, inputs.leak, element("output", { id: "leak-value" }))),
      field("loss", "loss", element("div", { class: "pair" }, inputs.loss, inputs.reduction)),
      field("initialisation", "init", inputs.init),
      field("seed", "seed", element("div", { class: "pair" }, inputs.seed, element("button", { type: "button", onclick: () => this.write("seed", (this.app.state.run.seed + 1) % 4294967296, { neurons: null }) }, "next"))),
      this.redraw,
      field("method", "method", inputs.method), this.descent,
      field("second run", "ghost", element("div", { class: "pair" }, inputs.ghost, inputs.ghostValue)),
      field("a click adds", "adding", this.adding), this.layers());
    this.isBuilt = true;
    this.show();
  }

  /** What is drawn in the circle, each to be hidden. */
  layers() {
    const boxes = Object.entries(LAYERS).map(([key, words]) => {
      const input = element("input", { type: "checkbox", id: `layer-${key}`, checked: true, onchange: () => this.app.setHidden(key, !input.checked) });
      return element("label", { class: "inline", for: `layer-${key}` }, input, words);
    });
    return element("div", { class: "field" }, helpOf("layers", "layers"), element("details", { id: "layers" }, element("summary", {}, "layers"), boxes));
  }

  /** The labels that a click can add. */
  showAdding() {
    const { classes } = this.app.localData ?? {}, { loss } = this.app.state.run;
    /** @type {[string, string][]} */
    const kinds = classes ? classes.map((name, c) => [String(c), `class ${name}`]) : loss === "square" ? [["1", "y = 1"], ["0", "y = 0"], ["-1", "y = −1"]] : [["1", "class +1"], ["-1", "class −1"]];
    const words = kinds.join();
    if (this.adding.dataset.kinds === words) return;
    this.adding.dataset.kinds = words;
    this.adding.replaceChildren(...options([["", "nothing"], ...kinds]));
    this.adding.value = "";
    this.app.adding = null;
  }

  /** @param {"loss" | "reduction" | "init" | "method"} name @param {HTMLOptionElement[]} choices */
  choice(name, choices) {
    const select = element("select", { id: name, onchange: () => this.write(name, select.value, name === "init" ? { neurons: null } : {}) }, choices);
    return select;
  }

  /** @param {"leak"} name @param {number} min @param {number} max @param {number} step */
  range(name, min, max, step) {
    const input = element("input", { id: name, type: "range", min, max, step, oninput: () => { const output = document.getElementById(`${name}-value`); if (output) output.textContent = input.value; }, onchange: () => this.write(name, Number(input.value)) });
    return input;
  }

  /** @param {keyof RunState} name @param {unknown} value not yet checked @param {Partial<RunState>} also */
  write(name, value, also = {}) {
    try {
      this.app.change(this.app.checkedChange({ [name]: value, ...also }));
      this.app.say("");
    } catch (error) {
      this.app.say(/** @type {Error} */ (error).message, true);
      this.show();
    }
  }

  slideScale() {
    const exponent = -1000 * Number(this.inputs.scaleSlider.value) ** SCALE_POWER;
    const scale = scaleText(exponent > -10 ? Math.round(2 * exponent) / 2 : Math.round(exponent)), old = this.app.state.run.scale;
    this.inputs.scale.value = scale;
    const data = this.app.localData; // the run follows while one slides, as it follows a dragged sample
    if (data && scale !== old) this.app.change({ scale }, { isDragging: true, data: { ...data, logScale: data.logScale + logOfScale(scale) - logOfScale(old) } });
  }

  /** @param {string} name */
  chooseData(name) {
    const entry = this.app.menus?.datasets.find((one) => one.name === name);
    if (!entry) return;
    this.app.select({});
    this.app.setView({ plane: "auto", scene: null });
    this.app.run = null;
    this.app.change({ name, X: null, y: null, bias: false, neurons: null, loss: entry.loss, reduction: entry.reduction, factor: entry.factor, leak: entry.leak ?? 0, ...(entry.d !== 2 && this.app.state.run.width === "inf" ? { width: 60 } : {}) }, { held: null });
  }

  chooseGhost() {
    const { run } = this.app.state, kind = this.inputs.ghost.value;
    const typed = this.inputs.ghostValue.value.trim();
    const isNew = kind !== this.ghostKind();
    try {
      if (!kind) this.app.setGhost(null);
      else if (kind === "scale") this.app.setGhost({ scale: isNew ? scaleText(Math.max(-1000, 2 * logOfScale(run.scale) / Math.LN10)) : typed });
      else if (kind === "seed") this.app.setGhost({ seed: isNew ? run.seed + 1 : Number(typed) });
      else if (kind === "leak") this.app.setGhost({ leak: isNew ? (run.leak > 0 ? 0 : 0.3) : Number(typed) });
      else this.app.setGhost({ method: "gd", lr: isNew ? 0.01 : Number(typed), iterations: 20000 });
    } catch (error) { this.app.say(/** @type {Error} */ (error).message, true); }
    this.show();
  }

  ghostKind() {
    const { ghost } = this.app.state;
    return !ghost ? "" : ghost.method === "gd" ? "gd" : Object.keys(ghost)[0];
  }

  /** How many samples of which dimension, once they are known; of data of one's own also their name. */
  dataWords() {
    const { run } = this.app.state, X = this.app.localData?.X;
    if (!X) return "";
    return `${run.X === null ? "" : `${run.name}: `}${X.length} sample${X.length === 1 ? "" : "s"}, d = ${X[0].length}`;
  }

  /** Write the state into the controls. */
  show() {
    const { run, ghost } = this.app.state, { inputs } = this;
    if (!this.isBuilt) return;
    this.showAdding();
    inputs.data.value = run.X === null ? run.name.split(":")[0] : "";
    this.words.textContent = this.dataWords();
    for (const name of /** @type {const} */ (["loss", "reduction", "init", "method"])) inputs[name].value = run[name];
    inputs.leak.value = String(run.leak);
    const output = document.getElementById("leak-value");
    if (output) output.textContent = String(run.leak);
    inputs.infinite.checked = run.width === "inf";
    inputs.width.disabled = run.width === "inf";
    inputs.width.value = run.width === "inf" ? "" : String(run.width);
    inputs.infinite.disabled = this.app.localData ? this.app.localData.X[0].length !== 2 : false;
    inputs.seed.value = String(run.seed);
    if (document.activeElement !== inputs.scale) inputs.scale.value = run.scale;
    inputs.scaleSlider.value = String(Math.min(1, Math.max(0, -logOfScale(run.scale) / Math.LN10 / 1000)) ** (1 / SCALE_POWER));
    inputs.scaleSlider.setAttribute("aria-valuetext", run.scale);
    inputs.lr.value = String(run.lr);
    inputs.iterations.value = String(run.iterations);
    this.descent.hidden = run.method !== "gd";
    this.redraw.hidden = run.neurons === null;
    const kind = this.ghostKind();
    inputs.ghost.value = kind;
    inputs.ghostValue.hidden = !kind;
    inputs.ghostValue.value = !ghost ? "" : String(kind === "gd" ? ghost.lr : Object.values(ghost)[0]);
  }
}
