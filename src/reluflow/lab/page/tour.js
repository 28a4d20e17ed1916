// A tour of six scenes: one per paper, and saddle to saddle. Each is a state, two sentences, and something to drag.
// @ts-check
import { element } from "./dom.js";

/** @type {{title: string, paper: string, words: string, act: string, run: Record<string, any>, view?: Record<string, any>}[]} */
export const SCENES = [
  {
    title: "Early alignment",
    paper: "Boursier & Flammarion (2024)",
    words: "Small neurons turn long before they grow: here all that stay alive turn to the one extremal vector ▲1, and the network ends at the least-squares line instead of fitting the three points.",
    act: "Press ▶. Then drag the middle point in the function plot upwards and watch ▲1 follow.",
    run: { name: "three-points", loss: "square", width: 60, scale: "1e-3" },
  },
  {
    title: "Two classes",
    paper: "Min, Mallada & Vidal (2024)",
    words: "Each neuron turns to the class its output weight agrees with, or dies in the hatched cone where no sample is active. Once aligned, the loss falls.",
    act: "Drag a sample of one class towards the other and watch the cones narrow.",
    run: { name: "min-toy", loss: "exponential", width: 60, scale: "1e-4" },
  },
  {
    title: "Symmetric data, a linear classifier",
    paper: "Lyu, Li, Wang & Arora (2021)",
    words: "With a leaky ReLU and data that hold (−x, −y) with every (x, y), the neurons gather on two opposite directions, one for each sign of a, and the network becomes a linear classifier. The end is certified as the max-margin direction.",
    act: "Drag one sample, break the symmetry, and read under Phases and end what becomes of the certificate.",
    run: { name: "lyu-symmetric", loss: "logistic", leak: 0.5, width: 40, scale: "1e-4" },
  },
  {
    title: "Orthogonally separable data",
    paper: "Phuong & Lampert (2021)",
    words: "Samples of one class make acute angles, samples of two classes none: the network learns the max-margin direction of each class on its own. Neurons that start in the hatched cone never move.",
    act: "Click a hollow neuron to read why it is dead, then drag a sample until the cone closes.",
    run: { name: "phuong-dead-cone", loss: "logistic", reduction: "sum", width: 60, scale: "1e-3" },
  },
  {
    title: "A teacher of one neuron",
    paper: "Lee, Sim & Ye (2022)",
    words: "The labels are those of one ReLU neuron, and all output weights start positive: the run ends at a perfect fit. But the fit does not determine the neurons, for on these three samples a whole segment of minima fits.",
    act: "Press next beside the seed: another draw, another network, the same three outputs.",
    run: { name: "lee-flat-minimum", loss: "square", init: "lee", width: 3, scale: "1e-3" },
  },
  {
    title: "From saddle to saddle",
    paper: "scale 1e-30",
    words: "Two groups of neurons grow at different rates, so the loss falls in steps with a plateau between: the network rests near a saddle until the second group is large enough.",
    act: "Slide the scale towards 1e-300: the plateau grows with the logarithm of the scale, and the path stays the same.",
    run: { name: "two sides", X: [[1, 0.25], [-1, 0.25]], y: [1, 0.4], loss: "square", width: 40, scale: "1e-30" },
    view: { axis: "linear", loss: "linear" }, // the steps are seen in the loss itself, against the time itself
  },
];

/** The scene that is shown first; it stands last, so that links of before open the scenes they name. */
SCENES.push({
  title: "What you see",
  paper: "two samples, four neurons",
  words: "The network is h(x) = Σ a σ(⟨w, x⟩). Each dot is one neuron: its angle is the direction of its input weights, its distance from the centre their size. The two squares and circles with signs are samples; a neuron responds to those on its side of their walls. Small neurons first turn to an arrow of the ring’s colour, then grow along it: that is all of training.",
  act: "Press ▶ and follow one dot. Point at anything to read its name; click a dot to read why it goes where it goes.",
  run: { name: "two samples", X: [[1, 0.3], [-0.6, 0.9]], y: [1, -1], loss: "logistic", width: 4, scale: "1e-2", seed: 2 },
});
const ORDER = [6, 0, 1, 2, 3, 4, 5];

export class Tour {
  /** @param {HTMLElement} root @param {any} app */
  constructor(root, app) {
    this.root = root;
    this.app = app;
    /** @type {any} */ this.scene = null;
    /** @type {any} */ this.before = null;
    root.hidden = true;
    // the viewer takes what the tour leaves of the window
    new ResizeObserver(() => document.documentElement.style.setProperty("--tour", `${root.offsetHeight}px`)).observe(root);
  }

  /** @param {number} index */
  async open(index) {
    if (this.scene === null && this.app.state.view.scene === null) this.before = JSON.parse(JSON.stringify(this.app.state));
    this.scene = index;
    const scene = SCENES[index];
    this.show();
    if (matchMedia("(max-width: 1000px)").matches) { // the sheet would lie over the picture that the scene speaks of
      document.getElementById("says")?.classList.add("is-low");
      this.root.scrollIntoView({ block: "start" });
    }
    await this.app.set({ version: 1, run: scene.run, ghost: null, view: { at: 0, scene: index, axis: "change", ...scene.view } });
    this.app.viewer.play(1);
  }

  close() {
    this.scene = null;
    this.root.hidden = true;
    if (this.before) this.app.set(this.before); // what was on the page before the tour
    else this.app.setView({ scene: null });
    this.before = null;
  }

  show() {
    const index = this.scene ?? this.app.state.view.scene;
    this.root.hidden = index === null;
    if (index === null) return;
    const scene = SCENES[index], at = ORDER.indexOf(index);
    const button = (words, act, disabled = false) => element("button", { type: "button", onclick: act, disabled }, words);
    this.root.replaceChildren(
      element("div", {},
        element("h2", {}, `${at}. ${scene.title}`, element("small", {}, ` ${scene.paper}`)),
        element("p", {}, scene.words), element("p", { class: "act" }, scene.act)),
      element("div", { class: "tour-buttons" },
        button("Back", () => this.open(ORDER[at - 1]), at === 0),
        button(at === ORDER.length - 1 ? "End the tour" : "Next", () => (at === ORDER.length - 1 ? this.close() : this.open(ORDER[at + 1]))),
        button("Close", () => this.close())));
  }
}
