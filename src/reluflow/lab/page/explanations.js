// Every name opens its explanation: a few words each.
// @ts-check
import { element } from "./dom.js";

/** @type {Record<string, string>} */
export const EXPLANATIONS = {
  alignment: "Neurons turn while their outputs are below 1 % of the labels, too small to matter: the forces stay those of the start.",
  growth: "Aligned neurons grow until the largest output is half the label scale.",
  fitting: "Outputs and forces change together until 99 % of the fall of the loss is done.",
  convergence: "The last 1 % of the fall, to the end of the run.",
  plateau: "A long stretch of nearly constant loss between two falls: the network passes a saddle.",
  maximum: "A local maximum of G(w) = sum_k r_k s(<w, x_k>) on the sphere: it attracts neurons with a > 0.",
  minimum: "A local minimum of G on the sphere: it attracts neurons with a < 0.",
  saddle: "A critical point that is neither: some directions lead to it, others away.",
  "global-minimum": "No network has a lower loss; the residuals in the table are those of a perfect one.",
  "local-minimum": "No small change of the weights lowers the loss.",
  "kkt-direction": "The direction satisfies the first-order conditions of the largest margin; it need not be the largest.",
  "max-margin": "No network of this kind has a larger normalised margin, to the tolerance in the table.",
  "partial-direction": "The direction converges while some samples keep output 0 for ever, so the loss tends to a positive value.",
  "not-stationary": "The state is no stationary point: the run was stopped before its end, or it ends otherwise.",
  undecided: "Certifying the end of the run failed; the sentence beside it says how. The run itself is as shown.",
};

/** A word that opens its explanation. @param {string} key @param {string} words */
export function explained(key, words = key) {
  const text = EXPLANATIONS[key];
  return text ? element("details", { class: "word" }, element("summary", {}, words), element("p", {}, text)) : words;
}
