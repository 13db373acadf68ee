// The picture: asks the server for what the dials mean, draws it, and answers to pointer and keys.
import { ask } from "./api.js";
import { drawLine } from "./line.js";
import { $, colors, fill, latest, make, percent, swatch, table, tell, thousands } from "./page.js";
import { clearPlane, drawPlane, markPoint, placed, redrawPlane, showGenerated } from "./plane.js";
import { ALONE, FISHER, change, dials, state } from "./state.js";

let drawn = null;    // which table, columns and theme the picture is of
let kind = null;     // "plane" or "line"
let box = null;
let latestPicture = null;
export const redraws = [];   // milliseconds from a dial to the picture, for benchmarks

const about = () => JSON.stringify([table.count, dials().columns, dials().fisher, document.documentElement.dataset.theme]);

let since = 0;
const work = latest(async () => {
  const begun = since;
  try {
    const asked = dials(), anew = about();
    const [picture, rows] = await Promise.all([
      ask("picture", asked), drawn === anew && kind === "plane" ? null : ask("points", asked),
    ]);
    kind = picture.kind; box = picture.box ?? null; latestPicture = picture;
    if (kind === "line") await drawLine(picture, state.point);
    else if (rows) await drawPlane(picture, rows);
    else await redrawPlane(picture);
    drawn = anew;
    told(picture);
    tell("picture-problem", null);
  } catch (problem) {
    tell("picture-problem", problem.message);
  }
  await new Promise(requestAnimationFrame);
  redraws.push(performance.now() - begun);
});

export function redraw() {
  since = performance.now();
  return table.facts ? work() : null;
}

function told(picture) {
  $("model-name").textContent = picture.model;
  $("picture").dataset.lines = picture.lines?.length ?? picture.changes?.length ?? 0;
  $("picture").dataset.refused = picture.refused?.length === undefined ? picture.refused : Number(picture.refused.some(Boolean));
  document.dispatchEvent(new CustomEvent("priors", { detail: picture.priors }));
}

export function legend() {
  fill($("legend"), ...table.facts.classes.map((each, k) => make("li", {}, swatch(colors()[k]), each.label)));
  const { rows, drawn: shown } = table.facts;
  $("drawn").textContent = shown < rows
    ? `${thousands(shown)} of ${thousands(rows)} rows are drawn, by chance; the model has seen all.`
    : `All ${thousands(rows)} rows are drawn.`;
}

// The columns to choose from.
export function columnMenus() {
  const { columns, fisher } = table.facts, names = columns.map((each) => each.name);
  const option = (name, text = name) => make("option", { value: name }, text);
  const [first, second] = [names.includes(state.x) ? state.x : names[0], names.includes(state.y) ? state.y : names[1]];
  fill($("x"), ...names.map((name) => option(name)), fisher ? option(FISHER) : null);
  fill($("y"), ...names.map((name) => option(name)), option(ALONE));
  $("x").value = state.x === FISHER && fisher ? FISHER : first;
  $("y").value = state.y === ALONE || names.length === 1 ? ALONE : second;
  $("y").disabled = $("x").value === FISHER;
  if ($("x").value !== state.x && (state.x || $("y").value === ALONE)) change({ x: $("x").value });
  if (state.y && $("y").value !== state.y) change({ y: $("y").value });
}

function chooseColumn(event) {
  let [x, y] = [$("x").value, $("y").value];
  if (x === y) {
    const other = table.facts.columns.map((each) => each.name).find((name) => name !== x) ?? ALONE;
    if (event.target.id === "x") y = other; else x = other;
  }
  change({ x, y, point: null, row: null });
  columnMenus();
}

// Hover and click -----------------------------------------------------------------------------------------------------

let hovered = null;
const hovering = latest(async () => {
  if (!hovered) return;
  try { readout(await ask("hover", { dials: dials(), point: hovered })); } catch { /* the picture says what is wrong */ }
});

export function readout(answer) {
  const tones = colors();
  const lines = answer.posterior.map((share, k) => {
    const filled = make("i");
    filled.style.cssText = `width: ${100 * share}%; background: ${tones[k]}`;
    return make("div", { class: "line" }, make("span", {}, table.facts.classes[k].label),
      make("div", { class: "track" }, filled), make("span", { "data-posterior": share }, percent(share)));
  });
  const shares = (answer.shares ?? []).map((each) => `${each.column} ${each.share > 0 ? "+" : "−"}${Math.abs(each.share).toFixed(2)}`);
  const decision = answer.decision === "refused" ? "Left undecided here." : `Decided: ${answer.decision}.`;
  fill($("readout"), make("div", { class: "bars" }, ...lines),
    make("p", { class: "quiet small" }, `${decision}${shares.length ? ` Log odds against the next class: ${shares.join(", ")}.` : ""}`));
}

const usable = (place) => (place && kind === "line" ? { point: [place.point[0]], row: null } : place);

function moved(event) {
  const place = usable(placed(event));
  if (!place || state.pad) return;
  hovered = place.point;
  hovering();
}

function clicked(event) {
  const place = usable(placed(event));
  if (!place) return;
  if (state.pad) document.dispatchEvent(new CustomEvent("pad-point", { detail: place.point }));
  else change({ point: place.point, row: place.row, panel: "why" });
}

// Keys: arrows move a cross, Enter asks or adds a point.
const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
let cross = null;

function pressed(event) {
  const ranges = box ?? [[latestPicture?.grid?.[0], latestPicture?.grid?.at(-1)]];
  if (!latestPicture && !state.pad) return;
  const step = STEPS[event.key];
  if (step) {
    event.preventDefault();
    const size = event.shiftKey ? 200 : 40;
    cross = ranges.map(([low, high], i) => {
      const at = cross?.[i] ?? (low + high) / 2;
      return Math.min(Math.max(at + (step[i] * (high - low)) / size, low), high);
    });
    if (kind === "plane") markPoint(cross);
    else drawLine(latestPicture, cross);
    hovered = cross;
    if (!state.pad) hovering();
  } else if (event.key === "Enter" && cross) {
    event.preventDefault();
    if (state.pad) document.dispatchEvent(new CustomEvent("pad-point", { detail: cross }));
    else change({ point: cross, row: null, panel: "why" });
  }
}

// Rows drawn from the model ---------------------------------------------------------------------------------------------

let seed = 0;
async function generate() {
  try {
    seed += 1;
    const count = Math.min(Math.max(table.facts.drawn, 50), 500);
    const { points } = await ask("sample", { dials: dials(), count, seed });
    await showGenerated(points.map((each) => [each[0] ?? [], each[1] ?? []]));
    $("forget").hidden = false;
  } catch (problem) { tell("picture-problem", problem.message); }
}

function forget() {
  $("forget").hidden = true;
  return showGenerated(null);
}

// Another table is there.
export function freshPicture() {
  $("forget").hidden = true;
  drawn = kind = latestPicture = cross = hovered = null;
  clearPlane();
}

export function startPicture() {
  const element = $("picture");
  element.addEventListener("pointermove", moved);
  element.addEventListener("click", clicked);
  element.addEventListener("keydown", pressed);
  $("x").addEventListener("change", chooseColumn);
  $("y").addEventListener("change", chooseColumn);
  $("generate").addEventListener("click", generate);
  $("forget").addEventListener("click", forget);
}
