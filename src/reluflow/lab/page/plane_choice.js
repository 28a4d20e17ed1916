// Which plane of more than two dimensions is shown.
// @ts-check
import { element } from "./dom.js";
import { helpOf } from "./help.js";
/** @import { Application } from "./app.js" */

const MOST_SAMPLES = 6, MOST_EXTREMAL = 5; // offered; a link may name any, and a sample that is clicked is offered too

export class PlaneChoice {
  /** @param {HTMLElement} root @param {Application} app */
  constructor(root, app) {
    this.root = root;
    this.app = app;
  }

  show() {
    const data = this.app.localData, d = data ? data.X[0].length : 2;
    this.root.hidden = d < 3;
    if (!data || d < 3) return;
    const { sample } = this.app.selection, current = this.app.state.view.plane;
    const first = (/** @type {number} */ count, /** @type {number} */ most) => Array.from({ length: Math.min(count, most) }, (_, k) => k);
    const samples = first(data.X.length, MOST_SAMPLES), extremal = first(this.app.extremal().length, MOST_EXTREMAL);
    if (sample !== null && !samples.includes(sample) && sample < data.X.length) samples.push(sample); // any one, once it is clicked
    const pairs = (/** @type {number[]} */ among) => among.flatMap((i, at) => among.slice(at + 1).map((j) => [i, j]));
    /** @type {[string, string[][]][]} */
    const groups = [
      ["two extremal vectors", pairs(extremal).map(([i, j]) => [`extremal-${i}-${j}`, `extremal ${i + 1} and ${j + 1}`])],
      ["an extremal vector and a sample", extremal.flatMap((i) => samples.map((j) => [`extremal-${i}-sample-${j}`, `extremal ${i + 1} and sample ${j + 1}`]))],
      ["two samples", pairs(samples).map(([i, j]) => [`samples-${i}-${j}`, `samples ${i + 1} and ${j + 1}`])],
    ];
    const option = (/** @type {string[]} */ [value, words]) => element("option", { value }, words);
    const select = element("select", { id: "plane", onchange: () => this.app.setView({ plane: select.value }) },
      [["auto", "principal directions"], ...(d === 3 ? [["sphere", "the sphere"]] : [])].map(option),
      groups.filter(([, options]) => options.length).map(([label, options]) => element("optgroup", { label }, options.map(option))));
    const value = current === "principal" ? "auto" : current;
    if (![...select.options].some((one) => one.value === value)) select.append(option([value, "as in the link"]));
    select.value = value;
    const hadFocus = this.root.contains(document.activeElement);
    this.root.replaceChildren(element("label", { for: "plane" }, "plane"), helpOf("plane", "plane"), select);
    if (hadFocus) select.focus();
  }
}
