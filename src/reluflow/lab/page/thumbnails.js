// The datasets of the plane as small pictures to choose from.
// @ts-check
import { element } from "./dom.js";
import { palette } from "./surface.js";

const SIDE = 64;

/** @param {{name: string, summary: string, points: number[][] | null}[]} datasets @param {(name: string) => void} choose */
export function thumbnails(datasets, choose) {
  const shown = datasets.filter((one) => one.points);
  const grid = element("div", { class: "thumbs" }, shown.map((one) => {
    const canvas = element("canvas", { width: 2 * SIDE, height: 2 * SIDE, "aria-hidden": "true" });
    return element("button", { type: "button", title: one.summary, onclick: () => choose(one.name) }, canvas, one.name);
  }));
  const draw = () => [...grid.querySelectorAll("canvas")].forEach((canvas, k) => drawPoints(canvas, shown[k].points ?? []));
  return element("details", { class: "choose-by-picture", ontoggle: draw }, element("summary", {}, "choose by picture"), grid);
}

/** @param {HTMLCanvasElement} canvas @param {number[][]} points x, y and label */
function drawPoints(canvas, points) {
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")), colors = palette(canvas);
  const reach = Math.max(...points.map(([x, y]) => Math.hypot(x, y)), 1e-12) / (0.86 * SIDE);
  context.fillStyle = colors.paper;
  context.fillRect(0, 0, 2 * SIDE, 2 * SIDE);
  context.strokeStyle = colors.line;
  context.beginPath();
  context.moveTo(SIDE, 6);
  context.lineTo(SIDE, 2 * SIDE - 6);
  context.moveTo(6, SIDE);
  context.lineTo(2 * SIDE - 6, SIDE);
  context.stroke();
  for (const [x, y, label] of points) {
    context.fillStyle = label > 0 ? colors.positive : label < 0 ? colors.negative : colors.dead;
    context.beginPath();
    context.arc(SIDE + x / reach, SIDE - y / reach, points.length > 15 ? 5 : 9, 0, 2 * Math.PI);
    context.fill();
  }
}
