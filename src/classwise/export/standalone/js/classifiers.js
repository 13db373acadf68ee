// Classifiers: log P(k | x) of a row.

import { logDensity } from "./densities.js";
import { flat, levelTies, logNormalize, logSumExp } from "./numbers.js";

export const CLASSIFIERS = {};

export function logPosterior(classifier, row) {
  return CLASSIFIERS[classifier.kind](classifier, row);
}

/** log prior + log density, normalized; to a power, if posteriors are calibrated. */
function bayes(classifier, row) {
  const prior = flat(classifier.log_prior);
  const scores = levelTies(logDensity(classifier.density, row).relative.map((score, k) => score + prior[k]));
  const shift = flat(classifier.shift);
  return logNormalize(levelTies(scores.map((score, k) => classifier.power * score + shift[k])));
}

/** log p(x). */
export function logEvidence(classifier, row) {
  const prior = flat(classifier.log_prior);
  const { relative, common } = logDensity(classifier.density, row);
  return logSumExp(levelTies(relative.map((score, k) => score + prior[k]))) + common;
}

Object.assign(CLASSIFIERS, { bayes });
