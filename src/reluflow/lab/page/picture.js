// What shows a model: the viewer, and each picture in it.
// @ts-check
/** @import { PaintedModel } from "./model.d.ts" */

export class Picture {
  constructor() {
    /** What was given to `show`; null before. @type {PaintedModel | null} */
    this.given = null;
  }

  /** What is shown; asked for only once something is. */
  get model() {
    if (!this.given) throw new Error("nothing has been shown yet");
    return this.given;
  }

  /** @param {PaintedModel} model */
  show(model) { this.given = model; }
}
