// The drawing pad: points are clicked in by class, and the model follows at once.
import { freshAnswer, progress } from "./answer.js";
import { ask } from "./api.js";
import { makeCosts, makePriors } from "./dials.js";
import { adopt } from "./opening.js";
import { $, fill, latest, make, table, tell } from "./page.js";
import { redraw } from "./picture.js";
import { change, state, usual } from "./state.js";

const NAMES = ["A", "B", "C", "D"];
let own = "A";

export function openPad(points = []) {
  $("open-box").close();
  change({ ...usual(["x", "y", "priors", "costs", "reject", "model", "point", "row", "drop", "families", "missing", "file", "target", "example"]), x: "x", y: "y", pad: points });
}

function classes() {
  fill($("pad-classes"), ...NAMES.map((name) => make("label", {}, make("input", { type: "radio", name: "pad-class", value: name, checked: name === own, onchange: () => { own = name; } }), ` ${name}`)));
}

// What is there before the server can fit anything: empty axes, and the points.
async function bare() {
  table.facts = { name: "drawing pad", target: "label", rows: state.pad.length, drawn: state.pad.length, classes: bareClasses(), columns: [{ name: "x" }, { name: "y" }], fisher: false, notes: [] };
  makePriors(); makeCosts(); freshAnswer(); progress(null);
  $("table-name").textContent = "drawing pad";
  $("table-facts").textContent = "Click points in; two classes make a boundary.";
  const box = [[0, 10], [0, 10]], side = 1;
  const points = bareClasses().map((each) => { const mine = state.pad.filter((point) => point[2] === each.label); return { rows: mine.map(() => 0), x: mine.map((point) => point[0]), y: mine.map((point) => point[1]) }; });
  const { drawPlane } = await import("./plane.js");
  await drawPlane({ kind: "plane", box, side, codes: btoa("\0"), shade: btoa("\0"), lines: [], edges: [], ellipses: [] }, { box, names: ["x", "y"], levels: [null, null], points });
}

const TONES = [["#0072B2", "#4C9FE6", "circle"], ["#D55E00", "#D55E00", "triangle-up"], ["#009E73", "#009E73", "square"], ["#CC79A7", "#CC79A7", "diamond"]];
function bareClasses() {
  const there = NAMES.filter((name) => state.pad.some((point) => point[2] === name));
  return (there.length ? there : ["A"]).map((label, k) => ({ label, share: 1, light: TONES[k][0], dark: TONES[k][1], symbol: TONES[k][2] }));
}

export const showPad = latest(async () => {
  $("pad-tools").hidden = !state.pad;
  if (!state.pad) return;
  $("sentence").textContent = "Draw your own classes: choose a class, click points in, and move the dials.";
  try {
    if (new Set(state.pad.map((point) => point[2])).size < 2) throw new Error("");
    const facts = await ask("pad", { points: state.pad });
    adopt(facts, facts.count);
    tell("picture-problem", null);
  } catch (problem) {
    await bare();
    tell("picture-problem", problem.message || null);
    return;
  }
  await redraw();
  if (!$("picture-problem").hidden) { const said = $("picture-problem").textContent; await bare(); tell("picture-problem", said); }
});

export function startPad() {
  classes();
  $("open-pad").addEventListener("click", () => openPad());
  $("pad-undo").addEventListener("click", () => change({ pad: state.pad.slice(0, -1) }));
  $("pad-clear").addEventListener("click", () => change({ pad: [] }));
  document.addEventListener("pad-point", ({ detail }) => {
    const [x, y] = detail.map((value) => Math.round(value * 100) / 100);
    change({ pad: [...state.pad, [x, y, own]] });
  });
}
