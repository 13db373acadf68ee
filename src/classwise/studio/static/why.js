// Why? The discriminant values, each column's share and the densities in each dimension, at a point or for a row.
import { ask } from "./api.js";
import { $, bar, colors, fill, latest, make, percent, short, swatch, table } from "./page.js";
import { markPoint } from "./plane.js";
import { dials, state } from "./state.js";

const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;

export const showWhy = latest(async () => {
  if (!state.point || !table.facts || state.pad) {
    fill($("panel-why"), make("p", { class: "quiet" }, "Click a place in the picture, or a row, to ask why it belongs to a class."));
    markPoint(null);
    return;
  }
  try {
    const found = await ask("why", { dials: dials(), point: state.point, row: state.row });
    markPoint(found.point.length === 2 && found.point.every((value) => value !== null) ? found.point : null);
    fill($("panel-why"), title(found), make("div", { class: "two" }, classTable(found), shares(found)), densities(found));
  } catch (problem) {
    fill($("panel-why"), make("p", { class: "problem" }, problem.message));
  }
});

function title(found) {
  const sentences = (found.sentences ?? []).join(" ");
  return make("div", {}, make("h3", { id: "why-title" }, found.title), sentences ? make("p", { class: "quiet" }, sentences) : null);
}

function classTable(found) {
  const rows = table.facts.classes.map((each, k) => make("tr", {},
    make("td", {}, swatch(colors()[k]), " ", each.label),
    make("td", { "data-posterior": found.posterior[k], "data-class": each.label }, percent(found.posterior[k])),
    found.discriminants ? make("td", {}, found.discriminants[k] === null ? "−∞" : found.discriminants[k].toFixed(3)) : null));
  const head = make("tr", {}, make("th", { scope: "col" }, "class"), make("th", { scope: "col" }, "posterior"),
    found.discriminants ? make("th", { scope: "col" }, "log prior + log density") : null);
  const decided = found.decision === "refused" ? "Left undecided." : `Decided: ${found.decision}.`;
  return make("div", {}, make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)), make("p", { class: "quiet sub" }, decided));
}

function shares(found) {
  if (!found.against) return null;
  const parts = [...found.shares.map((each) => [each.value === null ? each.column : `${each.column} = ${each.value}`, each.share]), ["prior", found.prior]];
  if (found.volume) parts.push(["volume", found.volume]);
  const most = Math.max(...parts.map(([, share]) => Math.abs(share)), 1e-9);
  const lines = parts.map(([name, share]) => make("div", { class: "line" }, make("span", { title: name }, name),
    make("div", { class: "track both" }, bar(Math.abs(share) / most / 2, share < 0)), make("span", {}, signed(share))));
  return make("div", {}, make("p", { class: "small quiet" }, `What speaks for ${found.against[0]} against ${found.against[1]}, in log odds; the sum is ${signed(found.log_odds)}.`),
    make("div", { class: "bars" }, ...lines));
}

function densities(found) {
  if (!found.densities?.length) return null;
  const head = make("tr", {}, make("th", { scope: "col" }, "log density of"), ...table.facts.classes.map((each) => make("th", { scope: "col" }, each.label)));
  const rows = found.densities.map((each) => make("tr", {}, make("td", {}, `${each.column} = ${each.value}`),
    ...each.log_density.map((value) => make("td", {}, value === null ? "−∞" : short(value)))));
  return make("div", {}, make("h3", { class: "sub" }, "In each dimension"), make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)));
}
