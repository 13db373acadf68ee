// Forests: the mean over trees of what is believed of the leaf that a row falls into. Boosted trees: a sum of leaves.

import { CLASSIFIERS } from "./classifiers.js";
import { UnscorableError, array, flat, logNormalize } from "./numbers.js";

/** power log mean + shift, normalized. */
function forest(classifier, row) {
  const shift = flat(classifier.shift);
  const count = flat(classifier.roots).length;
  return logNormalize(sumOf(classifier, row).map((p, k) => classifier.power * Math.log(p / count) + shift[k]));
}

/** start + sum, normalized. */
function boosted(classifier, row) {
  const start = flat(classifier.start);
  return logNormalize(sumOf(classifier, row).map((sum, k) => start[k] + sum));
}

function sumOf(trees, row) {
  if (row.some((x) => Math.abs(x) === Infinity)) throw new UnscorableError("A row holds infinity.");
  const fill = flat(trees.fill);
  const values = row.map((x, j) => (Number.isNaN(x) ? fill[j] : x));
  for (const j of trees.levels) if (row[j] < 0) values[j] = fill[j];
  const [column, cut, left, right, leaf] = ["column", "cut", "left", "right", "leaf"].map((name) => flat(trees[name]));
  const { data: beliefs, shape } = array(trees.beliefs);
  const total = Array(shape[1]).fill(0);
  for (const root of flat(trees.roots)) {
    let node = root;
    while (column[node] >= 0) node = values[column[node]] <= cut[node] ? left[node] : right[node];
    for (let k = 0; k < total.length; k++) total[k] += beliefs[leaf[node] * shape[1] + k];
  }
  return total;
}

Object.assign(CLASSIFIERS, { forest, boosted });
