// Averaged one-dependence: each column in turn is the parent of all others.
// p(x | k) = mean over columns i of  p(x_i | k)  product over j != i of  p(x_j | x_i, k)

import { DENSITIES } from "./densities.js";
import { UnscorableError, array, below, flat, logSumExp, range } from "./numbers.js";

function oneDependence(density, row) {
  if (row.some((x) => Math.abs(x) === Infinity)) throw new UnscorableError("A row holds infinity.");
  const { data, shape } = array(density.logs);
  const [size, , classes] = shape;
  let start = 0;
  const starts = density.sizes.map((count) => (start += count) - count);
  const codes = density.places.map((place, j) => codeOf(place, row[j]));
  const known = codes.map((code, j) => (code < 0 ? -1 : starts[j] + code)).filter((level) => level >= 0);
  const given = (level) =>
    range(0, classes).map((k) => known.reduce((sum, b) => sum + data[(level * size + b) * classes + k], 0));
  const parents = density.sizes.flatMap((count, j) => {
    if (count < 2) return [];
    if (codes[j] >= 0) return [given(starts[j] + codes[j])];
    const levels = range(starts[j], starts[j] + count).map((a) =>
      given(a).map((score, k) => score + data[(a * size + a) * classes + k]),
    );
    return [range(0, classes).map((k) => logSumExp(levels.map((scores) => scores[k])))];
  });
  const relative = range(0, classes).map((k) => logSumExp(parents.map((of) => of[k])) - Math.log(parents.length));
  const common = -density.places.reduce((sum, place, j) => sum + logWidth(place, codes[j]), 0);
  return { relative, common };
}

/** The level, or the range, of a value; -1 where there is none. */
function codeOf(place, value) {
  if (place.codes) return place.codes[value < 0 ? place.codes.length - 1 : value];
  return Number.isNaN(value) ? place.missing : place.first + below(flat(place.edges), value, true);
}

function logWidth(place, code) {
  return place.codes || code < 0 ? 0 : flat(place.log_widths)[code];
}

DENSITIES.one_dependence = oneDependence;
