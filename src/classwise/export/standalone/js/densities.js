// Densities: log p(x | k) as two parts, what differs between classes and what is common to all of them.
// Missing values are integrated out.

import { UnscorableError, array, flat, logFactorial, logSumExp, range } from "./numbers.js";

export const DENSITIES = {};

/** {relative: one number of each class, common}. */
export function logDensity(density, row) {
  return DENSITIES[density.kind](density, row);
}

// Columns that do not depend on each other.

function product(density, row) {
  const parts = density.blocks.map((block) => logDensity(block.density, block.columns.map((j) => row[j])));
  const relative = parts[0].relative.map((_, k) => parts.reduce((sum, part) => sum + part.relative[k], 0));
  return { relative, common: parts.reduce((sum, part) => sum + part.common, 0) };
}

function constant(density) {
  return { relative: Array(density.classes).fill(0), common: 0 };
}

/** log p of each level; -1, a missing one, stands last. */
function categorical(density, row) {
  const relative = Array(array(density.logs[0]).shape[1]).fill(0);
  density.logs.forEach((logs, j) => {
    const { data, shape } = array(logs);
    const at = row[j] < 0 ? shape[0] - 1 : row[j];
    for (let k = 0; k < relative.length; k++) relative[k] += data[at * shape[1] + k];
  });
  return { relative, common: 0 };
}

/** Whether a number is there may depend on the class. */
function presence(density, row) {
  const { relative, common } = logDensity(density.numbers, row);
  const [absent, there] = [flat(density.absent), flat(density.there)];
  const signal = (k) => row.reduce((sum, x, j) => sum + (Number.isNaN(x) ? absent : there)[k * row.length + j], 0);
  return { relative: relative.map((score, k) => score + signal(k)), common };
}

/** Classes without rows have probability zero. */
function unseen(density, row) {
  const { relative, common } = logDensity(density.seen, row);
  const whole = Array(density.classes).fill(-Infinity);
  density.places.forEach((place, k) => (whole[place] = relative[k]));
  return { relative: whole, common };
}

/** The sum over the columns that are there of a term of each class. */
function summed(classes, row, term) {
  const relative = range(0, classes).map((k) =>
    row.reduce((sum, x, j) => (Number.isNaN(x) ? sum : sum + term(x, k * row.length + j, j)), 0),
  );
  return relative;
}

function independentStudent(density, row) {
  const { data: means, shape } = array(density.means);
  const [shapes, freedom, scale] = [density.shapes, density.freedom, density.scale].map(flat);
  const term = (x, i) => scale[i] - 0.5 * (freedom[i] + 1) * Math.log1p((x - means[i]) ** 2 / (shapes[i] * freedom[i]));
  return { relative: summed(shape[0], row, term), common: 0 };
}

function lognormal(density, row) {
  if (row.some((x) => x <= 0)) throw new UnscorableError("A value is not positive.");
  const logs = row.map(Math.log);
  const { relative, common } = logDensity(density.logs, logs);
  return { relative, common: common - logs.reduce((sum, log) => (Number.isNaN(log) ? sum : sum + log), 0) };
}

// Counts: compared with the average class, so that large counts lose no digits.

const timesLog1p = (x, y) => (x === 0 ? 0 : x * Math.log1p(y));
const timesLog = (x, y) => (x === 0 ? 0 : x * Math.log(y));

function poisson(density, row) {
  const { data: rates, shape } = array(density.values);
  const average = flat(density.average);
  refuseFractions(row, () => Infinity);
  const term = (x, i, j) => timesLog1p(x, (rates[i] - average[j]) / average[j]) - (rates[i] - average[j]);
  const base = (x, i, j) => timesLog(x, average[j]) - average[j] - logFactorial(x);
  return { relative: summed(shape[0], row, term), common: summed(1, row, base)[0] };
}

function binomial(density, row) {
  const { data: chances, shape } = array(density.values);
  const [average, trials] = [flat(density.average), flat(density.trials)];
  refuseFractions(row, (j) => trials[j]);
  const term = (x, i, j) => {
    const excess = chances[i] - average[j];
    return timesLog1p(x, excess / average[j]) + timesLog1p(trials[j] - x, -excess / (1 - average[j]));
  };
  const base = (x, i, j) =>
    logFactorial(trials[j]) - logFactorial(x) - logFactorial(trials[j] - x) +
    timesLog(x, average[j]) + timesLog1p(trials[j] - x, -average[j]);
  return { relative: summed(shape[0], row, term), common: summed(1, row, base)[0] };
}

/** x log θ; where counts are missing, the others have a total of their own, and shares of it. */
function multinomial(density, row) {
  const { data: chance, shape } = array(density.chance);
  refuseNegative(row);
  const whole = summed(1, row, (x) => x)[0];
  const left = summed(shape[0], row, (x, i) => chance[i]);
  const lines = summed(shape[0], row, (x, i) => timesLog(x, chance[i]));
  const relative = lines.map((line, k) => (whole > 0 ? line - whole * Math.log(left[k]) : line));
  return { relative, common: logFactorial(whole) - summed(1, row, (x) => logFactorial(x))[0] };
}

/** Scores, which are no densities. */
function complement(density, row) {
  const { data: weights, shape } = array(density.weights);
  refuseNegative(row);
  return { relative: summed(shape[0], row, (x, i) => (x === 0 ? 0 : x * weights[i])), common: 0 };
}

function refuseNegative(row) {
  if (row.some((x) => x < 0)) throw new UnscorableError("A count is negative.");
}

function refuseFractions(row, most) {
  if (row.some((x, j) => x < 0 || x > most(j) || (!Number.isNaN(x) && x !== Math.floor(x)))) {
    throw new UnscorableError("A value is not a count.");
  }
}

/** log of the sum over the components of each class. */
function mixture(density, row) {
  const { relative, common } = logDensity(density.components, row);
  const shares = flat(density.log_share);
  const own = Array.from({ length: density.classes }, () => []);
  density.owner.forEach((k, c) => own[k].push(relative[c] + shares[c]));
  return { relative: own.map(logSumExp), common };
}

Object.assign(DENSITIES, { product, constant, categorical, presence, unseen, lognormal, poisson, binomial, mixture });
Object.assign(DENSITIES, { multinomial, complement });
DENSITIES.independent_student = independentStudent;
