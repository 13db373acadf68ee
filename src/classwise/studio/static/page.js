// Small helpers of the page: elements, problems in words, numbers as people read them, colors of the theme.
export const $ = (id) => document.getElementById(id);

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

export function fill(element, ...children) { element.replaceChildren(...children.filter(Boolean)); }

export function tell(id, problem) {
  const element = $(id);
  element.textContent = problem ?? "";
  element.hidden = !problem;
}

export function toast(text) {
  $("toast").textContent = text;
  setTimeout(() => { if ($("toast").textContent === text) $("toast").textContent = ""; }, 5000);
}

export const percent = (share) =>
  share > 0 && share < 0.001 ? "<0.1 %" : share < 1 && share > 0.999 ? ">99.9 %" : `${(100 * share).toFixed(1)} %`;
export const short = (value) => (value === null || value === undefined ? "" : Number(value).toPrecision(3).replace(/\.?0+$/, ""));
export const thousands = (count) => Math.round(count).toLocaleString("en-US");

export const isDark = () => document.documentElement.dataset.theme === "dark";
export const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// The facts of the open table, which other modules read.
export const table = { facts: null, count: 0 };
export const colors = () => table.facts.classes.map((each) => (isDark() ? each.dark : each.light));

// The latest of questions that come faster than answers: one is on its way, one waits, all others are dropped.
export function latest(work) {
  let running = false, again = false, done = Promise.resolve();
  return () => {
    if (running) { again = true; return done; }
    running = true;
    done = (async () => {
      do { again = false; await work(); } while (again);
      running = false;
    })();
    return done;
  };
}

export function later(work, pause = 250) {
  let timer = null;
  return () => { clearTimeout(timer); timer = setTimeout(work, pause); };
}

export function bar(width, minus = false) {
  const filled = make("i", { class: minus ? "minus" : null });
  filled.style.width = `${Math.min(Math.max(width, 0), 1) * 100}%`;
  return filled;
}

export function swatch(color) {
  const element = make("span", { class: "swatch", "aria-hidden": "true" });
  element.style.background = color;
  return element;
}
