// The tabs below the picture: each asks for what it shows when it is looked at.
import { ask, get } from "./api.js";
import { showModels } from "./models.js";
import { $, css, fill, later, make, percent, table, thousands } from "./page.js";
import { config, layout } from "./plane.js";
import { change, dials, state } from "./state.js";
import { showWhy } from "./why.js";

const TABS = ["why", "models", "held", "equation", "diagnosis", "curve"];
const SHOWS = { why: showWhy, models: showModels, held: showHeld, equation: showEquation, diagnosis: () => job("diagnose", "diagnosis", showDiagnosis), curve: () => job("curve", "curve", showCurve) };

const problem = (panel, text) => fill($(`panel-${panel}`), make("p", { class: "problem" }, text));
const waiting = (panel, text) => { if (!$(`panel-${panel}`).children.length) fill($(`panel-${panel}`), make("p", { class: "quiet" }, text)); };

async function showHeld() {
  waiting("held", "Fitting without each fold in turn …");
  try {
    const found = await ask("held-out", dials());
    const chart = make("div", { class: "chart", id: "reliability", role: "img", "aria-label": "Reliability: how often the decided class was right, against the predicted probability" });
    fill($("panel-held"), make("p", {}, found.sentence), make("div", { class: "two" },
      make("div", {}, make("h3", {}, "Reliability"), chart), make("div", {}, make("h3", {}, "Confusion"), confusion(found))));
    reliability(found.reliability);
  } catch (error) { problem("held", error.message); }
}

function reliability({ announced, observed, weight }) {
  const ink = css("--ink"), line = css("--line"), sizes = weight.map((value) => 6 + 14 * Math.sqrt(value / Math.max(...weight)));
  const axis = (text) => ({ title: { text }, range: [0, 1.03], fixedrange: true, gridcolor: line, zeroline: false, automargin: true });
  Plotly.newPlot("reliability", [
    { x: [0, 1], y: [0, 1], mode: "lines", line: { color: css("--quiet"), dash: "dot", width: 1 }, hoverinfo: "skip" },
    { x: announced, y: observed, mode: "lines+markers", marker: { size: sizes, color: css("--accent") }, line: { color: css("--accent"), width: 1.5 }, hoverinfo: "skip" },
  ], { ...layout(), font: { color: ink, family: css("--sans") }, xaxis: axis("predicted probability"), yaxis: axis("observed share") }, config);
}

function confusion(found) {
  const head = make("tr", {}, make("th", { scope: "col" }, "true ↓ decided →"), ...found.labels.map((label) => make("th", { scope: "col" }, label)));
  const rows = found.confusion.map((row, i) => {
    const total = row.reduce((sum, value) => sum + value, 0) || 1;
    return make("tr", {}, make("th", { scope: "row", class: "left" }, found.labels[i]), ...row.map((value) => {
      const cell = make("td", { title: percent(value / total) }, thousands(value));
      const share = Math.round((100 * value) / total);
      if (share) cell.style.background = `color-mix(in srgb, var(--accent) ${0.32 * share}%, var(--card))`;
      return cell;
    }));
  });
  return make("table", { class: "confusion" }, make("thead", {}, head), make("tbody", {}, ...rows));
}

async function showEquation() {
  try {
    const found = await ask("equation", dials());
    const pairs = found.pairs.map((each) => {
      const box = make("div", { class: "pair", "data-kind": each.kind }, make("h3", {}, `${each.classes[0]} against ${each.classes[1]}: ${each.kind}`));
      box.insertAdjacentHTML("beforeend", `<p class="formula">${each.formula}</p><div class="quiet">${each.matrices}</div>`);
      return box;
    });
    const words = found.sentence || "Log odds of the two classes in the columns shown, f(x) = xᵀW x + wᵀx + w₀. The boundary is where f is zero; f is positive where the first class wins.";
    fill($("panel-equation"), make("p", { class: "quiet" }, words), ...pairs);
  } catch (error) { problem("equation", error.message); }
}

// Long work: begun when its tab is looked at.
const finished = {};
async function job(name, panel, show) {
  if (!table.facts) return;
  if (finished[name]?.of === table.count) { show(finished[name].found); return; }
  waiting(panel, "Working …");
  const of = table.count;
  try {
    await ask("begin", { job: name });
    for (;;) {
      const told = await get(`job/${name}`);
      if (table.count !== of) return;
      if (told.state === "done") { finished[name] = { of, found: told.found }; show(told.found); return; }
      if (told.state === "failed") { problem(panel, told.problem || "It was given up."); return; }
      fill($(`panel-${panel}`), make("p", { class: "quiet" }, `${told.what} … ${Math.round(100 * told.share)} %`));
      await new Promise((done) => setTimeout(done, 300));
    }
  } catch (error) { problem(panel, error.message); }
}

function showDiagnosis(found) {
  const advice = found.sentences.length ? found.sentences : Object.values(found.advice);
  fill($("panel-diagnosis"), make("ul", { class: "advice" }, ...advice.map((text) => make("li", {}, text))),
    make("details", {}, make("summary", {}, "The whole report"), make("pre", { class: "report", tabindex: "0" }, found.text)));
}

const LINES = ["#0072B2", "#56B4E9", "#D55E00", "#009E73", "#CC79A7", "#E69F00"];
function showCurve(found) {
  const chart = make("div", { class: "chart", id: "learning", role: "img", "aria-label": "Log loss on held-out rows against the number of training rows" });
  fill($("panel-curve"), make("ul", { class: "advice" }, ...found.summary.map((text) => make("li", {}, text))), chart);
  const line = css("--line"), plain = { fixedrange: true, gridcolor: line, zeroline: false, automargin: true };
  const traces = found.names.map((name, k) => ({ x: found.sizes, y: found.log_loss[k], name, mode: "lines+markers", line: { color: LINES[k % LINES.length], width: 2 }, connectgaps: false, hoverinfo: "skip" }));
  Plotly.newPlot("learning", traces, { ...layout(), showlegend: true, legend: { font: { color: css("--ink") } }, xaxis: { ...plain, type: "log", title: { text: "training rows" } }, yaxis: { ...plain, type: "log", title: { text: "log loss on held-out rows" } } }, config);
}

export function showPanel() {
  const panel = TABS.includes(state.panel) ? state.panel : "why";
  for (const name of TABS) {
    $(`panel-${name}`).hidden = name !== panel;
    $(`tab-${name}`).setAttribute("aria-selected", String(name === panel));
    $(`tab-${name}`).tabIndex = name === panel ? 0 : -1;
  }
  SHOWS[panel]();
}
export const showPanelSoon = later(showPanel, 200);

export function startPanels() {
  for (const [i, name] of TABS.entries()) {
    $(`tab-${name}`).addEventListener("click", () => change({ panel: name }));
    $(`tab-${name}`).addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = TABS[(i + step + TABS.length) % TABS.length];
      change({ panel: next });
      $(`tab-${next}`).focus();
    });
  }
  document.addEventListener("compared", () => { if (state.panel === "models") showModels(); });
}
