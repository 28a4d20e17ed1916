// Undo and redo: the states one came from, and those one went back from.
// @ts-check

/** @import { Application } from "./app.js" */

const MOST = 100;

export class History {
  /** @param {Application} app @param {() => void} onChange */
  constructor(app, onChange) {
    this.app = app;
    this.onChange = onChange;
    /** @type {string[]} */
    this.past = [];
    /** @type {string[]} */
    this.future = [];
    this.present = "";
    this.first = "";
  }

  /** What is undone: the run, the second run and what is held out, not where one looks. */
  get now() { const { run, ghost, held } = this.app.state; return JSON.stringify({ run, ghost, held }); }

  /** Called after every change that is not in the middle of a drag. */
  note() {
    const now = this.now;
    if (!this.present) this.first = now;
    else if (now !== this.present) {
      this.past.push(this.present);
      if (this.past.length > MOST) this.past.shift();
      this.future = [];
    }
    this.present = now;
    this.onChange();
  }

  undo() { this.go(this.past, this.future); }
  redo() { this.go(this.future, this.past); }
  reset() { if (this.first && this.first !== this.present) this.open(this.first); }

  /** @param {string[]} from @param {string[]} to */
  go(from, to) {
    const state = from.pop();
    if (state === undefined) return;
    to.push(this.present);
    this.present = state; // so that it is not noted as a step of its own
    this.open(state);
  }

  /** @param {string} state */
  open(state) { this.app.set({ version: 1, ...JSON.parse(state), view: { ...this.app.state.view, neuron: null } }); }
}
