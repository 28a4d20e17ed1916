// The viewer: the plane, the function, the tracks and the slider over one run, without a server.
// @ts-check
import { differingGates } from "./gates.js";
import { element, put, shown, shownTime, write } from "./dom.js";
import { heldWords } from "./held.js";
import { functionNameAt, nameAt, trackNameAt } from "./hover.js";
import { legendOf } from "./legend.js";
import { FunctionPlot, lineOf } from "./function_plot.js";
import { Later } from "./later.js";
import { Picture } from "./picture.js";
import { Plane } from "./plane.js";
import { Sphere } from "./sphere.js";
import { palette } from "./surface.js";
import { Tracks } from "./tracks.js";
/** @import { LossAxis, Model, ShownNeurons, TimeAxis } from "./model.d.ts" */
/** @import { Run } from "./run.js" */

const PLAY_SECONDS = 9;

/** @type {[TimeAxis, string][]} */
const AXES = [["log", "log time"], ["change", "even in change"], ["linear", "linear time"]];
/** @type {[LossAxis, string][]} */
const LOSS_AXES = [["log", "log loss"], ["linear", "linear loss"]];
/** @type {[string, string][]} */
const PACES = [["0.25", "¼×"], ["0.5", "½×"], ["1", "1×"], ["2", "2×"]];

/**
 * A menu; `act` is called with what was chosen.
 * @template {string} Choice
 * @param {string} label @param {[Choice, string][]} options values and words @param {(chosen: Choice) => void} act
 */
function choice(label, options, act) {
  const select = element("select", { "aria-label": label, onchange: () => act(options[select.selectedIndex][0]) }, options.map(([value, words]) => element("option", { value }, words)));
  return select;
}

