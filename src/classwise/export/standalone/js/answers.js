// What a model answers.

import { logPosterior } from "./classifiers.js";
import { numbersOf, refuseMissing, refuseUnsuitable } from "./columns.js";
import { TIE, UnscorableError } from "./numbers.js";

/** P(k | x) of a row of numbers. */
function posteriorOf(model, row) {
  refuseMissing(row, model.columns, model.required);
  if (model.checked) refuseUnsuitable(row, model.columns);
  const odds = scored(model, row).map(Math.exp);
  const total = odds.reduce((sum, p) => sum + p, 0);
  return odds.map((p) => p / total);
}

function scored(model, row) {
  try {
    return Array.from(logPosterior(model.classifier, Array.from(row)));
  } catch (problem) {
    if (problem instanceof UnscorableError) refuseUnsuitable(row, model.columns);
    throw problem;
  }
}

/** P(label | row) of each row. */
export function posteriors(model, rows) {
  return rows.map((row) => posteriorOf(model, numbersOf(row, model.columns)));
}

/** The label of each row: the most probable one, the first of equals, or what a decision makes of it. */
export function predicted(model, rows, decide) {
  return rows.map((given) => {
    const row = numbersOf(given, model.columns);
    const found = posteriorOf(model, row);
    if (decide !== null) return decide(model, found, Array.from(row));
    const best = Math.max(...found) * (1 - TIE);
    return model.labels[found.findIndex((p) => p >= best)];
  });
}
