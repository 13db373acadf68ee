// The comparison as a table: sortable; a name shows that model in the picture.
import { comparison } from "./answer.js";
import { $, fill, make, percent, short } from "./page.js";
import { change, state } from "./state.js";

const COLUMNS = [
  ["name", "model", (line) => name(line)],
  ["accuracy", "accuracy", (line) => (line.accuracy === null ? "" : percent(line.accuracy))],
  ["log_loss", "log loss", (line) => short(line.log_loss)],
  ["brier", "Brier score", (line) => short(line.brier)],
  ["calibration_error", "calibration error", (line) => short(line.calibration_error)],
  ["free_parameters", "parameters", (line) => line.free_parameters ?? ""],
  ["seconds", "seconds", (line) => line.seconds.toFixed(1)],
];
let sorted = ["log_loss", 1];

function name(line) {
  const tag = line.note ? make("span", { class: line.note === "best" ? "tag best" : "tag" }, line.note) : null;
  const text = line.shown ? make("button", { type: "button", onclick: () => change({ model: line.name }), title: "Show this model in the picture" }, line.name) : line.name;
  return make("span", { class: "name" }, text, " ", tag);
}

function compare(first, second) {
  const [key, sign] = sorted, [a, b] = [first[key], second[key]];
  if (a === null || b === null) return (a === null) - (b === null);
  return sign * (typeof a === "string" ? a.localeCompare(b) : a - b);
}

function heading([key, text]) {
  const sort = sorted[0] === key ? (sorted[1] > 0 ? "ascending" : "descending") : null;
  const turn = () => { sorted = [key, sorted[0] === key ? -sorted[1] : 1]; showModels(); $("panel-models").querySelector(`[data-key=${key}]`).focus(); };
  return make("th", { scope: "col", "aria-sort": sort }, make("button", { type: "button", "data-key": key, onclick: turn }, text));
}

export function showModels() {
  if (!comparison) { fill($("panel-models"), make("p", { class: "quiet" }, "The comparison is on its way.")); return; }
  const lines = comparison.lines.filter((line) => !line.reason).sort(compare), failed = comparison.lines.filter((line) => line.reason);
  const rows = lines.map((line) => make("tr", { "aria-current": state.model === line.name ? "true" : null }, ...COLUMNS.map(([, , show]) => make("td", {}, show(line)))));
  const back = state.model ? make("button", { type: "button", class: "text", onclick: () => change({ model: null }) }, "Back to the dials") : null;
  fill($("panel-models"), make("p", { class: "quiet small" }, ["Every model on the same held-out rows. A name shows that model in the picture. ", ...comparison.remarks].join(" ")), back,
    make("table", { id: "model-table" }, make("thead", {}, make("tr", {}, ...COLUMNS.map(heading))), make("tbody", {}, ...rows)),
    failed.length ? make("ul", { class: "small quiet" }, ...failed.map((line) => make("li", {}, `${line.name}: ${line.reason}`))) : null);
}
