// Take it away: the link, the command, Python lines, pictures, tables, an animation, the study report.
// @ts-check
import { dataCsv, neuronCsv, runCsv } from "./csv.js";
import { download, element } from "./dom.js";
import { animatedGif } from "./gif.js";
import { pictureOf, svgOf } from "./pictures.js";
/** @import { Application } from "./app.js" */
/** @import { Viewer } from "./viewer.js" */

/** @param {ArrayBuffer} buffer */
function base64(buffer) {
  const bytes = new Uint8Array(buffer), parts = [];
  for (let k = 0; k < bytes.length; k += 0x8000) parts.push(String.fromCharCode(...bytes.subarray(k, k + 0x8000)));
  return btoa(parts.join(""));
}

const GIF_FRAMES = 60, GIF_WIDTH = 760;

export class TakeAway {
  /** @param {Application} app @param {Viewer} viewer */
  constructor(app, viewer) {
    this.app = app;
    this.viewer = viewer;
    app.onReport = (message) => {
      if (!message) return;
      download(`${this.name()}-report.html`, message.html, "text/html");
      app.say("The report is in your downloads.");
    };
    app.onMovie = (message) => {
      download(`${this.name()}.mp4`, message.arrays.mp4.data, "video/mp4");
      app.say("The film is in your downloads.");
    };
  }

  name() { return this.app.state.run.name.replace(/[^a-z0-9]+/gi, "-").slice(0, 40) || "run"; }

  content() {
    const { app } = this, { localData, answers: { data } } = app;
    const copy = (/** @type {string} */ title, /** @type {() => string} */ text, /** @type {string} */ id) => [
      element("div", { class: "copy-head" }, element("h2", {}, title), element("button", { type: "button", "aria-label": `Copy: ${title}`, onclick: (event) => this.copy(text(), /** @type {HTMLElement} */ (event.currentTarget)) }, "copy")),
      element("pre", { id, tabindex: 0 }, text()),
    ];
    const button = (/** @type {string} */ words, /** @type {() => void} */ act) => element("button", { type: "button", onclick: act }, words);
    const d = localData ? localData.X[0].length : 0;
    const fitsDouble = localData !== null && Math.abs(localData.logScale) < 300;
    app.writeAddressNow();
    return [
      ...copy("This run as a link", () => location.href, "take-link"),
      ...(data && !app.isDragging ? copy("as a command", () => data.command, "take-command") : []),
      app.state.run.neurons && !fitsDouble ? element("p", { class: "hint" }, "Neurons of this scale do not fit a file of doubles; the Python lines give the same run.") : null,
      ...(data && !app.isDragging ? copy("in Python", () => data.python, "take-python") : []),
      element("h2", {}, "Files"),
      element("div", { class: "buttons" },
        button("PNG", () => pictureOf(this.viewer).canvas.toBlob((blob) => blob && download(`${this.name()}.png`, blob, "image/png"))),
        button("SVG", () => download(`${this.name()}.svg`, svgOf(this.viewer), "image/svg+xml")),
        localData ? button("CSV of the data", () => download("data.csv", dataCsv(localData.X, localData.y), "text/csv")) : null,
        fitsDouble ? button("CSV of the neurons at the start", () => download("neurons.csv", neuronCsv(localData.w, localData.a, Math.exp(localData.logScale)), "text/csv")) : null,
        button("CSV of the run", () => app.run && download(`${this.name()}-run.csv`, runCsv(app.run), "text/csv")),
        button("Save as a web page", () => this.page()),
        button("GIF of the run", () => this.gif()),
        app.menus?.ffmpeg && d <= 2 ? button("MP4 of the run", () => { app.say("The film is being made …"); app.connection?.ask("movie", app.state.run); }) : null,
        button("Study report", () => { app.say("The study is being written …"); app.connection?.ask("report", app.state.run); })),
      app.menus && !app.menus.ffmpeg ? element("p", { class: "hint" }, "An MP4 of the run needs ffmpeg, which was not found on this machine; the GIF needs nothing.") : null,
    ];
  }

  /** The run as one page that plays without a server: the same viewer with this run in it. */
  async page() {
    const { run, answers } = this.app;
    if (!run || run.isRunning || !answers.data) { this.app.say("The page can be saved when the run is there.", true); return; }
    const shell = await (await fetch("saved.html")).text();
    const plain = this.app.state.run.name.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
    const limit = answers.limit ? JSON.stringify({ ...answers.limit, arrays: undefined }).replaceAll("<", "\\u003c") : "null";
    const held = JSON.stringify(this.viewer.model.held ?? null); // numbers, and the words of the objective
    const parts = { "@TITLE@": plain, "@HELD@": held, "@DATA@": base64(answers.data.buffer), "@RUN@": base64(run.header.buffer), "@LIMIT@": limit };
    const text = Object.entries(parts).reduce((page, [mark, words]) => page.split(mark).join(words), shell);
    download(`${this.name()}.html`, text, "text/html");
    this.app.say("The page is in your downloads; it needs no server.");
  }

  /** @param {string} text @param {HTMLElement} target the button, which says so */
  async copy(text, target) {
    await navigator.clipboard.writeText(text);
    target.textContent = "copied";
    setTimeout(() => { target.textContent = "copy"; }, 1500);
  }

  /** The whole run as a GIF, from the frames that are kept. */
  async gif() {
    const { viewer, app } = this, { run } = app;
    if (!run) return;
    viewer.pause();
    const before = viewer.model.view.at, small = document.createElement("canvas");
    const blob = await animatedGif((k) => {
      viewer.position = (k / (GIF_FRAMES - 1)) * (run.T - 1);
      viewer.paint();
      const { canvas, context } = pictureOf(viewer, GIF_WIDTH, small);
      return context.getImageData(0, 0, canvas.width, canvas.height);
    }, GIF_FRAMES, 8, (share) => app.say(`The animation: ${Math.round(100 * share)} %`));
    viewer.scrub(before);
    app.say("The animation is in your downloads.");
    download(`${this.name()}.gif`, blob, "image/gif");
  }
}
