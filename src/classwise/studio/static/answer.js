// The top of the page: the sentence of the comparison, what is wrong with the table, and what matters.
import { ask, get } from "./api.js";
import { $, bar, fill, make, short, table, tell } from "./page.js";
import { change, opening, state } from "./state.js";

const SEEN = { examine: showFindings, compare: showComparison, importance: showMatters };
const FAILED = {
  examine: (problem) => { fill($("finding-list"), make("li", {}, make("span", {}, `The table could not be examined: ${problem}`))); $("findings").hidden = false; },
  compare: (problem) => { progress(null); $("sentence").textContent = `The models could not be compared: ${problem}`; },
  importance: (problem) => { fill($("matter-list"), make("p", { class: "small quiet" }, `What matters could not be found out: ${problem}`)); $("matters").hidden = false; },
};
let shown = {};          // which jobs of the table have been shown
export let comparison = null;

export function freshAnswer() {
  shown = {}; comparison = null;
  $("findings").hidden = $("matters").hidden = true;
  notes();
}

// Everything that the table says of itself, before any examination.
function notes() {
  const said = table.facts?.notes ?? [];
  fill($("finding-list"), ...said.map((text) => make("li", {}, make("span", {}, text))));
  $("findings").hidden = !said.length;
}

// One look at the jobs; whether any goes on.
export async function watchJobs(jobs) {
  let busy = false;
  for (const [name, job] of Object.entries(jobs)) {
    if (job.state === "running") { busy = true; if (name === "compare") comparing(job); continue; }
    if (shown[name]) continue;
    shown[name] = true;
    const told = await get(`job/${name}`);
    if (told.found) SEEN[name](told.found);
    else if (told.problem) FAILED[name](told.problem);
  }
  return busy;
}

export function progress(job) {
  $("opening").hidden = !job;
  if (!job) return;
  if (job.share > 0) $("opening-bar").value = job.share; else $("opening-bar").removeAttribute("value");
  $("opening-about").textContent = job.about;
}

function comparing(job) {
  if (!comparison) $("sentence").textContent = "Comparing models on held-out rows …";
  progress(job);
}

function showComparison(found) {
  comparison = found;
  progress(null);
  fill($("sentence"), found.sentence);
  document.dispatchEvent(new CustomEvent("compared"));
}

// Findings with switches: a switch opens the table again with the remedy, or without it.
function showFindings(found) {
  const applied = state.drop.length || Object.keys(state.families).length || state.missing;
  const undo = applied ? make("li", {}, make("span", {}, "Remedies are applied."), make("button", { type: "button", class: "text", onclick: () => reopen({ drop: [], families: {}, missing: null }) }, "Take them back")) : null;
  const items = found.findings.map((each) => make("li", {},
    make("span", { class: each.severity === "problem" ? "mark" : "quiet", "aria-hidden": "true" }, each.severity === "problem" ? "!" : "·"),
    make("span", {}, make("span", { class: "quiet" }, each.severity === "problem" ? "Problem: " : "Note: "), each.message), remedy(each)));
  const said = (table.facts?.notes ?? []).filter((text) => !found.findings.some((each) => each.columns.some((name) => text.includes(name))));
  fill($("finding-list"), undo, ...said.map((text) => make("li", {}, make("span", {}, text))), ...items);
  if (!items.length && !said.length && !undo) fill($("finding-list"), make("li", { class: "quiet" }, "Nothing was found to be wrong with it."));
  $("findings").hidden = false;
}

function remedy(finding) {
  if (!finding.flag) return null;
  const box = make("input", { type: "checkbox", onchange: () => apply(finding.flag, box) });
  return make("label", { class: "small", title: finding.flag }, box, finding.when.replace(/^If not$/, "Fix it") || "Fix it");
}

async function apply(flag, box) {
  box.disabled = true;
  try {
    reopen(await ask("mended", { opening: opening(), flag }));
  } catch (problem) { tell("page-problem", problem.message); box.disabled = false; }
}

function reopen({ drop, families, missing }) {
  change({ drop, families, missing, model: null, point: null, row: null });
  document.dispatchEvent(new CustomEvent("reopen"));
}

function showMatters(found) {
  const most = Math.max(...found.lines.map((line) => line.increase), 1e-12);
  const lines = found.lines.slice(0, 5).map((line) => make("div", { class: "line" },
    make("span", { title: line.name }, line.name), make("div", { class: "track" }, bar(line.increase / most)),
    make("span", { class: "quiet", title: "How much the log loss rises without it" }, `+${short(Math.max(line.increase, 0)) || 0}`)));
  fill($("matter-list"), make("p", { class: "small quiet" }, found.sentence), make("div", { class: "bars" }, ...lines));
  $("matters").hidden = false;
}
