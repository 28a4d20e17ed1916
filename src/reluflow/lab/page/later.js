// What may wait while one drags: pieces of work done between two frames, each a few milliseconds long.
// @ts-check

const PIECE = 4; // milliseconds that must be left before the next frame to begin a piece, and more where pieces took longer
const PATIENCE = 100; // milliseconds after which one piece is done all the same

/** @param {(deadline: {didTimeout: boolean, timeRemaining: () => number}) => void} act */
function whenIdle(act) {
  if (window.requestIdleCallback) window.requestIdleCallback(act, { timeout: PATIENCE });
  else window.setTimeout(() => act({ didTimeout: true, timeRemaining: () => 0 }), 1);
}

export class Later {
  constructor() {
    /** What is to be done, in its order. @type {Map<string, Iterator<void>>} */
    this.works = new Map();
    this.isWaiting = false;
    /** Milliseconds the longest of the last pieces took. */
    this.longest = 0;
  }

  /** Do a work in pieces, where it yields; it takes the place of an older one of the same name. @param {string} name @param {Iterator<void>} work */
  do(name, work) {
    this.works.delete(name);
    this.works.set(name, work);
    this.wait();
  }

  /** Forget works: they were done at once. @param {...string} names */
  forget(...names) { for (const name of names) this.works.delete(name); }

  wait() {
    if (this.isWaiting || !this.works.size) return;
    this.isWaiting = true;
    whenIdle((deadline) => {
      this.isWaiting = false;
      if (deadline.didTimeout) this.step();
      while (this.works.size && deadline.timeRemaining() > Math.max(PIECE, this.longest)) this.step();
      this.wait();
    });
  }

  step() {
    const [first] = this.works, began = performance.now();
    if (first?.[1].next().done && this.works.get(first[0]) === first[1]) this.works.delete(first[0]);
    this.longest = Math.max(performance.now() - began, 0.9 * this.longest);
  }
}
