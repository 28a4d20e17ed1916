// The scenes of the tour, in JSON so that the documentation plays the same. The one shown first stands last: links name scenes by their place.
// @ts-check

/** @import { RunState, View } from "./model.d.ts" */

/** @type {{name: string, title: string, paper: string, words: string, act: string, run: Partial<RunState>, view?: Partial<View>}[]} */
export const SCENES = [
  {
    "name": "early-alignment",
    "title": "Early alignment",
    "paper": "Boursier & Flammarion (2024)",
    "words": "Small neurons turn long before they grow: here all that stay alive turn to the one extremal vector ▲1, and the network ends at the least-squares line instead of fitting the three points.",
    "act": "Press ▶. Then drag the middle point in the function plot upwards and watch ▲1 follow.",
    "run": {"name": "three-points", "loss": "square", "width": 60, "scale": "1e-3"}
  },
  {
    "name": "two-classes",
    "title": "Two classes",
    "paper": "Min, Mallada & Vidal (2024)",
    "words": "Each neuron turns to the class its output weight agrees with, or dies in the hatched cone where no sample is active. Once aligned, the loss falls.",
    "act": "Drag a sample of one class towards the other and watch the cones narrow.",
    "run": {"name": "min-toy", "loss": "exponential", "width": 60, "scale": "1e-4"}
  },
  {
    "name": "linear-classifier",
    "title": "Symmetric data, a linear classifier",
    "paper": "Lyu, Li, Wang & Arora (2021)",
    "words": "With a leaky ReLU and data that hold (−x, −y) with every (x, y), the neurons gather on two opposite directions, one for each sign of a, and the network becomes a linear classifier. The end is certified as the max-margin direction.",
    "act": "Drag one sample, break the symmetry, and read under Phases and end what becomes of the certificate.",
    "run": {"name": "lyu-symmetric", "loss": "logistic", "leak": 0.5, "width": 40, "scale": "1e-4"}
  },
  {
    "name": "orthogonally-separable",
    "title": "Orthogonally separable data",
    "paper": "Phuong & Lampert (2021)",
    "words": "Samples of one class make acute angles, samples of two classes none: the network learns the max-margin direction of each class on its own. Neurons that start in the hatched cone never move.",
    "act": "Click a hollow neuron to read why it is dead, then drag a sample until the cone closes.",
    "run": {"name": "phuong-dead-cone", "loss": "logistic", "reduction": "sum", "width": 60, "scale": "1e-3"}
  },
  {
    "name": "one-teacher",
    "title": "A teacher of one neuron",
    "paper": "Lee, Sim & Ye (2022)",
    "words": "The labels are those of one ReLU neuron, and all output weights start positive: the run ends at a perfect fit. But the fit does not determine the neurons, for on these three samples a whole segment of minima fits.",
    "act": "Press next beside the seed: another draw, another network, the same three outputs.",
    "run": {"name": "lee-flat-minimum", "loss": "square", "init": "lee", "width": 3, "scale": "1e-3"}
  },
  {
    "name": "saddle-to-saddle",
    "title": "From saddle to saddle",
    "paper": "scale 1e-30",
    "words": "Two groups of neurons grow at different rates, so the loss falls in steps with a plateau between: the network rests near a saddle until the second group is large enough.",
    "act": "Slide the scale towards 1e-300: the plateau grows with the logarithm of the scale, and the path stays the same.",
    "run": {"name": "two sides", "X": [[1, 0.25], [-1, 0.25]], "y": [1, 0.4], "loss": "square", "width": 40, "scale": "1e-30"},
    "view": {"axis": "linear", "loss": "linear"}
  },
  {
    "name": "what-you-see",
    "title": "What you see",
    "paper": "two samples, four neurons",
    "words": "The network is h(x) = Σ a σ(⟨w, x⟩). Each dot is one neuron: its angle is the direction of its input weights, its distance from the centre their size. The circle and the square with signs are the two samples; a neuron responds to a sample if it stands on that sample’s side of the wall. Small neurons first turn to an arrow of the ring’s colour, then grow along it.",
    "act": "Press ▶ and follow one dot. Point at anything to read its name; click a dot to read why it goes where it goes.",
    "run": {"name": "two samples", "X": [[1, 0.3], [-0.6, 0.9]], "y": [1, -1], "loss": "logistic", "width": 4, "scale": "1e-2", "seed": 2}
  }
];
