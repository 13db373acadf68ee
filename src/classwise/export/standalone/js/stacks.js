// Stacks: members that transform rows first, and the mixture of their posteriors.
// P(k | x) ~ (sum over members i of w_i P_i(k | x)^b_i / Z_i(x))^b

import { CLASSIFIERS, logPosterior } from "./classifiers.js";
import { array, below, flat, logNormalize, logSumExp } from "./numbers.js";

function pool(classifier, row) {
  const parts = classifier.members.map((member) => {
    const own = logNormalize(logPosterior(member.model, row).map((log) => member.power * log));
    return own.map((log) => member.log_weight + log);
  });
  const mixed = parts[0].map((_, k) => classifier.power * logSumExp(parts.map((part) => part[k])));
  const shift = flat(classifier.shift);
  return logNormalize(logNormalize(mixed).map((log, k) => log + shift[k]));
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
