// Two surfaces with one set of strokes: a canvas for the screen, SVG text to take away.
// @ts-check
/** @import { Look, Surface, TextLook } from "./drawing.d.ts" */

/** @typedef {ReturnType<typeof palette>} Palette */

/** The colours of the page, from its style sheet, so that light and dark are said in one place. */
export function palette(node = document.documentElement) {
  const style = getComputedStyle(node);
  const read = (/** @type {string} */ name) => style.getPropertyValue(`--${name}`).trim();
  return {
    paper: read("paper"), ink: read("ink"), quiet: read("quiet"), faint: read("faint"), line: read("line"),
    positive: read("positive"), negative: read("negative"), accent: read("accent"), dead: read("dead"),
    maximum: read("maximum"), minimum: read("minimum"), saddle: read("saddle"),
    classes: ["positive", "negative", "target-1", "target-2"].map(read),
    targets: [1, 2, 3, 4, 5, 6].map((k) => read(`target-${k}`)),
  };
}

/** @implements {Surface} */
export class CanvasSurface {
  /** @param {HTMLCanvasElement} canvas on the page, or beside it and then measured by `fit` */
  constructor(canvas) {
    this.canvas = canvas;
    // opaque, since all of it is painted: without a graphics card, blending it with the page took half of every frame
    this.context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", { alpha: false }));
    this.width = this.height = this.ratio = 0;
    /** @type {CanvasSurface | null} */
    this.kept = null;
    /** @type {CanvasRenderingContext2D | null} */
    this.pixel = null;
    /** Whether the size on the page is known; asking for it lays the page out. */
    this.isMeasured = false;
    if (canvas.isConnected) this.resize();
  }

  /** Match the canvas to its size on the page; true if it changed. */
  resize() {
    const ratio = window.devicePixelRatio || 1;
    if (this.isMeasured && ratio === this.ratio) return false;
    this.isMeasured = true;
    const isNew = this.fit(Math.max(1, Math.round(this.canvas.clientWidth)), Math.max(1, Math.round(this.canvas.clientHeight)), ratio);
    if (isNew) this.clear(getComputedStyle(this.canvas).getPropertyValue("--paper")); // an opaque canvas begins black
    return isNew;
  }

  /** Take a size; true if it is another. @param {number} width @param {number} height @param {number} ratio */
  fit(width, height, ratio) {
    const isNew = width !== this.width || height !== this.height || ratio !== this.ratio;
    if (isNew) {
      [this.width, this.height, this.ratio] = [width, height, ratio];
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
    }
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    return isNew;
  }

  /** The image kept beside the screen: a surface of the same size. */
  beside() {
    this.kept ??= new CanvasSurface(document.createElement("canvas"));
    this.kept.fit(this.width, this.height, this.ratio);
    return this.kept;
  }

  /** Keep what is drawn so far, to begin with it again. */
  keepImage() { this.beside().copy(this); }

  /** Begin with the kept image. */
  showImage() { if (this.kept) this.copy(this.kept); }

  /** @param {CanvasSurface} other */
  copy(other) {
    this.context.setTransform(1, 0, 0, 1, 0, 0);
    this.context.globalAlpha = 1;
    this.context.drawImage(other.canvas, 0, 0);
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
  }

  /** Have what was drawn so far put into pixels now; a browser otherwise waits until they are shown. */
  settle() {
    this.pixel ??= /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
    this.pixel.drawImage(this.canvas, 0, 0, 1, 1, 0, 0, 1, 1);
  }

  /** @param {string} color */
  clear(color) {
    this.context.globalAlpha = 1;
    this.context.fillStyle = color;
    this.context.fillRect(0, 0, this.width, this.height);
  }

  /** @param {number[][]} points @param {Look} look */
  path(points, { stroke = null, fill = null, width = 1, dash = [], alpha = 1, close = false } = {}) {
    if (!points.length) return;
    const c = this.context;
    c.globalAlpha = alpha;
    c.beginPath();
    let isDown = false;
    for (const [x, y] of points) {
      if (!Number.isFinite(x) || !Number.isFinite(y)) { isDown = false; continue; }
      if (isDown) c.lineTo(x, y); else c.moveTo(x, y);
      isDown = true;
    }
    if (close) c.closePath();
    this.finish(stroke, fill, width, dash);
  }

