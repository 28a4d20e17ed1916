// What each control does, behind its question mark.
// @ts-check
import { element } from "./dom.js";

export const HELP = {
  data: "The samples x with their labels y. Drag them in the circle, or take your own below.",
  scale: "How small the weights are drawn at the start. The smaller, the longer neurons turn before they grow; from 1 down to 1e-1000.",
  width: "How many neurons there are. With ∞ (two inputs) the limit of ever more of them is followed.",
  leak: "The slope of σ for negative inputs: 0 is the ReLU, 1 a linear network.",
  loss: "What is minimised: squares for numbers, logistic or exponential for two classes, softmax for several; the mean or the sum over the samples.",
  init: "How the weights are drawn at the start: each scheme is that of a paper.",
  seed: "Another number draws other neurons of the same kind.",
  method: "The exact gradient flow, every switching of a neuron found; or gradient descent with a learning rate.",
  ghost: "A second run drawn faintly at the same time: another size, another draw, descent, or another slope. A neuron that descent has active on other samples than the flow has a ring.",
  lr: "The step of gradient descent.",
  iterations: "How many steps of gradient descent.",
  layers: "What is drawn in the circle.",
  plane: "Of more than two inputs a plane is shown: the directions in which the samples spread most, or those of two samples or extremal vectors; of three inputs also the sphere.",
  adding: "With a class chosen, a click on an empty place of the circle adds a sample of it.",
};

/** @param {keyof typeof HELP} key @param {string} label */
export function helpOf(key, label) {
  return element("details", { class: "help" }, element("summary", { "aria-label": `What is ${label}?`, title: HELP[key] }, "?"), element("p", {}, HELP[key]));
}
