// The picture in two columns. Rows are traces, drawn once; what dials change is an image and shapes, which are cheap.
import { colors, css, isDark, table } from "./page.js";

let points = null;      // what the server said of the rows
let current = null;     // the last picture
let asked = null;       // the point that is asked about
let generated = null;   // rows drawn from the model

const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const rgb = (hex) => [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));

// Regions as an image: the color of the class, the stronger the surer; what is refused is striped in gray.
function painted(picture) {
  const { side } = picture, codes = bytes(picture.codes), shade = bytes(picture.shade);
  const tones = colors().map(rgb), gray = isDark() ? [170, 176, 185] : [96, 102, 110], count = tones.length;
  const canvas = new OffscreenCanvas(side, side), context = canvas.getContext("2d");
  const image = context.createImageData(side, side), weak = isDark() ? 12 : 14, strong = isDark() ? 50 : 66;
  for (let row = 0; row < side; row += 1) {
    for (let column = 0; column < side; column += 1) {
      const from = (side - 1 - row) * side + column, to = 4 * (row * side + column), code = codes[from];
      const refused = code >= count, tone = refused ? gray : tones[code];
      image.data.set(tone, to);
      image.data[to + 3] = refused ? REFUSED : weak + (strong * shade[from]) / 255;
    }
  }
  context.putImageData(image, 0, 0);
  const visible = document.createElement("canvas"), size = picture.refused ? 3 * side : side;
  visible.width = visible.height = size;
  visible.getContext("2d").drawImage(canvas, 0, 0, size, size);
  if (picture.refused) stripe(visible, codes, side, count);
  return visible.toDataURL();
}

// Fine stripes over what is refused: lines, kept only where the region is.
const REFUSED = 70;
function stripe(visible, codes, side, count) {
  const mask = new OffscreenCanvas(side, side), inside = mask.getContext("2d"), image = inside.createImageData(side, side);
  for (let i = 0; i < codes.length; i += 1) image.data[4 * ((side - 1 - Math.floor(i / side)) * side + (i % side)) + 3] = codes[i] >= count ? 255 : 0;
  inside.putImageData(image, 0, 0);
  const lines = new OffscreenCanvas(visible.width, visible.height), pen = lines.getContext("2d");
  pen.strokeStyle = css("--quiet");
  pen.globalAlpha = 0.55;
  for (let start = -visible.height; start < visible.width; start += 7) {
    pen.beginPath(); pen.moveTo(start, visible.height); pen.lineTo(start + visible.height, 0); pen.stroke();
  }
  pen.globalAlpha = 1;
  pen.globalCompositeOperation = "destination-in";
  pen.drawImage(mask, 0, 0, visible.width, visible.height);
  visible.getContext("2d").drawImage(lines, 0, 0);
}

function shapes(picture) {
  const tones = colors(), path = (line, style) => ({ type: "path", path: line, xref: "x", yref: "y", ...style });
  const found = [
    ...picture.ellipses.map((each) => path(each.path, {
      line: { color: tones[each.class], width: each.sigma === 1 ? 1.8 : 1.1 }, opacity: 0.9, name: "ellipse",
    })),
    ...picture.edges.map((line) => path(line, { line: { color: css("--quiet"), width: 1.3, dash: "dot" }, name: "reject" })),
    ...picture.lines.map((line) => path(line, { line: { color: css("--ink"), width: 2 }, name: "boundary" })),
  ];
  if (asked) {
    found.push({
      type: "circle", xref: "x", yref: "y", xsizemode: "pixel", ysizemode: "pixel", xanchor: asked[0], yanchor: asked[1],
      x0: -9, x1: 9, y0: -9, y1: 9, line: { color: css("--ink"), width: 2.5 }, name: "asked",
    });
  }
  return found;
}

function images(picture) {
  const [[left, right], [bottom, top]] = picture.box;
  return [{
    source: painted(picture), xref: "x", yref: "y", x: left, y: top, sizex: right - left, sizey: top - bottom,
    sizing: "stretch", layer: "below",
  }];
}

