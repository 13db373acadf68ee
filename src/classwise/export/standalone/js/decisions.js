// Decisions: the class of least expected cost, or none, or the news that a row is unlike all others.

import { logEvidence } from "./classifiers.js";
import { distances } from "./gaussians.js";
import { UnscorableError, flat } from "./numbers.js";

/** The label of a row. */
export function decided(model, posterior, row) {
  const { decision, labels } = model;
  if (decision.novelty !== null && isNovel(decision.novelty, model, row)) return decision.novelty.label;
  const costs = flat(decision.costs);
  const expected = labels.map((_, j) => posterior.reduce((sum, p, i) => sum + p * costs[i * labels.length + j], 0));
  const least = Math.min(...expected) + decision.rounding;
  const chances = posterior.map((p, k) => (expected[k] <= least ? p : -1));
  const code = chances.indexOf(Math.max(...chances));
  const isDear = decision.refusing !== null && expected[code] > decision.refusing;
  return isDear || posterior[code] < decision.least_posterior ? decision.reject_label : labels[code];
}

function isNovel(novelty, model, row) {
  if (novelty.law === "distance") {
    const values = novelty.columns.map((j) => row[j]);
    const count = values.filter((x) => !Number.isNaN(x)).length;
    return Math.min(...distances(novelty.density, values)) > flat(novelty.most)[count];
  }
  const gone = model.columns.map((column, j) => (column.levels ? row[j] < 0 : Number.isNaN(row[j])));
  const pattern = gone.map((isGone) => (isGone ? "0" : "1")).join("");
  if (!pattern.includes("1")) return false;
  if (!Object.hasOwn(novelty.thresholds, pattern)) {
    throw new UnscorableError("A row has so many missing values that its novelty is not known here.");
  }
  return logEvidence(model.classifier, row) < novelty.thresholds[pattern];
}
