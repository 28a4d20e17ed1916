// What the circle shows, in words that stay beside it.
// @ts-check
import { element } from "./dom.js";
/** @import { Model } from "./model.d.ts" */

/** @param {Model} model of the viewer @param {boolean} isSphere whether the sphere is shown and not a plane */
export function legendOf(model, isSphere) {
  const K = model.data.classes?.length ?? 1, d = model.data.X[0].length;
  const formula = element("span", { class: "formula" }, K > 1 ? "h(x) = Σⱼ vⱼ σ(⟨wⱼ, x⟩), a vector with one entry per class" : "h(x) = Σⱼ aⱼ σ(⟨wⱼ, x⟩)");
  const where = isSphere ? "its place is the direction of its input weights w, faint behind the sphere; their size is among the tracks"
    : d <= 2 ? "its angle is the direction of its input weights w, its distance from the centre their size |w| (logarithmic)"
    : "its angle is the direction of its input weights w in this plane, its distance from the centre their size |w| (logarithmic), the nearer the centre the more they point out of the plane";
  const colours = K > 1 ? "its colour is the class that it speaks for most" : "● a > 0, ◆ a < 0";
  const words = [` Each dot is one neuron: ${where}; ${colours}${model.leak === 0 ? "; hollow: dead, it responds to no sample" : ""}. `];
  if (model.geometry) words.push("The ring’s colour says which arrow a neuron starting there turns to (inner ring a > 0, outer a < 0). Lines are where a sample switches a neuron on or off.");
  if (model.held) words.push(" Hollow samples are held out: the run is not trained on them.");
  if (model.ghost && model.isDescentBeside) words.push(" A ring and a dashed line mark a neuron that descent, drawn faintly, has active on other samples than the flow at this time.");
  return [formula, element("span", { class: "explained" }, words)];
}