function axis(name, range, levels) {
  const line = css("--line"), quiet = css("--quiet");
  const ticks = levels ? { tickvals: levels.map((_, i) => i), ticktext: levels } : {};
  return {
    title: { text: name, standoff: 8, font: { color: css("--ink"), size: 14 } }, range, fixedrange: true, zeroline: false,
    showgrid: false, linecolor: line, tickfont: { color: quiet }, ticks: "outside", tickcolor: line, automargin: true, ...ticks,
  };
}

export const layout = () => ({
  margin: { l: 56, r: 12, t: 12, b: 50 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
  font: { family: css("--sans"), size: 13, color: css("--ink") }, showlegend: false, hovermode: false, dragmode: false,
});
export const config = { displayModeBar: false, responsive: true, doubleClick: false, scrollZoom: false };

function traces() {
  const edge = isDark() ? "#0c0e11" : css("--card"), tones = colors(), crowded = table.facts.drawn > 800;
  const rows = points.points.map((own, k) => ({
    type: "scatter", mode: "markers", x: own.x, y: own.y, name: table.facts.classes[k].label, hoverinfo: "skip",
    marker: {
      color: tones[k], symbol: table.facts.classes[k].symbol, size: crowded ? 5 : table.facts.drawn > 60 ? 8 : 11, opacity: crowded ? 0.75 : 0.95,
      line: { color: edge, width: crowded ? 0.4 : 0.8 },
    },
  }));
  const drawn = (generated ?? []).map(([x, y], k) => ({
    type: "scatter", mode: "markers", x, y, name: `generated ${k}`, hoverinfo: "skip",
    marker: { color: "rgba(0,0,0,0)", symbol: `${table.facts.classes[k].symbol}`, size: 8, line: { color: tones[k], width: 1.4 } },
  }));
  return [...rows, ...drawn];
}

// All of it anew: other columns, other rows, another theme.
export async function drawPlane(picture, rows) {
  current = picture; points = rows;
  const [x, y] = rows.box.map((range, i) => axis(rows.names[i], range, rows.levels[i]));
  const all = { ...layout(), xaxis: x, yaxis: y, images: images(picture), shapes: shapes(picture) };
  await Plotly.react("picture", traces(), all, config);
}

// What a dial changes.
export async function redrawPlane(picture) {
  current = picture;
  await Plotly.relayout("picture", { images: images(picture), shapes: shapes(picture) });
}

export async function markPoint(point) {
  asked = point;
  if (current) await Plotly.relayout("picture", { shapes: shapes(current) });
}

export async function showGenerated(rows) {
  generated = rows;
  if (current && points) await drawPlane(current, points);
}

// Another table: nothing of the old one is drawn again.
export function clearPlane() {
  points = current = generated = asked = null;
}

// Where on the picture a pointer is, in the units of the columns; and the row that lies under it, if one does.
export function placed(event) {
  const full = document.getElementById("picture")._fullLayout;
  if (!full?.xaxis) return null;
  const box = document.getElementById("picture").getBoundingClientRect();
  const left = event.clientX - box.left - full.xaxis._offset, top = event.clientY - box.top - full.yaxis._offset;
  if (left < 0 || top < 0 || left > full.xaxis._length || top > full.yaxis._length) return null;
  return { point: [full.xaxis.p2d(left), full.yaxis.p2d(top)], row: under(left, top, full) };
}

function under(left, top, full, near = 7) {
  let found = null, least = near * near;
  for (const own of points?.points ?? []) {
    own.rows.forEach((row, i) => {
      if (own.x[i] === null || own.y[i] === null) return;
      const across = full.xaxis.d2p(own.x[i]) - left, up = full.yaxis.d2p(own.y[i]) - top;
      const distance = across * across + up * up;
      if (distance < least) { least = distance; found = row; }
    });
  }
  return found;
}
