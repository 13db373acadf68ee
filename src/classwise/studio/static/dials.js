// The other dials: structure, estimate, standardize, priors, costs and the reject slider.
import { $, fill, make, table } from "./page.js";
import { change, state } from "./state.js";

export function showSwitches() {
  for (const name of ["structure", "estimate"]) {
    for (const radio of document.querySelectorAll(`input[name=${name}]`)) radio.checked = radio.value === state[name];
  }
  $("standardize").checked = state.standardize;
  $("standardize").disabled = state.estimate === "bayes";
  $("reject").value = state.reject;
  $("reject-out").textContent = state.reject ? state.reject.toFixed(3) : "off";
  $("priors-reset").hidden = !state.priors;
  for (const [k, input] of [...$("priors").querySelectorAll("input")].slice(0, table.facts.classes.length).entries()) {
    if (!state.priors) input.value = table.facts.classes[k].share;
    else if (document.activeElement !== input) input.value = state.priors[k];
  }
}

// The Bayes estimate has share 0 or 1, no shrinking, and the units of the data.
function estimate(value) {
  const corner = value === "bayes" ? { share: state.share < 0.5 ? 0 : 1, shrink: 0, standardize: false } : {};
  change({ estimate: value, model: null, ...corner });
}

export function makePriors() {
  const { classes } = table.facts;
  fill($("priors"), ...classes.map((each, k) => make("label", { class: "dial" }, make("span", { title: each.label }, each.label),
    make("input", { type: "range", min: 0, max: 1, step: 0.001, value: each.share, oninput: (event) => movePrior(k, Number(event.target.value)) }),
    make("output", { "data-class": each.label }, ""))));
}

function movePrior(k, value) {
  const weights = [...(state.priors ?? table.facts.classes.map((each) => each.share))];
  weights[k] = value;
  if (weights.some((weight) => weight > 0)) change({ priors: weights });
}

document.addEventListener("priors", ({ detail }) => {
  [...$("priors").querySelectorAll("output")].slice(0, detail.length).forEach((output, k) => {
    output.textContent = detail[k].toFixed(3);
    output.dataset.prior = detail[k];
  });
});

export function makeCosts() {
  const { classes } = table.facts;
  if (classes.length > 6) { fill($("costs"), make("p", { class: "quiet small" }, "With more than six classes, give costs in Python.")); return; }
  const cost = (i, j) => state.costs?.[i]?.[j] ?? Number(i !== j);
  const head = make("tr", {}, make("th", { scope: "col" }, "true class"), ...classes.map((each) => make("th", { scope: "col", title: each.label }, each.label)));
  const rows = classes.map((each, i) => make("tr", {}, make("th", { scope: "row", title: each.label }, each.label),
    ...classes.map((other, j) => make("td", {}, make("input", {
      type: "number", min: 0, max: 1000, step: "any", value: cost(i, j),
      "aria-label": `Cost of deciding ${other.label} where ${each.label} is true`, onchange: readCosts,
    })))));
  fill($("costs"), make("table", {}, head, ...rows));
}

function readCosts() {
  const rows = [...$("costs").querySelectorAll("tr")].slice(1);
  const costs = rows.map((row) => [...row.querySelectorAll("input")].map((input) => Math.max(Number(input.value) || 0, 0)));
  const plain = costs.every((row, i) => row.every((value, j) => value === Number(i !== j)));
  change({ costs: plain ? null : costs });
}

export function startDials() {
  for (const radio of document.querySelectorAll("input[name=structure]")) {
    radio.addEventListener("change", () => change({ structure: radio.value, model: null }));
  }
  for (const radio of document.querySelectorAll("input[name=estimate]")) radio.addEventListener("change", () => estimate(radio.value));
  $("standardize").addEventListener("change", (event) => change({ standardize: event.target.checked, model: null }));
  $("reject").addEventListener("input", (event) => change({ reject: Number(event.target.value) }));
  $("priors-reset").addEventListener("click", () => change({ priors: null }));
}
