// The square of share and shrink: a pad to drag in, over the log loss on held-out rows.
import { ask } from "./api.js";
import { $, isDark, later, table } from "./page.js";
import { change, dials, state } from "./state.js";

let best = null;

// Under the Bayes estimate only two corners are models: the prior does the sharing and shrinking.
function within(share, shrink) {
  // The edges catch: corners are models with names, and easy to hit.
  const kept = (value) => (value < 0.02 ? 0 : value > 0.98 ? 1 : Math.round(value * 100) / 100);
  if (state.estimate === "bayes") return { share: share < 0.5 ? 0 : 1, shrink: 0 };
  return { share: kept(share), shrink: kept(shrink) };
}

export const turn = (share, shrink) => change({ ...within(share, shrink), model: null });

export function showDials() {
  for (const name of ["share", "shrink"]) {
    $(name).value = state[name];
    $(`${name}-out`).textContent = state[name].toFixed(2);
    $(name).disabled = state.estimate === "bayes" && name === "shrink";
  }
  $("knob").style.left = `${100 * state.share}%`;
  $("knob").style.top = `${100 * state.shrink}%`;
  $("pad").dataset.off = String(Boolean(state.model));
  for (const corner of document.querySelectorAll(".corners button")) {
    const here = Number(corner.dataset.share) === state.share && Number(corner.dataset.shrink) === state.shrink;
    corner.setAttribute("aria-pressed", String(here && !state.model));
  }
  note();
}

function note() {
  const words = state.model ? "A model of the comparison is shown; move a dial to come back."
    : state.estimate === "bayes" ? "The Bayes estimate has two models here, QDA and LDA: its prior shares and shrinks."
      : best ? `The bluer, the better on held-out rows; the least log loss there is ${best.log_loss.toPrecision(3)}.` : "";
  $("square-note").textContent = words;
  $("to-best").hidden = !best || Boolean(state.model) || state.estimate === "bayes";
}

// The bluer, the better: the shade is the rank of the loss, which the server computes.
function paint(surface) {
  const canvas = $("surface"), context = canvas.getContext("2d"), { side } = surface;
  canvas.width = canvas.height = side;
  const image = context.createImageData(side, side);
  const near = isDark() ? [92, 148, 205] : [23, 78, 128], far = isDark() ? [33, 38, 46] : [238, 240, 240];
  surface.shade.flat().forEach((shade, i) => {
    const tone = shade === null ? (isDark() ? [44, 40, 38] : [226, 221, 212]) : near.map((value, c) => value + (far[c] - value) * shade ** 0.6);
    image.data.set([...tone, 255], 4 * i);
  });
  context.putImageData(image, 0, 0);
}

let known = null, of = null;
async function load() {
  const key = JSON.stringify([table.count, state.structure, state.standardize]);
  if (!table.facts) return;
  try {
    if (key !== of) { known = await ask("surface", dials()); of = key; }
    best = known.best;
    paint(known);
    $("best").style.left = `${100 * best.share}%`;
    $("best").style.top = `${100 * best.shrink}%`;
    $("best").hidden = false;
  } catch {
    best = null; of = null;
    $("best").hidden = true;
    $("surface").getContext("2d").clearRect(0, 0, 999, 999);
  }
  note();
}
export const loadSurface = later(load, 60);

export function startSquare() {
  const pad = $("pad");
  const drag = (event) => {
    const place = pad.getBoundingClientRect();
    turn((event.clientX - place.left) / place.width, (event.clientY - place.top) / place.height);
  };
  pad.addEventListener("pointerdown", (event) => { pad.setPointerCapture(event.pointerId); drag(event); });
  pad.addEventListener("pointermove", (event) => { if (pad.hasPointerCapture(event.pointerId)) drag(event); });
  for (const name of ["share", "shrink"]) {
    $(name).addEventListener("input", () => {
      const exact = { share: Number($("share").value), shrink: Number($("shrink").value) };
      change({ ...(state.estimate === "bayes" ? within(exact.share, 0) : exact), model: null });
    });
  }
  for (const corner of document.querySelectorAll(".corners button")) {
    corner.addEventListener("click", () => turn(Number(corner.dataset.share), Number(corner.dataset.shrink)));
  }
  $("to-best").addEventListener("click", () => change({ share: best.share, shrink: best.shrink, model: null }));
}
