// The page begins here: every part is started, and changes of the state reach those that they concern.
import { ask, download } from "./api.js";
import { showSwitches, startDials } from "./dials.js";
import { showPad, startPad } from "./drawing.js";
import { showLesson, startLessons } from "./lessons.js";
import { begin, startOpening, whenReady } from "./opening.js";
import { $, table, tell, toast } from "./page.js";
import { columnMenus, legend, redraw, redraws, startPicture } from "./picture.js";
import { showPanel, showPanelSoon, startPanels } from "./panels.js";
import { loadSurface, showDials, startSquare } from "./square.js";
import { address, dials, listen, state } from "./state.js";

const DIALS = ["x", "y", "structure", "share", "shrink", "estimate", "standardize", "priors", "costs", "reject", "model"];
const among = (changed, names) => names.some((name) => changed.has(name));

listen((changed) => {
  if (changed.has("pad")) showPad();
  if (!table.facts) return;
  if (among(changed, DIALS)) { redraw(); showDials(); showSwitches(); showPanelSoon(); }
  if (among(changed, ["structure", "standardize"])) loadSurface();
  if (among(changed, ["panel", "point", "row"])) showPanel();
  if (among(changed, ["x", "y"])) columnMenus();
  if (changed.has("lesson")) showLesson();
});

whenReady(() => { showDials(); showSwitches(); showLesson(); loadSurface(); if (!state.pad) redraw(); showPanel(); });

// Light and dark: what the system prefers, until somebody chooses.
const preferred = matchMedia("(prefers-color-scheme: dark)");
function theme(name) {
  document.documentElement.dataset.theme = name;
  if (table.facts) { legend(); loadSurface(); showPanel(); if (state.pad) showPad(); else redraw(); }
}
theme(preferred.matches ? "dark" : "light");
preferred.addEventListener("change", () => theme(preferred.matches ? "dark" : "light"));
$("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));

// What follows # in the address is the view, so that skipping moves the focus alone.
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); $("picture").focus(); });

// Taking things away.
$("download").addEventListener("click", () => { tell("download-problem", null); $("download-box").showModal(); });
for (const button of document.querySelectorAll("#download-box [data-kind]")) {
  button.addEventListener("click", async () => {
    tell("download-problem", null);
    button.disabled = true;
    try { await download(button.dataset.kind, dials()); } catch (problem) { tell("download-problem", problem.message); }
    button.disabled = false;
  });
}
$("copy").addEventListener("click", async () => {
  try {
    const { command } = await ask("command", { view: address() });
    await navigator.clipboard.writeText(command).catch(() => {});
    toast(`Copied: ${command}`);
  } catch (problem) { tell("page-problem", problem.message); }
});

for (const start of [startPicture, startSquare, startDials, startPanels, startOpening, startPad, startLessons]) start();
showDials();
showPanel();

window.studio = { redraws, state };
if (state.pad) showPad();
else begin().catch((problem) => tell("page-problem", problem.message));
