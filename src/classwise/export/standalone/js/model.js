// A classifier that classwise VERSION wrote. It has no dependencies.
//
//     predict(rows)       the label of each row
//     predictProba(rows)  P(label | row), in the order of labels, of each row
//
// rows: an array of objects by column name, or of arrays in the order of columns. null, undefined and NaN are missing.

import { posteriors, predicted } from "./answers.js";
import { decided } from "./decisions.js";
import { unpacked } from "./numbers.js";

const MODEL = unpacked("MODEL");

const labels = MODEL.labels;
const columns = MODEL.columns.map((column) => column.name);
export { columns, labels };

export function predict(rows) {
  return predicted(MODEL, rows, DECIDE);
}

export function predictProba(rows) {
  return posteriors(MODEL, rows);
}
