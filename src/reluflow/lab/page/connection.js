// The socket: asks, hands answers on, and comes back by itself after a sleep or a lost line.
// @ts-check
import { decodeFrame } from "./wire.js";
/** @import { Answer } from "./answers.d.ts" */
/** @import { RunState } from "./model.d.ts" */

/** @typedef {{ask: string, id: number, tag: string, state: RunState, key?: string, brief?: boolean}} Request */
/** @typedef {"connected" | "reconnecting" | "lost" | "ended"} Status */

const BEAT = 5000; // milliseconds between two signs of life that are asked for
const SILENCE = 4000; // milliseconds without any answer after which the line counts as dead, though nobody closed it
const ASLEEP = 3 * BEAT; // milliseconds without a beat: the machine slept, and the line is asked at once

export class Connection {
  /**
   * @param {string} url
   * @param {{onMessage: (message: Answer) => void, onStatus: (status: Status) => void}} handlers
   */
  constructor(url, handlers) {
    this.url = url;
    this.handlers = handlers;
    this.nextId = 1;
    /** The newest request of each kind; asked again after the line was lost. @type {Map<string, Request>} */
    this.pending = new Map();
    /** The number of the newest request of each kind: answers to older ones are dropped. @type {Map<string, number>} */
    this.newest = new Map();
    this.attempts = 0;
    /** @type {WebSocket | null} */
    this.socket = null;
    this.isClosed = false;
    this.lastBeat = this.lastHeard = Date.now();
    this.connect();
    window.addEventListener("online", () => this.revive());
    window.addEventListener("pageshow", () => this.revive());
    document.addEventListener("visibilitychange", () => { if (!document.hidden) this.revive(); });
    window.setInterval(() => this.beat(), BEAT);
  }

  /** Connect if there is no line; if there is one, find out whether anybody is at its other end. */
  revive() {
    this.connect();
    this.ping();
  }

  beat() {
    const gap = Date.now() - this.lastBeat;
    this.lastBeat = Date.now();
    if (gap > ASLEEP) this.revive();
    else if (Date.now() - this.lastHeard >= BEAT) this.ping();
  }

  /** Ask for a sign of life; a socket from before a sleep is open and silent, so a new one takes its place. */
  ping() {
    const { socket } = this;
    if (this.isClosed || !socket || socket.readyState !== 1 || this.listening) return;
    const asked = Date.now();
    socket.send(JSON.stringify({ ask: "ping", id: 0 }));
    this.listening = window.setTimeout(() => {
      this.listening = 0;
      if (socket === this.socket && this.lastHeard < asked) this.replace();
    }, SILENCE);
  }

  replace() {
    const old = this.socket;
    this.socket = null;
    if (old) {
      old.onmessage = old.onclose = null;
      old.close();
    }
    this.attempts += 1;
    this.handlers.onStatus("reconnecting");
    this.connect();
  }

  connect() {
    if (this.isClosed || (this.socket && this.socket.readyState <= 1)) return;
    window.clearTimeout(this.timer);
    const socket = new WebSocket(this.url);
    this.socket = socket;
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      this.attempts = 0;
      this.handlers.onStatus("connected");
      for (const message of this.pending.values()) socket.send(JSON.stringify(message));
    };
    socket.onmessage = (/** @type {MessageEvent<ArrayBuffer>} */ event) => {
      this.lastHeard = Date.now();
      const message = decodeFrame(event.data);
      if (message.what === "pong") return;
      const its = this.slotOf(message);
      if (message.id && this.newest.get(its) !== message.id) return;
      if (message.what === "done" || message.what === "error" || message.what === "data") this.pending.delete(its);
      this.handlers.onMessage(message);
    };
    socket.onclose = () => {
      if (this.isClosed || socket !== this.socket) return;
      this.attempts += 1;
      this.handlers.onStatus(this.attempts > 3 ? "lost" : "reconnecting");
      this.timer = window.setTimeout(() => this.connect(), Math.min(5000, 150 * 2 ** this.attempts));
      if (this.attempts >= 2) this.lookForStranger();
    };
  }

  /** A server that answers here and does not know this address was started anew: no trying will help. */
  async lookForStranger() {
    try {
      const answer = await fetch(this.url.replace(/^ws/, "http").replace(/socket$/, ""), { method: "HEAD", cache: "no-store" });
      if (answer.status !== 404) return;
    } catch { return; } // nobody answers: it may come back
    this.close();
    this.handlers.onStatus("ended");
  }

  /** Which request an answer belongs to; a limit comes with its run. @param {Answer} message */
  slotOf(message) {
    const what = ("of" in message && message.of) || (message.what === "limit" ? "run" : message.what);
    return slot(what, message.tag, message.key);
  }

  /** Ask for something; an older request of the same kind is forgotten. Returns its number. @param {string} what @param {RunState} state */
  ask(what, state, { tag = "main", key = "", isBrief = false } = {}) {
    const id = this.nextId++;
    const message = { ask: what, id, tag, state, ...(key ? { key } : {}), ...(isBrief ? { brief: true } : {}) };
    this.pending.set(slot(what, tag, key), message);
    this.newest.set(slot(what, tag, key), id);
    if (this.socket && this.socket.readyState === 1) {
      this.socket.send(JSON.stringify(message));
      if (Date.now() - this.lastHeard >= BEAT) this.ping(); // it has been quiet for a while: is anybody there?
    } else this.connect();
    return id;
  }

  close() {
    this.isClosed = true;
    window.clearTimeout(this.listening);
    this.socket?.close();
  }
}

/** Requests of one slot replace each other. @param {string} what @param {string} tag @param {string} key */
function slot(what, tag = "main", key = "") { return `${what}/${tag}/${key}`; }