export class Viewer extends Picture {
  /**
   * @param {HTMLElement} root
   * @param {{onScrub?: (at: number) => void, onAxis?: (axis: TimeAxis) => void, onLossAxis?: (axis: LossAxis) => void}} acts
   */
  constructor(root, { onScrub = (_) => {}, onAxis = (_) => {}, onLossAxis = (_) => {} } = {}) {
    super();
    this.root = root;
    this.onScrub = onScrub;
    const canvas = (/** @type {string} */ name, /** @type {string} */ label, /** @type {boolean} */ focusable) => element("canvas", { class: name, role: "img", "aria-label": label, tabindex: focusable ? 0 : false });
    this.planeCanvas = canvas("plane", "The plane of the neurons", true);
    this.planeCanvas.setAttribute("role", "application");
    this.planeCanvas.setAttribute("aria-describedby", "plane-keys");
    this.functionCanvas = canvas("function", "The function the network computes", false);
    this.tracksCanvas = canvas("tracks", "Loss, sizes and angles over time", false);
    this.view = element("span", { class: "view" });
    this.legend = element("span", { class: "legend" });
    this.caption = element("figcaption", { class: "plane-words" }, this.view, this.legend);
    /** What lies under the pointer. */
    this.name = element("div", { class: "name", role: "tooltip", hidden: true });
    this.slider = element("input", { type: "range", min: 0, max: 1, step: 0.0005, value: 1, "aria-label": "Time, from the start to the end of the run", class: "time" });
    this.playButton = element("button", { type: "button", class: "play", "aria-label": "Play", title: "Play or pause (space)" }, "▶");
    this.readout = element("output", { class: "readout", "aria-live": "off" });
    this.axis = choice("Axis of time", AXES, onAxis);
    this.lossAxis = choice("Axis of the loss", LOSS_AXES, onLossAxis);
    this.pace = choice("Speed", PACES, (pace) => { this.speed = Number(pace); });
    this.pace.value = "1";
    const button = (/** @type {string} */ words, /** @type {string} */ label, /** @type {() => void} */ act) => element("button", { type: "button", "aria-label": label, title: label, onclick: act }, words);
    root.append(
      element("figure", { class: "pane plane-pane" }, this.planeCanvas, this.caption, this.name),
      element("figure", { class: "pane function-pane" }, this.functionCanvas),
      element("figure", { class: "pane tracks-pane" }, this.tracksCanvas),
      element("div", { class: "transport", role: "group", "aria-label": "Time" },
        button("|◀", "To the start", () => this.scrub(0)), button("◀", "Run backwards", () => this.play(-1)),
        this.playButton, button("▶|", "To the end", () => this.scrub(1)),
        button("‹", "One state back (<)", () => this.step(-1)), button("›", "One state on (>)", () => this.step(1)), this.pace,
        this.slider, this.readout, this.axis, this.lossAxis));
    this.plane = new Plane(this.planeCanvas);
    this.sphere = new Sphere(this.plane.surface);
    this.function = new FunctionPlot(this.functionCanvas);
    this.tracks = new Tracks(this.tracksCanvas);
    this.slider.addEventListener("input", () => { this.pause(); this.scrub(Number(this.slider.value)); });
    this.playButton.addEventListener("click", () => this.togglePlay());
    this.tracksCanvas.addEventListener("pointerdown", (event) => this.startTrackScrub(event));
    this.tracksCanvas.addEventListener("pointermove", (event) => { if (event.pointerType !== "touch" && !event.buttons) this.nameUnder(event); });
    for (const one of [this.planeCanvas, this.functionCanvas, this.tracksCanvas]) one.addEventListener("pointerleave", () => { this.name.hidden = true; });
    this.direction = 0;
    this.speed = 1;
    this.position = 0;
    this.isDirty = this.isSphere = this.hasLiveFunction = false;
    /** What may wait while one drags: the function, the tracks, what is said. */
    this.later = new Later();
    /** @type {number[]} */
    this.timing = [];
    const observer = new ResizeObserver(() => this.redraw(true));
    for (const node of [root, this.planeCanvas, this.functionCanvas, this.tracksCanvas]) observer.observe(node);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.refresh());
  }

  /** @param {Model} model */
  show(model) {
    // behind a pointer only the plane is drawn anew: the run is still the old one, and so are its tracks
    const { given } = this, colors = model.isDragging && given && given.run === model.run && given.ghost === model.ghost ? given.palette : null, isOld = colors !== null;
    const painted = { ...model, palette: colors ?? palette(this.root) };
    super.show(painted);
    const { run } = model;
    this.isSphere = model.data.X[0].length === 3 && model.view.plane === "sphere";
    for (const part of [this.plane, this.sphere]) part.show(painted);
    this.position = run ? run.positionOf(model.view.at, model.view.axis) : 0;
    this.hasLiveFunction = lineOf(model.data.X) !== null || this.function.held !== null; // then it is drawn with the plane: one drags its points
    if (!isOld) this.tracks.show(painted);
    if (!model.isDragging || this.hasLiveFunction) this.function.show(painted);
    if (model.isDragging && !isOld) this.paintLater();
    put(this.slider, "value", String(model.view.at));
    put(this.axis, "value", model.view.axis);
    put(this.lossAxis, "value", model.view.loss);
    put(this.slider, "disabled", !run);
    write(this.view, this.isSphere ? "The sphere of directions; drag to turn it." : model.data.X[0].length > 2 ? `Shown: ${this.plane.plane.words}.` : "");
    if (!isOld) {
      const nodes = legendOf(model, this.isSphere), words = nodes.map((node) => node.textContent).join("");
      if (this.legend.textContent !== words) this.legend.replaceChildren(...nodes);
    }
    if (run && model.leak === 0) run.markDead(model.data.X);
    if (model.ghost && model.ghost.leak === 0) model.ghost.markDead(model.data.X);
    this.redraw();
  }

  /** The same again, with new colours. */
  refresh() { if (this.given) this.show(this.given); }

  redraw(isResize = false) {
    if (isResize) {
      for (const { surface } of [this.plane, this.function, this.tracks]) surface.isMeasured = false;
      this.plane.hasStill = this.tracks.hasStill = false;
      if (this.given?.isDragging) this.paintLater();
    }
    if (this.isDirty) return;
    this.isDirty = true;
    requestAnimationFrame(() => {
      const began = performance.now();
      this.isDirty = false;
      if (this.given?.isDragging) this.paintBehindPointer(); else this.paint();
      this.timing.push(performance.now() - began); // for the benchmark
      if (this.timing.length > 100) this.timing.shift();
    });
  }

  /** What is under the pointer, in the next frame. */
  paintBehindPointer() {
    this.paintPlane();
    if (this.hasLiveFunction) this.paintFunction();
  }

  /** The function and the tracks of a run that came in the middle of a drag, in pieces between the frames. */
  paintLater() {
    if (!this.hasLiveFunction) this.later.do("function", this.paintingFunction());
    this.later.do("tracks", this.tracks.drawing(() => this.position));
  }

  *paintingFunction() {
    this.function.show(this.model);
    yield;
    this.paintFunction();
  }

  /** Draw everything now. */
  paint() {
    if (!this.given) return;
    this.later.forget("function", "tracks");
    this.paintPlane();
    this.paintFunction();
    this.tracks.draw(this.position);
  }

  paintFunction() { this.function.draw(this.position, this.model.ghost ? this.ghostPosition() : null); }

  paintPlane() {
    const { run, ghost } = this.model;
    const state = this.displayed(), ghostState = ghost ? this.displayed(ghost, this.ghostPosition()) : null;
    if (this.isSphere) this.sphere.draw(state);
    else this.plane.draw(state, ghostState, this.differingGates());
    write(this.readout, this.words());
    put(this.planeCanvas.dataset, "time", run ? String(run.timeAt(this.position).t) : "");
  }

  /** The neurons now: of the run, or at the start where there is none yet. @param {Run | null} run @returns {ShownNeurons} */
  displayed(run = this.model.run, position = this.position) {
    const { data: { v, ...data } } = this.model;
    if (!run) {
      const m = data.w.length, d = data.X[0].length;
      const units = new Float32Array(m * d), logW = new Float32Array(m), signs = new Int8Array(m);
      data.w.forEach((row, j) => {
        const norm = Math.hypot(...row);
        row.forEach((value, i) => { units[j * d + i] = norm > 0 ? value / norm : 0; });
        logW[j] = Math.log(norm) + data.logScale;
        signs[j] = Math.sign(data.a[j]);
      });
      const classOf = v ? (/** @type {number} */ j) => v[j].indexOf(Math.max(...v[j])) : undefined;
      return { m, d, units, logW, signs, logA: logW, isDead: null, classOf };
    }
    const time = run.timeAt(position).t;
    return { m: run.m, d: run.d, ...run.stateAt(position), isDead: (/** @type {number} */ j) => run.deathFrame[j] < Infinity && run.deathFrame[j] <= time };
  }

  /** The second run at the same time as the first. */
  ghostPosition() {
    const { run, ghost } = this.model;
    return run && ghost ? ghost.positionShowing(run.timeAt(this.position)) : 0;
  }

  /** Where descent, drawn as the second run, is active on other samples than the flow now. */
  differingGates() {
    const { run, ghost, isDescentBeside, data } = this.model;
    if (!run || !ghost || !isDescentBeside) return [];
    return differingGates(this.displayed(), this.displayed(ghost, this.ghostPosition()), data.X);
  }

  words() {
    const { run, held } = this.model;
    if (!run) return "start";
    const { t, logT } = run.timeAt(this.position), k = Math.round(this.position);
    return `t = ${shownTime(Number.isFinite(t) ? Number(t.toPrecision(4)) : null, logT)}, loss ${shown(run.loss[Math.min(k, run.T - 1)], 4)}${held ? heldWords(run, this.position, held) : ""}`;
  }

  /** @param {number} place @param {boolean} isQuiet whether nobody is told */
  scrub(place, isQuiet = false) {
    const run = this.given?.run;
    if (!run) return;
    this.model.view.at = place;
    this.position = run.positionOf(place, this.model.view.axis);
    this.slider.value = String(place);
    this.slider.setAttribute("aria-valuetext", this.words());
    if (this.model.isDragging) this.paintLater();
    this.redraw();
    if (!isQuiet) this.onScrub(place);
  }

  /** @param {PointerEvent} event */
  startTrackScrub(event) {
    this.pause();
    this.name.hidden = true;
    const move = (/** @type {PointerEvent} */ one) => this.scrub(this.tracks.placeAt(one.offsetX));
    this.tracksCanvas.setPointerCapture(event.pointerId);
    move(event);
    const stop = () => { this.tracksCanvas.removeEventListener("pointermove", move); };
    this.tracksCanvas.addEventListener("pointermove", move);
    this.tracksCanvas.addEventListener("pointerup", stop, { once: true });
    this.tracksCanvas.addEventListener("pointercancel", stop, { once: true });
  }

  /** Name what lies under the pointer in one of the pictures, beside it. @param {PointerEvent} event */
  nameUnder({ currentTarget, offsetX: x, offsetY: y }) {
    const canvas = /** @type {HTMLCanvasElement} */ (currentTarget), { width, height } = canvas.getBoundingClientRect();
    const naming = canvas === this.planeCanvas ? nameAt : canvas === this.functionCanvas ? functionNameAt : trackNameAt;
    const words = this.given ? naming(this, x, y) : "";
    put(this.name, "hidden", !words);
    if (!words) return;
    write(this.name, words);
    if (this.name.parentNode !== canvas.parentNode) canvas.after(this.name);
    const isRight = x > 0.55 * width, isLow = y > 0.5 * height && canvas !== this.planeCanvas;
    Object.assign(this.name.style, {
      top: isLow ? "auto" : `${Math.max(4, y + 14)}px`, bottom: isLow ? `${height - y + 10}px` : "auto",
      left: isRight ? "auto" : `${x + 14}px`, right: isRight ? `${width - x + 10}px` : "auto",
    });
  }

  /** To the next or the previous kept state. @param {1 | -1} by */
  step(by) {
    const run = this.given?.run;
    if (!run) return;
    this.pause();
    const at = Math.min(run.T - 1, Math.max(0, by > 0 ? Math.floor(this.position + 1e-6) + 1 : Math.ceil(this.position - 1e-6) - 1));
    this.scrub(run.placeOfPosition(at, this.model.view.axis));
  }

  togglePlay() { if (this.direction) this.pause(); else this.play(1); }

  /** Move through the frames, each as long as the others: what changes most is shown longest. @param {1 | -1} direction */
  play(direction) {
    const run = this.given?.run;
    if (!run) return;
    if (direction > 0 && this.position >= run.T - 1 - 1e-6) this.position = 0;
    if (direction < 0 && this.position <= 1e-6) this.position = run.T - 1;
    this.direction = direction;
    this.playButton.textContent = "❚❚";
    this.playButton.setAttribute("aria-label", "Pause");
    /** The stamp of the frame before; a first stamp may lie before the click. @type {number | null} */
    let before = null;
    const tick = (/** @type {number} */ now) => {
      const current = this.model.run;
      if (!this.direction || !current) return;
      this.position += (this.direction * this.speed * Math.max(0, now - (before ?? now)) * (current.T - 1)) / (1000 * PLAY_SECONDS);
      before = now;
      if (this.direction > 0 ? this.position >= current.T - 1 : this.position <= 0) {
        this.position = Math.min(current.T - 1, Math.max(0, this.position));
        this.pause();
      }
      const place = current.placeOfPosition(this.position, this.model.view.axis);
      this.model.view.at = place;
      this.slider.value = String(place);
      if (current.isRunning) this.onScrub(place); // more of the run may come at any moment, and goes on from here
      this.paint();
      if (this.direction) requestAnimationFrame(tick);
      else this.onScrub(place);
    };
    requestAnimationFrame(tick);
  }

  pause() {
    if (!this.direction) return;
    this.direction = 0;
    this.playButton.textContent = "▶";
    this.playButton.setAttribute("aria-label", "Play");
    this.onScrub(this.model.view.at);
  }
}
