// The viewer: the plane, the function, the tracks and the slider over one run, without a server.
// @ts-check
import { element, shown, shownTime } from "./dom.js";
import { FunctionPlot, lineOf } from "./function_plot.js";
import { Plane } from "./plane.js";
import { Sphere } from "./sphere.js";
import { palette } from "./surface.js";
import { Tracks } from "./tracks.js";

const PLAY_SECONDS = 9;

export class Viewer {
  /** @param {HTMLElement} root */
  constructor(root, { onScrub = () => {}, onAxis = () => {} } = {}) {
    this.root = root;
    this.onScrub = onScrub;
    const canvas = (name, label, focusable) => element("canvas", { class: name, role: "img", "aria-label": label, tabindex: focusable ? 0 : false });
    this.planeCanvas = canvas("plane", "The plane of the neurons", true);
    this.planeCanvas.setAttribute("role", "application");
    this.planeCanvas.setAttribute("aria-describedby", "plane-keys");
    this.functionCanvas = canvas("function", "The function the network computes", false);
    this.tracksCanvas = canvas("tracks", "Loss, sizes and angles over time", false);
    this.caption = element("figcaption", { class: "plane-words" });
    this.slider = element("input", { type: "range", min: 0, max: 1, step: 0.0005, value: 1, "aria-label": "Time, from the start to the end of the run", class: "time" });
    this.playButton = element("button", { type: "button", class: "play", "aria-label": "Play", title: "Play or pause (space)" }, "▶");
    this.readout = element("output", { class: "readout", "aria-live": "off" });
    this.axis = element("select", { "aria-label": "Axis of time", onchange: () => onAxis(this.axis.value) },
      [["log", "log time"], ["change", "even in change"], ["linear", "linear time"]].map(([value, words]) => element("option", { value }, words)));
    const button = (words, label, act) => element("button", { type: "button", "aria-label": label, title: label, onclick: act }, words);
    root.append(
      element("figure", { class: "pane plane-pane" }, this.planeCanvas, this.caption),
      element("figure", { class: "pane function-pane" }, this.functionCanvas),
      element("figure", { class: "pane tracks-pane" }, this.tracksCanvas),
      element("div", { class: "transport", role: "group", "aria-label": "Time" },
        button("|◀", "To the start", () => this.scrub(0)), this.playButton, button("▶|", "To the end", () => this.scrub(1)),
        button("◀", "Run backwards", () => this.play(-1)),
        this.slider, this.readout, this.axis));
    this.plane = new Plane(this.planeCanvas);
    this.sphere = new Sphere(this.planeCanvas, this.plane.surface);
    this.function = new FunctionPlot(this.functionCanvas);
    this.tracks = new Tracks(this.tracksCanvas);
    this.slider.addEventListener("input", () => { this.pause(); this.scrub(Number(this.slider.value)); });
    this.playButton.addEventListener("click", () => this.togglePlay());
    this.tracksCanvas.addEventListener("pointerdown", (event) => this.startTrackScrub(event));
    this.direction = 0;
    this.position = 0;
    this.isDirty = false;
    /** What is to be drawn next besides the plane; behind a pointer one of them a frame. @type {Set<string>} */
    this.dirty = new Set();
    /** @type {number[]} */
    this.timing = [];
    new ResizeObserver(() => this.redraw(true)).observe(root);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.refresh());
  }

  /** @param {any} model data, geometry, extremal, run, ghost, view, selection, leak */
  show(model) {
    // behind a pointer only the plane is drawn anew: the run is still the old one, and so are its tracks
    const isOld = Boolean(model.isDragging && this.model && this.model.run === model.run && this.model.ghost === model.ghost);
    this.model = { ...model, palette: isOld ? this.model.palette : palette(this.root) };
    const { run } = model;
    if (!isOld) this.dirty.add("function").add("tracks");
    else if (lineOf(model.data.X) !== null) this.dirty.add("function");
    this.isSphere = model.data.X[0].length === 3 && model.view.plane === "sphere";
    for (const part of [this.plane, this.sphere]) part.show(this.model);
    if (!isOld) this.tracks.show(this.model);
    if (this.dirty.has("function")) this.function.show(this.model);
    this.position = run ? run.positionOf(model.view.at, model.view.axis) : 0;
    this.slider.value = String(model.view.at);
    this.axis.value = model.view.axis;
    this.slider.disabled = !run;
    this.caption.textContent = this.isSphere
      ? "the sphere of directions; drag to turn it"
      : this.plane.plane.words + (model.geometry ? "; rings: where neurons turn to, a > 0 inside, a < 0 outside" : "");
    if (run && model.leak === 0) run.markDeadFromStart(model.data.X);
    this.redraw();
  }

  /** The same again, with new colours. */
  refresh() { if (this.model) this.show(this.model); }

  redraw(isResize = false) {
    if (isResize) {
      this.plane.hasStill = this.tracks.hasStill = false;
      this.dirty.add("function").add("tracks");
    }
    if (this.isDirty) return;
    this.isDirty = true;
    requestAnimationFrame(() => {
      const began = performance.now();
      this.isDirty = false;
      if (this.model?.isDragging) this.paintBehindPointer(); else this.paint();
      this.timing.push(performance.now() - began); // for the benchmark
      if (this.timing.length > 100) this.timing.shift();
    });
  }

  /** The plane at once; the function and the tracks of a run that came meanwhile one after the other, a frame each. */
  paintBehindPointer() {
    this.paintPlane();
    const [next] = this.dirty;
    if (next === "function") this.paintFunction();
    if (next === "tracks") this.paintTracks();
    if (this.dirty.size) this.redraw();
  }

  /** Draw everything now. */
  paint() {
    if (!this.model) return;
    this.paintPlane();
    this.paintFunction();
    this.paintTracks();
  }

  paintFunction() {
    this.dirty.delete("function");
    this.function.draw(this.position, this.model.ghost ? this.ghostPosition() : null);
  }

  paintTracks() {
    this.dirty.delete("tracks");
    this.tracks.draw(this.position);
  }

  paintPlane() {
    const { run, ghost } = this.model;
    const state = this.displayed(), ghostState = ghost ? this.displayed(ghost, this.ghostPosition()) : null;
    (this.isSphere ? this.sphere : this.plane).draw(state, ghostState);
    this.readout.textContent = this.words();
    this.planeCanvas.dataset.time = run ? String(run.timeAt(this.position).t) : "";
  }

  /** The neurons now: of the run, or at the start where there is none yet. */
  displayed(run = this.model.run, position = this.position) {
    const { data } = this.model;
    if (!run) {
      const m = data.w.length, d = data.X[0].length;
      const units = new Float32Array(m * d), logW = new Float32Array(m), signs = new Int8Array(m);
      data.w.forEach((row, j) => {
        const norm = Math.hypot(...row);
        row.forEach((value, i) => { units[j * d + i] = norm > 0 ? value / norm : 0; });
        logW[j] = Math.log(norm) + data.logScale;
        signs[j] = Math.sign(data.a[j]);
      });
      return { m, d, units, logW, signs, logA: logW, isDead: null };
    }
    const time = run.timeAt(position).t;
    return { m: run.m, d: run.d, ...run.stateAt(position), isDead: (j) => run.deathFrame[j] <= time };
  }

  /** The second run at the same time as the first. */
  ghostPosition() {
    const { run, ghost } = this.model;
    if (!run) return ghost.T - 1;
    const { logT } = run.timeAt(this.position);
    let k = 0;
    while (k < ghost.T - 1 && ghost.logT[k + 1] <= logT) k++;
    return k;
  }

  words() {
    const { run } = this.model;
    if (!run) return "start";
    const { t, logT } = run.timeAt(this.position), k = Math.round(this.position);
    return `t = ${shownTime(Number.isFinite(t) ? Number(t.toPrecision(4)) : null, logT)}, loss ${shown(run.loss[Math.min(k, run.T - 1)], 4)}`;
  }

  scrub(place, isQuiet = false) {
    if (!this.model?.run) return;
    this.model.view.at = place;
    this.position = this.model.run.positionOf(place, this.model.view.axis);
    this.slider.value = String(place);
    this.slider.setAttribute("aria-valuetext", this.words());
    this.dirty.add("function").add("tracks");
    this.redraw();
    if (!isQuiet) this.onScrub(place);
  }

  startTrackScrub(event) {
    this.pause();
    const move = (one) => this.scrub(this.tracks.placeAt(one.offsetX));
    this.tracksCanvas.setPointerCapture(event.pointerId);
    move(event);
    const stop = () => { this.tracksCanvas.removeEventListener("pointermove", move); };
    this.tracksCanvas.addEventListener("pointermove", move);
    this.tracksCanvas.addEventListener("pointerup", stop, { once: true });
    this.tracksCanvas.addEventListener("pointercancel", stop, { once: true });
  }

  togglePlay() { if (this.direction) this.pause(); else this.play(1); }

  /** Move through the frames, each as long as the others: what changes most is shown longest. */
  play(direction) {
    const run = this.model?.run;
    if (!run) return;
    if (direction > 0 && this.position >= run.T - 1 - 1e-6) this.position = 0;
    if (direction < 0 && this.position <= 1e-6) this.position = run.T - 1;
    this.direction = direction;
    this.playButton.textContent = "❚❚";
    this.playButton.setAttribute("aria-label", "Pause");
    let before = performance.now();
    const tick = (now) => {
      const current = this.model?.run;
      if (!this.direction || !current) return;
      this.position += (this.direction * (now - before) * (current.T - 1)) / (1000 * PLAY_SECONDS);
      before = now;
      if (this.position >= current.T - 1 || this.position <= 0) {
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
