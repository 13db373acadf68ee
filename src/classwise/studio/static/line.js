// The picture in one column: prior times density of each class, and the posterior beneath.
import { colors, css, table } from "./page.js";
import { config, layout } from "./plane.js";

function bars(picture, tones) {
  const { edges, heights } = picture.histogram;
  return heights.map((own, k) => ({
    type: "bar", x: own.map((_, i) => (edges[i] + edges[i + 1]) / 2), y: own, width: own.map((_, i) => edges[i + 1] - edges[i]),
    marker: { color: tones[k], opacity: 0.28 }, name: `${table.facts.classes[k].label}, rows`, hoverinfo: "skip",
  }));
}

function curves(picture, tones, values, axis, filled) {
  const marked = picture.levels || picture.count;
  return values.map((own, k) => ({
    type: "scatter", mode: marked ? "lines+markers" : "lines", x: picture.grid, y: own, yaxis: axis,
    line: { color: tones[k], width: 2.4 }, marker: { symbol: table.facts.classes[k].symbol, size: 7 },
    fill: filled ? "tozeroy" : "none", fillcolor: `${tones[k]}22`, name: table.facts.classes[k].label, hoverinfo: "skip",
  }));
}

function wall(x, color, dash) {
  return { type: "line", xref: "x", yref: "paper", x0: x, x1: x, y0: 0, y1: 1, line: { color, width: 1.3, dash }, name: "boundary" };
}

export async function drawLine(picture, point) {
  const tones = colors(), line = css("--line"), quiet = css("--quiet");
  const plain = { fixedrange: true, zeroline: false, gridcolor: line, tickfont: { color: quiet }, automargin: true };
  const ticks = picture.levels ? { tickvals: picture.grid, ticktext: picture.levels } : {};
  const all = {
    ...layout(), barmode: "overlay",
    xaxis: { ...plain, ...ticks, title: { text: picture.names[0] }, anchor: "y2" },
    yaxis: { ...plain, domain: [0.4, 1], title: { text: "prior × density" }, rangemode: "tozero", showticklabels: false },
    yaxis2: { ...plain, domain: [0, 0.32], title: { text: "posterior" }, range: [-0.03, 1.03] },
    shapes: [
      ...picture.changes.map((x) => wall(x, css("--ink"), "solid")),
      ...refused(picture, quiet),
      ...(point ? [wall(point[0], css("--accent"), "dash")] : []),
    ],
  };
  const traces = [
    ...bars(picture, tones), ...curves(picture, tones, picture.joint, "y", true), ...curves(picture, tones, picture.posterior, "y2", false),
  ];
  await Plotly.react("picture", traces, all, config);
}

// Gray where the decision is refused.
function refused(picture, color) {
  const found = [];
  picture.refused.forEach((is, i) => {
    if (!is) return;
    const last = found.at(-1), x = picture.grid[i], step = picture.grid[1] - picture.grid[0];
    if (last && x - last.x1 < 1.5 * step) last.x1 = x;
    else found.push({ type: "rect", xref: "x", yref: "paper", x0: x, x1: x, y0: 0, y1: 1, fillcolor: color, opacity: 0.22, line: { width: 0 }, name: "reject" });
  });
  return found;
}
