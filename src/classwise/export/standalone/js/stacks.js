// Stacks: members that transform rows first, and the mixture of their posteriors, beside a product of them.
// Q_i(k | x) = P_i(k | x)^b_i / Z_i(x)
// P(k | x) ~ ((1 - share) sum over members i of w_i Q_i(k | x)  +  share product over i of Q_i(k | x)^a_i / Z(x))^b

import { CLASSIFIERS, logPosterior } from "./classifiers.js";
import { array, below, flat, logNormalize, logSumExp } from "./numbers.js";

function pool(classifier, row) {
  const { members, product } = classifier;
  const logs = members.map((of) => logNormalize(logPosterior(of.model, row).map((log) => of.power * log)));
  const mixed = logs[0].map((_, k) => logSumExp(members.map((of, i) => of.log_weight + logs[i][k])));
  const pooled = product ? besideProduct(product, mixed, logs) : mixed;
  const shift = flat(classifier.shift);
  return logNormalize(logNormalize(pooled.map((log) => classifier.power * log)).map((log, k) => log + shift[k]));
}

/** log((1 - share) mixture + share product). */
function besideProduct(product, mixed, logs) {
  const exponents = flat(product.exponents);
  const sum = (k) => logs.reduce((total, log, i) => total + exponents[i] * Math.max(log[k], product.least), 0);
  const own = logNormalize(mixed.map((_, k) => sum(k)));
  return mixed.map((log, k) => logSumExp([product.log_rest + log, product.log_share + own[k]]));
}

/** A prior and a density per class, of transformed rows. */
function encoded(member, row) {
  return logPosterior(member.classifier, transformed(member.encoding, row));
}

/** The shares of the classes, whatever the row. */
function shares(member) {
  return Array.from(flat(member.logs));
}

/** Softmax of intercept + weights'(x - center). */
function linear(member, row) {
  const center = flat(member.center);
  return softmax(member, transformed(member.encoding, row).map((x, j) => x - center[j]));
}

/** Softmax of intercept + weights' exp(-|z - c|² / width), over landmarks c. */
function kernel(member, row) {
  const z = transformed(member.encoding, row);
  const { data, shape } = array(member.landmarks);
  const near = Array.from({ length: shape[0] }, (_, i) => {
    let square = 0;
    for (let j = 0; j < shape[1]; j++) square += (z[j] - data[i * shape[1] + j]) ** 2;
    return Math.exp(-square / member.width);
  });
  return softmax(member, near);
}

/** Softmax of the last of several layers; tanh after each of the others. */
function network(member, row) {
  const hidden = member.layers.slice(0, -1);
  const values = hidden.reduce((inputs, layer) => affine(layer, inputs).map(Math.tanh), transformed(member.encoding, row));
  return softmax(member.layers.at(-1), values);
}

function softmax(layer, values) {
  return logNormalize(affine(layer, values));
}

/** intercept + weights'values. */
function affine(layer, values) {
  const weights = flat(layer.weights);
  return Array.from(flat(layer.intercept), (score, k) =>
    values.reduce((sum, x, j) => sum + weights[k * values.length + j] * x, score),
  );
}

/** Numbers in units of their spread, to a power; steps; categories as positions, or as yes and no. */
function transformed(encoding, row) {
  const [center, scale, powers] = [encoding.center, encoding.scale, encoding.powers].map(flat);
  const numbers = encoding.columns.map((j, i) => {
    const z = (row[j] - center[i]) / scale[i];
    return Number.isNaN(z) ? 0 : yeoJohnson(z, powers[i]);
  });
  const steps = encoding.steps.flatMap((cuts, i) => Array.from(flat(cuts), (cut) => (numbers[i] > cut ? 0.5 : -0.5)));
  const positions = encoding.categories.map((category) => positionOf(category, row[category.column]));
  if (encoding.indicators === null) return [...numbers, ...steps, ...positions];
  const shown = encoding.indicators.flatMap((own, i) => own.map((position) => Number(positions[i] === position)));
  return [...numbers, ...steps, ...shown];
}

/** The position of a value among the levels of a category; -1 where it is unknown. */
function positionOf(category, value) {
  if (category.cuts) return Number.isNaN(value) ? category.missing : below(flat(category.cuts), value);
  return value < 0 ? category.missing : value < category.count ? value : -1;
}

/** ((1 + z)^a - 1) / a for z >= 0, and -((1 - z)^(2 - a) - 1) / (2 - a) below. */
function yeoJohnson(z, power) {
  if (power === 1) return z;
  return z >= 0 ? powerOf(z, power) : -powerOf(-z, 2 - power);
}

function powerOf(magnitude, power) {
  const log = Math.log1p(magnitude);
  return Math.abs(power) < 1e-8 ? log : Math.expm1(power * log) / power;
}

Object.assign(CLASSIFIERS, { pool, encoded, shares, linear, kernel, network });
