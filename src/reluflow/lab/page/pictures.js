// The whole picture to take away: the circle, the function and the tracks side by side, as pixels or as SVG.
// @ts-check
import { SvgSurface } from "./surface.js";
/** @import { Surface } from "./drawing.d.ts" */
/** @import { CanvasSurface } from "./surface.js" */
/** @import { Viewer } from "./viewer.js" */

const GAP = 10;

/** Where the three panes stand in a picture of their own. @param {Viewer} viewer */
function places(viewer) {
  const plane = viewer.plane.surface, graph = viewer.function.surface, tracks = viewer.tracks.surface;
  const right = plane.width + GAP;
  /** @type {[CanvasSurface, number, number][]} */
  const panes = [[plane, 0, 0], [graph, right, 0], [tracks, right, graph.height + GAP]];
  return {
    width: right + Math.max(graph.width, tracks.width), height: Math.max(plane.height, graph.height + GAP + tracks.height),
    panes,
  };
}

/** The panes as they are drawn now, on one canvas at most `most` pixels wide. @param {Viewer} viewer */
export function pictureOf(viewer, most = Infinity, canvas = document.createElement("canvas")) {
  const { width, height, panes } = places(viewer), ratio = viewer.plane.surface.ratio;
  const factor = Math.min(ratio, most / width);
  [canvas.width, canvas.height] = [Math.round(width * factor), Math.round(height * factor)];
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", { willReadFrequently: true }));
  context.fillStyle = viewer.model.palette.paper;
  context.fillRect(0, 0, canvas.width, canvas.height);
  for (const [surface, x, y] of panes) context.drawImage(surface.canvas, x * factor, y * factor, surface.width * factor, surface.height * factor);
  return { canvas, context };
}

/** The same as SVG text. @param {Viewer} viewer */
export function svgOf(viewer) {
  const { width, height, panes } = places(viewer), { plane, sphere, isSphere, model } = viewer;
  const state = viewer.displayed(), ghost = model.ghost ? viewer.displayed(model.ghost, viewer.ghostPosition()) : null;
  const svg = new SvgSurface(width, height);
  /** @type {((pane: Surface) => void)[]} */
  const draw = [
    (pane) => {
      if (isSphere) { sphere.drawOn(pane, state); return; }
      plane.drawStill(pane, model.palette);
      plane.drawMoving(pane, state, ghost, viewer.differingGates());
    },
    (pane) => viewer.function.draw(viewer.position, ghost ? viewer.ghostPosition() : null, pane),
    (pane) => {
      if (!model.run) return;
      for (const _ of viewer.tracks.drawingOn(pane, model.run)) void _;
      viewer.tracks.drawCursor(pane, model.run, viewer.position);
    },
  ];
  panes.forEach(([surface, x, y], k) => {
    const pane = new SvgSurface(surface.width, surface.height);
    draw[k](pane);
    svg.place(pane, x, y);
  });
  return svg.toString();
}
