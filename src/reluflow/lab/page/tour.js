// A tour of six scenes: one per paper, and saddle to saddle. Each is a state, two sentences, and something to drag.
// @ts-check
import { element } from "./dom.js";
import { SCENES } from "./scenes.js";
/** @import { Application } from "./app.js" */
/** @import { State } from "./model.d.ts" */

/** Places in SCENES, in the order of the tour. */
const ORDER = [6, 0, 1, 2, 3, 4, 5];

export class Tour {
  /** @param {HTMLElement} root @param {Application} app */
  constructor(root, app) {
    this.root = root;
    this.app = app;
    /** @type {number | null} */ this.scene = null;
    /** What was on the page before the tour. @type {State | null} */ this.before = null;
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
    const button = (/** @type {string} */ words, /** @type {() => void} */ act, disabled = false) => element("button", { type: "button", onclick: act, disabled }, words);
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
