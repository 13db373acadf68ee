// The state of the page: kept in the address after #, so that a view can be bookmarked and shared.
const USUAL = {
  x: "", y: "", structure: "full", share: 0, shrink: 0, estimate: "mle", standardize: false,
  priors: null, costs: null, reject: 0, model: null, panel: "why", point: null, row: null, lesson: null,
  example: null, file: null, target: null, drop: [], families: {}, missing: null, pad: null,
};
const JSONS = ["priors", "costs", "point", "drop", "families", "missing", "pad"];
const NUMBERS = ["share", "shrink", "reject", "row", "lesson"];

export const FISHER = "Fisher's directions";
export const ALONE = "(one column)";

function read(hash) {
  const found = { ...USUAL };
  for (const [name, text] of new URLSearchParams(hash.replace(/^#/, ""))) {
    if (!(name in USUAL)) continue;
    try {
      if (JSONS.includes(name)) found[name] = JSON.parse(text);
      else if (NUMBERS.includes(name)) found[name] = Number.isFinite(Number(text)) ? Number(text) : USUAL[name];
      else found[name] = name === "standardize" ? text === "true" : text;
    } catch { /* what cannot be read stays as it is */ }
  }
  return found;
}

function written(state) {
  const parts = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    if (JSON.stringify(value) === JSON.stringify(USUAL[name])) continue;
    parts.set(name, JSONS.includes(name) ? JSON.stringify(value) : String(value));
  }
  return parts.toString();
}

export const state = read(location.hash);
const listeners = [];
export const listen = (listener) => listeners.push(listener);

let waiting = null;
function keep() {
  // Browsers limit how often the address may change; a drag changes it once it rests.
  clearTimeout(waiting);
  waiting = setTimeout(() => history.replaceState(null, "", `${location.search}#${written(state)}`), 150);
}

export function change(patch) {
  const changed = Object.keys(patch).filter((name) => JSON.stringify(patch[name]) !== JSON.stringify(state[name]));
  if (!changed.length) return;
  Object.assign(state, patch);
  keep();
  for (const listener of listeners) listener(new Set(changed));
}

export const usual = (names) => Object.fromEntries(names.map((name) => [name, USUAL[name]]));
export const address = () => written(state);

window.addEventListener("hashchange", () => change(read(location.hash)));

// What the server is asked with.
export function dials() {
  const fisher = state.x === FISHER;
  const columns = fisher ? [] : [state.x, state.y === ALONE ? "" : state.y].filter(Boolean);
  return {
    columns, fisher, structure: state.structure, share: state.share, shrink: state.shrink, estimate: state.estimate,
    standardize: state.standardize, priors: state.priors, costs: state.costs, reject: state.reject || null,
    model: state.model,
  };
}

export const opening = () => ({
  target: state.target ?? "", drop: state.drop, families: state.families, missing: state.missing,
});
