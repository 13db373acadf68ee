// Opening tables: given files, uploads, examples, the drawing pad; and watching them being read.
import { freshAnswer, progress, watchJobs } from "./answer.js";
import { ask, get, upload } from "./api.js";
import { makeCosts, makePriors } from "./dials.js";
import { $, fill, make, table, tell, thousands } from "./page.js";
import { columnMenus, freshPicture, legend } from "./picture.js";
import { change, opening, state, usual } from "./state.js";

const FRESH = ["x", "y", "priors", "costs", "reject", "model", "point", "row", "drop", "families", "missing", "pad"];
let menu = null, ready = () => {};

export const whenReady = (listener) => { ready = listener; };

// A table is there: everything that depends on its columns and classes is made anew.
export function adopt(facts, count) {
  const other = table.facts && JSON.stringify(table.facts.classes.map((each) => each.label)) !== JSON.stringify(facts.classes.map((each) => each.label));
  table.facts = facts; table.count = count;
  if (other || state.priors?.length !== facts.classes.length) change({ priors: state.priors?.length === facts.classes.length ? state.priors : null, costs: state.costs?.length === facts.classes.length ? state.costs : null });
  $("table-name").textContent = facts.name.split(/[\\/]/).pop();
  $("open").title = facts.name;
  $("table-facts").textContent = `${thousands(facts.rows)} rows, ${facts.classes.length} classes of ${facts.target}`;
  document.title = `${$("table-name").textContent} · classwise studio`;
  freshAnswer();
  freshPicture();
  makePriors(); makeCosts(); columnMenus(); legend();
  ready();
}

// What the address asks for; an address without a table asks for the one that the studio was started with.
export async function begin() {
  const status = await get("status");
  const named = state.file ? { name: state.file, opening: opening() } : state.example ? { example: state.example, opening: opening() } : null;
  const wanted = { name: null, example: null, ...(named ?? status.first) };
  if (!wanted.name && !wanted.example) { menu = status.menu; askTarget(null); return; }
  if (wanted.name && !wanted.opening.target) { menu = status.menu; askTarget(wanted.name); return; }
  const sorted = (asked) => JSON.stringify([asked?.name, asked?.example, asked?.opening.drop, asked?.opening.families, asked?.opening.missing]);
  if (sorted(status.asked) === sorted(wanted)) { watch(); return; }
  await open(wanted);
}

let watching = 0;
export async function watch() {
  const own = (watching += 1);
  let failed = false;
  for (;;) {
    let status;
    try { status = await get("status"); } catch (problem) { tell("page-problem", problem.message); return; }
    if (own !== watching) return;
    menu = status.menu;
    const job = status.opening;
    if (job?.state === "failed" && !failed) {
      failed = true;
      progress(null);
      $("sentence").textContent = "This table cannot be opened.";
      // The table before stays open, and says its own answer again.
      if (status.table) adopt(status.table, status.count);
      tell("page-problem", `${job.what.replace("Reading ", "")} cannot be opened: ${job.problem}`);
      if (!status.table) return;
    }
    if (job?.state === "running") { $("sentence").textContent = `${job.what} …`; progress(job); }
    if (status.table && status.count !== table.count) { tell("page-problem", null); progress(null); adopt(status.table, status.count); }
    const busy = job?.state === "running" || (await watchJobs(status.jobs));
    if (!busy && status.table) return;
    await new Promise((done) => setTimeout(done, 250));
  }
}

async function open(asked) {
  tell("open-problem", null);
  try {
    await ask("open", asked);
    $("open-box").close();
    watch();
  } catch (problem) { tell($("open-box").open ? "open-problem" : "page-problem", problem.message); }
}

export function openExample(name, patch = {}) {
  table.facts = null;
  change({ ...usual(FRESH), file: null, target: null, example: name, ...patch });
  return open({ example: name });
}

export const reopen = () => open(state.example ? { example: state.example, opening: { ...opening(), target: table.facts.target } } : { name: state.file ?? table.facts.name, opening: { ...opening(), target: state.target ?? table.facts.target } });

// Files: the column of the labels has to be chosen.
let chosen = null;
async function askTarget(name, columns = null) {
  if (!$("open-box").open) showBox();
  if (!name) return;
  try {
    const names = columns ?? (await get(`columns?name=${encodeURIComponent(name)}`));
    chosen = name;
    fill($("target"), ...names.map((each) => make("option", { value: each }, each)));
    $("target").value = names.at(-1);
    $("target-box").hidden = false;
    $("target").focus();
  } catch (problem) { tell("open-problem", problem.message); }
}

function openFile() {
  table.facts = null;
  change({ ...usual(FRESH), example: null, file: chosen, target: $("target").value });
  open({ name: chosen, opening: opening() });
}

function showBox() {
  $("target-box").hidden = true;
  tell("open-problem", null);
  const given = (menu?.given ?? []).map((name) => make("button", { type: "button", onclick: () => askTarget(name) }, name));
  fill($("open-given"), given.length ? make("div", { class: "examples" }, ...given) : null);
  fill($("open-examples"), ...(menu?.examples ?? []).map((each) => make("button", { type: "button", onclick: () => openExample(each.name) }, each.name, make("small", {}, each.about))));
  $("open-box").showModal();
}

async function send() {
  const [file] = $("upload").files;
  if (!file) return;
  tell("open-problem", null);
  try {
    const kept = await upload(file);
    await askTarget(kept.name, kept.columns);
  } catch (problem) { tell("open-problem", problem.message); }
  $("upload").value = "";
}

export function startOpening() {
  $("open").addEventListener("click", showBox);
  $("upload").addEventListener("change", send);
  $("target-open").addEventListener("click", openFile);
  document.addEventListener("reopen", reopen);
}
