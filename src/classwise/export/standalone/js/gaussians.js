// Gaussians and Student-t of several columns: of a row with gaps, the density of the values that are there.

import { DENSITIES } from "./densities.js";
import { array, flat, once, range } from "./numbers.js";

// Centers that are more standard deviations apart than this are subtracted first, which costs no digits.
const FAR = 64;

function gaussian(density, row) {
  if (density.variances) return independent(density, row);
  const there = range(0, row.length).filter((j) => !Number.isNaN(row[j]));
  if (!there.length) return { relative: Array(array(density.means).shape[0]).fill(0), common: 0 };
  const of = marginal(density, there);
  const constant = 0.5 * there.length * Math.log(2 * Math.PI);
  const x = there.map((j) => row[j]);
  if (of.whitening.length === of.means.length) {
    const relative = distancesOf(of, x).map((square, k) => -0.5 * square - of.volume[k] - constant);
    return { relative, common: 0 };
  }
  return shared(of, x, -of.volume[0] - constant);
}

/** One covariance for all classes: what differs between them is linear. */
function shared(of, x, constant) {
  const white = times(x.map((value, j) => value - of.middle[j]), of.whitening[0]);
  if (of.isFar) return { relative: of.centers.map((center) => -0.5 * squared(white, center)), common: constant };
  const relative = of.centers.map((center) => dot(white, center) - 0.5 * dot(center, center));
  return { relative, common: constant - 0.5 * dot(white, white) };
}

/** Column by column; where all classes share the variances, x² is common. */
function independent(density, row) {
  const { data: means, shape } = array(density.means);
  const { data: variances, shape: kinds } = array(density.variances);
  const [classes, width] = shape;
  const own = kinds[0] === classes;
  const relative = Array(classes).fill(0);
  let common = 0;
  for (let j = 0; j < width; j++) {
    const x = row[j];
    if (Number.isNaN(x)) continue;
    const middle = range(0, classes).reduce((sum, k) => sum + means[k * width + j], 0) / classes;
    if (!own) common -= 0.5 * ((x - middle) ** 2 / variances[j] + Math.log(2 * Math.PI * variances[j]));
    for (let k = 0; k < classes; k++) {
      const mean = means[k * width + j];
      const variance = variances[own ? k * width + j : j];
      const center = mean - middle;
      if (own) relative[k] -= 0.5 * ((x - mean) ** 2 / variance + Math.log(2 * Math.PI * variance));
      else relative[k] += ((x - middle) * center - 0.5 * center * center) / variance;
    }
  }
  return { relative, common };
}

function student(density, row) {
  const there = range(0, row.length).filter((j) => !Number.isNaN(row[j]));
  const { data: scale, shape } = array(density.scale);
  if (!there.length) return { relative: Array(shape[1]).fill(0), common: 0 };
  const of = marginal(density, there);
  const [factor, freedom] = [flat(density.factor), flat(density.freedom)];
  const relative = distancesOf(of, there.map((j) => row[j])).map((square, k) => {
    const spread = Math.log1p(square / (factor[k] * freedom[k]));
    const volume = of.volume[of.whitening.length > 1 ? k : 0];
    return scale[there.length * shape[1] + k] - volume - 0.5 * (freedom[k] + there.length) * spread;
  });
  return { relative, common: 0 };
}

/** Squared distances from the means, of the values that are there. */
export function distances(density, row) {
  const there = range(0, row.length).filter((j) => !Number.isNaN(row[j]));
  const { data: means, shape } = array(density.means);
  if (!there.length) return Array(shape[0]).fill(0);
  if (!density.variances) return distancesOf(marginal(density, there), there.map((j) => row[j]));
  const { data: variances, shape: kinds } = array(density.variances);
  const variance = (k, j) => variances[(kinds[0] > 1 ? k : 0) * shape[1] + j];
  const square = (k) => there.reduce((sum, j) => sum + (row[j] - means[k * shape[1] + j]) ** 2 / variance(k, j), 0);
  return range(0, shape[0]).map(square);
}

// Matrices of some columns, made once for each pattern of gaps.

function marginal(density, there) {
  const known = once(density, () => new Map());
  const key = there.join();
  if (!known.has(key)) known.set(key, made(density, there));
  return known.get(key);
}

function made(density, there) {
  const { data: means, shape } = array(density.means);
  const { data, shape: kinds } = array(density.matrices);
  const width = shape[1];
  const own = range(0, shape[0]).map((k) => there.map((j) => means[k * width + j]));
  const matrices = range(0, kinds[0]).map((k) => there.map((i) => there.map((j) => data[(k * width + i) * width + j])));
  const roots = matrices.map(root);
  const middle = there.map((_, j) => own.reduce((sum, mean) => sum + mean[j], 0) / own.length);
  const whitening = roots.map((of) => of.whitening);
  const centers = own.map((mean) => times(mean.map((value, j) => value - middle[j]), whitening[0]));
  const isFar = centers.some((center) => center.some((value) => Math.abs(value) > FAR));
  return { means: own, whitening, volume: roots.map((of) => of.volume), middle, centers, isFar };
}

/** whitening: the rows of V, lower triangular, with |V x|² = x' C^-1 x; volume: 1/2 log|C|. */
function root(matrix) {
  const size = matrix.length;
  const scale = matrix.map((row, j) => Math.sqrt(row[j]));
  const lower = matrix.map(() => new Float64Array(size));
  for (let i = 0; i < size; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = matrix[i][j] / (scale[i] * scale[j]);
      for (let k = 0; k < j; k++) sum -= lower[i][k] * lower[j][k];
      lower[i][j] = i === j ? Math.sqrt(sum) : sum / lower[j][j];
    }
  }
  const inverse = matrix.map(() => new Float64Array(size));
  for (let j = 0; j < size; j++) {
    for (let i = j; i < size; i++) {
      let sum = i === j ? 1 : 0;
      for (let k = j; k < i; k++) sum -= lower[i][k] * inverse[k][j];
      inverse[i][j] = sum / lower[i][i];
    }
  }
  const whitening = inverse.map((row) => row.map((value, j) => value / scale[j]));
  return { whitening, volume: scale.reduce((sum, s, j) => sum + Math.log(s) + Math.log(lower[j][j]), 0) };
}

function times(x, rows) {
  return rows.map((row) => dot(row, x));
}

function dot(first, second) {
  let sum = 0;
  for (let j = 0; j < first.length; j++) sum += first[j] * second[j];
  return sum;
}

function squared(first, second) {
  let sum = 0;
  for (let j = 0; j < first.length; j++) sum += (first[j] - second[j]) ** 2;
  return sum;
}

function distancesOf(of, x) {
  return of.means.map((mean, k) => {
    const white = times(x.map((value, j) => value - mean[j]), of.whitening[of.whitening.length > 1 ? k : 0]);
    return dot(white, white);
  });
}

Object.assign(DENSITIES, { gaussian, student });
