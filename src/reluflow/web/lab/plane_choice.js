// Which plane of more than two dimensions is shown.
// @ts-check
import { element } from "./dom.js";

export class PlaneChoice {
  /** @param {HTMLElement} root @param {any} app */
  constructor(root, app) { Object.assign(this, { root, app }); }

  show() {
    const data = this.app.localData, d = data ? data.X[0].length : 2;
    this.root.hidden = d < 3;
    if (d < 3) return;
    const n = data.X.length, found = this.app.model().extremal.length;
    const options = [["auto", "principal directions"], ...(d === 3 ? [["sphere", "the sphere"]] : [])];
    for (let i = 0; i < Math.min(n, 6); i++) for (let j = i + 1; j < Math.min(n, 6); j++) options.push([`samples-${i}-${j}`, `samples ${i + 1} and ${j + 1}`]);
    for (let i = 0; i < Math.min(found, 4); i++) for (let j = i + 1; j < Math.min(found, 5); j++) options.push([`extremal-${i}-${j}`, `extremal ${i + 1} and ${j + 1}`]);
    const select = element("select", { id: "plane", onchange: () => this.app.setView({ plane: select.value }) }, options.map(([value, words]) => element("option", { value }, words)));
    select.value = this.app.state.view.plane;
    this.root.replaceChildren(element("label", { for: "plane" }, "plane"), select);
  }
}
