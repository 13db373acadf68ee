"use strict";

// Tables are sorted by the buttons in their headers: numbers as numbers, words as words, empty cells last.
function order(first, second, sign) {
  if (first === "" || second === "") return (first === "") - (second === "");
  const difference = Number(first) - Number(second);
  return sign * (Number.isNaN(difference) ? first.localeCompare(second) : difference);
}

for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const header = button.closest("th"), body = header.closest("table").tBodies[0];
    const way = header.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
    for (const other of header.parentNode.cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", way);
    const value = (row) => row.cells[header.cellIndex].dataset.value;
    const sign = way === "ascending" ? 1 : -1;
    body.append(...[...body.rows].sort((a, b) => order(value(a), value(b), sign)));
  });
}

// What the pointer is on is told beside it: an element with data-tip, or the nearest of the rows in a picture.
const tip = document.body.appendChild(document.createElement("div"));
const ring = document.body.appendChild(document.createElement("div"));
[tip.className, ring.className, tip.hidden, ring.hidden] = ["tip", "ring-at", true, true];
const NEAR = 14;

function nearest(frame, x, y) {
  frame.points ??= JSON.parse(frame.dataset.points);
  const box = frame.querySelector("img").getBoundingClientRect();
  let found = null, least = NEAR;
  for (const [across, down, text] of frame.points) {
    const place = [box.left + across * box.width, box.top + down * box.height];
    const distance = Math.hypot(place[0] - x, place[1] - y);
    if (distance < least) [found, least] = [{ place, text }, distance];
  }
  return found;
}

function tell(event) {
  const told = event.target.closest?.("[data-tip]"), frame = event.target.closest?.("[data-points]");
  const point = frame ? nearest(frame, event.clientX, event.clientY) : null;
  tip.textContent = point ? point.text : told ? told.dataset.tip : "";
  tip.hidden = tip.textContent === "";
  ring.hidden = !point;
  if (point) [ring.style.left, ring.style.top] = point.place.map((at) => `${at}px`);
  if (tip.hidden) return;
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 4))}px`;
  tip.style.top = `${event.clientY + height + 22 > innerHeight ? event.clientY - height - 12 : event.clientY + 16}px`;
}

document.addEventListener("pointermove", tell);
document.addEventListener("pointerdown", tell);
document.addEventListener("scroll", () => { tip.hidden = ring.hidden = true; }, true);

// Pictures grow and shrink; one that is larger than its frame is moved by scrolling.
for (const frame of document.querySelectorAll(".frame")) {
  const tools = document.createElement("div");
  tools.className = "zoom";
  let size = 1;
  for (const [name, factor] of [["Zoom in", 1.5], ["Zoom out", 1 / 1.5]]) {
    const button = tools.appendChild(document.createElement("button"));
    [button.type, button.textContent] = ["button", name];
    button.addEventListener("click", () => {
      const half = [frame.clientWidth / 2, frame.clientHeight / 2];
      const middle = [(frame.scrollLeft + half[0]) / size, (frame.scrollTop + half[1]) / size];
      frame.style.maxHeight = `${frame.clientHeight}px`;
      size = Math.max(1, Math.min(size * factor, 8));
      frame.firstElementChild.style.cssText = `display: block; width: ${100 * size}%`;
      frame.scrollTo(middle[0] * size - half[0], middle[1] * size - half[1]);
    });
  }
  frame.after(tools);
}

// On paper nothing can be unfolded.
addEventListener("beforeprint", () => {
  for (const folded of document.querySelectorAll("details")) folded.open = true;
});
