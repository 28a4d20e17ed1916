// The socket: asks, hands answers on, and comes back by itself after a sleep or a lost line.
// @ts-check
import { decodeFrame } from "./wire.js";

export class Connection {
  /**
   * @param {string} url
   * @param {{onMessage: (message: any) => void, onStatus: (status: string) => void}} handlers
   */
  constructor(url, handlers) {
    this.url = url;
    this.handlers = handlers;
    this.nextId = 1;
    /** The newest request of each kind; asked again after the line was lost. @type {Map<string, any>} */
    this.pending = new Map();
    /** The number of the newest request of each kind: answers to older ones are dropped. @type {Map<string, number>} */
    this.newest = new Map();
    this.attempts = 0;
    this.isClosed = false;
    this.connect();
    window.addEventListener("online", () => this.connect());
    document.addEventListener("visibilitychange", () => { if (!document.hidden) this.connect(); });
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
    socket.onmessage = (event) => {
      const message = decodeFrame(event.data);
      const slot = this.slotOf(message);
      if (message.id && this.newest.get(slot) !== message.id) return;
      if (!["stage", "hello"].includes(message.what)) this.pending.delete(slot);
      this.handlers.onMessage(message);
    };
    socket.onclose = () => {
      if (this.isClosed || socket !== this.socket) return;
      this.attempts += 1;
      this.handlers.onStatus(this.attempts > 3 ? "lost" : "reconnecting");
      this.timer = window.setTimeout(() => this.connect(), Math.min(5000, 150 * 2 ** this.attempts));
    };
  }

  slotOf(message) {
    const what = message.of || (message.what === "limit" ? "run" : message.what) || message.ask;
    return `${message.ask || what}/${message.tag || "main"}/${message.key || ""}`;
  }

  /** Ask for something; an older request of the same kind is forgotten. Returns its number. */
  ask(what, state, { tag = "main", key = "" } = {}) {
    const id = this.nextId++;
    const message = { ask: what, id, tag, state, ...(key ? { key } : {}) };
    this.pending.set(this.slotOf(message), message);
    this.newest.set(this.slotOf(message), id);
    if (this.socket && this.socket.readyState === 1) this.socket.send(JSON.stringify(message));
    else this.connect();
    return id;
  }

  close() {
    this.isClosed = true;
    this.socket?.close();
  }
}