  /** @param {number} x @param {number} y @param {number} radius @param {number} start @param {number} end @param {Look} look */
  arc(x, y, radius, start, end, { stroke = null, fill = null, width = 1, alpha = 1, wedge = false, dash = [] } = {}) {
    const c = this.context;
    c.globalAlpha = alpha;
    c.beginPath();
    if (wedge) c.moveTo(x, y);
    c.arc(x, y, radius, -start, -end, true);
    if (wedge) c.closePath();
    this.finish(stroke, fill, width, dash);
  }

  /** @param {number} x @param {number} y @param {number} radius @param {Look} options */
  circle(x, y, radius, options = {}) { this.arc(x, y, radius, 0, 2 * Math.PI, options); }

  /** Many equal marks in one stroke: circles, or diamonds. @param {number[]} places @param {number} radius @param {Look} look */
  marks(places, radius, { fill = null, stroke = null, width = 1, alpha = 1, diamond = false } = {}) {
    const c = this.context;
    c.globalAlpha = alpha;
    c.beginPath();
    for (let k = 0; k < places.length; k += 2) {
      const x = places[k], y = places[k + 1];
      if (diamond) {
        const r = 1.25 * radius;
        c.moveTo(x + r, y); c.lineTo(x, y - r); c.lineTo(x - r, y); c.lineTo(x, y + r); c.closePath();
      } else {
        c.moveTo(x + radius, y);
        c.arc(x, y, radius, 0, 2 * Math.PI);
      }
    }
    if (stroke) this.finish(stroke, null, width, []); // first the rims, so that a crowd keeps its colour
    if (fill) this.finish(null, fill, width, []);
  }

  /** @param {HTMLCanvasElement} canvas @param {number} x @param {number} y @param {number} width @param {number} height */
  image(canvas, x, y, width, height) {
    this.context.globalAlpha = 1;
    this.context.imageSmoothingEnabled = true;
    this.context.drawImage(canvas, x, y, width, height);
  }

  /** @param {number} x @param {number} y @param {number} width @param {number} height @param {Look} look */
  rect(x, y, width, height, { fill = null, stroke = null, alpha = 1 } = {}) {
    this.context.globalAlpha = alpha;
    if (fill) { this.context.fillStyle = fill; this.context.fillRect(x, y, width, height); }
    if (stroke) { Object.assign(this.context, { strokeStyle: stroke, lineWidth: 1 }); this.context.setLineDash([]); this.context.strokeRect(x, y, width, height); }
  }

  /** @param {number} x @param {number} y @param {string} words @param {TextLook} look */
  text(x, y, words, { color = "#000", size = 12, align = "left", base = "middle", weight = "normal", alpha = 1, halo = null } = {}) {
    const c = this.context;
    c.globalAlpha = alpha;
    c.font = `${weight} ${size}px system-ui, sans-serif`;
    c.textAlign = align;
    c.textBaseline = base;
    if (halo) {
      c.lineJoin = "round";
      c.strokeStyle = halo;
      c.lineWidth = 3.5;
      c.setLineDash([]);
      c.strokeText(words, x, y);
    }
    c.fillStyle = color;
    c.fillText(words, x, y);
  }

  /** @param {string | null} stroke @param {string | null} fill @param {number} width @param {number[]} dash */
  finish(stroke, fill, width, dash) {
    const c = this.context;
    if (fill) { c.fillStyle = fill; c.fill(); }
    if (stroke) { c.strokeStyle = stroke; c.lineWidth = width; c.setLineDash(dash); c.stroke(); }
  }
}

const round = (/** @type {number} */ x) => Math.round(x * 100) / 100;
/** @type {Record<string, string>} */
const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (/** @type {string} */ words) => words.replace(/[&<>"]/g, (sign) => ESCAPES[sign]);
const ANCHORS = { left: "start", center: "middle", right: "end" };

/** @implements {Surface} */
export class SvgSurface {
  /** @param {number} width @param {number} height */
  constructor(width, height) {
    this.width = width;
    this.height = height;
    /** @type {string[]} */
    this.parts = [];
  }

  /** @param {string} color */
  clear(color) { this.parts = [`<rect width="${round(this.width)}" height="${round(this.height)}" fill="${color}"/>`]; }

  /** @param {number[][]} points @param {Look} options */
  path(points, options = {}) {
    let words = "", isDown = false;
    for (const [x, y] of points) {
      if (!Number.isFinite(x) || !Number.isFinite(y)) { isDown = false; continue; }
      words += `${isDown ? "L" : "M"}${round(x)} ${round(y)}`;
      isDown = true;
    }
    if (words) this.parts.push(`<path d="${words}${options.close ? "Z" : ""}" ${look(options)}/>`);
  }

  /** @param {number} x @param {number} y @param {number} radius @param {number} start @param {number} end @param {Look} options */
  arc(x, y, radius, start, end, options = {}) {
    if (Math.abs(end - start) >= 2 * Math.PI - 1e-9) {
      this.parts.push(`<circle cx="${round(x)}" cy="${round(y)}" r="${round(radius)}" ${look(options)}/>`);
      return;
    }
    const steps = Math.max(2, Math.ceil(Math.abs(end - start) / 0.1));
    const points = Array.from({ length: steps + 1 }, (_, i) => {
      const angle = start + ((end - start) * i) / steps;
      return [x + radius * Math.cos(angle), y - radius * Math.sin(angle)];
    });
    this.path(options.wedge ? [[x, y], ...points] : points, { ...options, close: options.wedge });
  }

  /** @param {number} x @param {number} y @param {number} radius @param {Look} options */
  circle(x, y, radius, options = {}) { this.arc(x, y, radius, 0, 2 * Math.PI, options); }

  /** @param {number[]} places @param {number} radius @param {Look} options */
  marks(places, radius, options = {}) {
    for (let k = 0; k < places.length; k += 2) {
      const x = places[k], y = places[k + 1], r = 1.25 * radius;
      if (options.diamond) this.path([[x + r, y], [x, y - r], [x - r, y], [x, y + r]], { ...options, close: true });
      else this.circle(x, y, radius, options);
    }
  }

  /** @param {number} x @param {number} y @param {number} width @param {number} height @param {Look} options */
  rect(x, y, width, height, options = {}) {
    this.parts.push(`<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" ${look(options)}/>`);
  }

  /** @param {number} x @param {number} y @param {string} words @param {TextLook} look */
  text(x, y, words, { color = "#000", size = 12, align = "left", base = "middle", weight = "normal", alpha = 1, halo = null } = {}) {
    const shift = base === "middle" ? 0.35 * size : base === "top" ? 0.8 * size : 0;
    const around = halo ? ` stroke="${halo}" stroke-width="3.5" paint-order="stroke" stroke-linejoin="round"` : "";
    this.parts.push(
      `<text x="${round(x)}" y="${round(y + shift)}" fill="${color}" font-size="${size}" font-weight="${weight}" ` +
      `font-family="system-ui, sans-serif" text-anchor="${ANCHORS[align]}" opacity="${alpha}"${around}>${escaped(words)}</text>`);
  }

  /** Put another drawing into this one. @param {SvgSurface} other @param {number} x @param {number} y */
  place(other, x, y) { this.parts.push(`<g transform="translate(${round(x)} ${round(y)})">`, ...other.parts, "</g>"); }

  /** @param {HTMLCanvasElement} canvas @param {number} x @param {number} y @param {number} width @param {number} height */
  image(canvas, x, y, width, height) {
    this.parts.push(`<image x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" preserveAspectRatio="none" href="${canvas.toDataURL()}"/>`);
  }

  toString() {
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}">\n${this.parts.join("\n")}\n</svg>\n`;
  }
}

/** @param {Look} look */
function look({ stroke = null, fill = null, width = 1, dash = [], alpha = 1 } = {}) {
  const dashes = dash.length ? ` stroke-dasharray="${dash.join(" ")}"` : "";
  return `fill="${fill || "none"}" stroke="${stroke || "none"}" stroke-width="${width}" opacity="${alpha}"${dashes}`;
}
