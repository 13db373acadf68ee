// A person fills in a row; the page asks /predict and /explain as any program would, and shows what they answer.
const $ = (id) => document.getElementById(id);
const percent = (share) =>
  share > 0 && share < 0.001 ? "<0.1 %" : share < 1 && share > 0.999 ? ">99.9 %" : `${(100 * share).toFixed(1)} %`;
const signed = (value) => (value === null ? "∞" : `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`);

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

async function ask(path, content) {
  const options = content && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content) };
  const answer = await fetch(path, options);
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.detail ?? `The server answered ${answer.status}.`);
  return found;
}

// The form: one field for each column ---------------------------------------------------------------------------------

// model: what the server says of it; fields: how to read each column; kept: an answer to compare with; asked: the label
// that reasons are asked for, or null for the most probable.
const page = { at: "", model: null, example: {}, fields: [], kept: null, asked: null };

const MANY = 300; // levels: more are not listed, but typed

// The types that JSON Schema allows for a value.
const types = (schema) => (schema.anyOf ?? [schema]).flatMap((one) => one.type ?? (one.enum ?? []).map((v) => (v === null ? "null" : typeof v)));

function field(column, schema) {
  const allowed = types(schema), label = make("span", {}, column.name);
  const listed = column.levels && column.levels.length <= MANY;
  const input = listed
    ? make("select", {}, make("option", { value: "" }, "(missing)"), ...column.levels.map((level, i) => make("option", { value: i }, String(level))))
    : make("input", { type: "text", autocomplete: "off", inputmode: allowed.includes("string") ? "text" : "decimal" });
  const read = () => {
    const text = input.value.trim();
    if (text === "") return null;
    if (listed) return column.levels[Number(text)];
    const number = Number(text.replace("−", "-"));
    if (column.levels) return typeof column.levels[0] === "number" ? number : text;
    // Dates, and numbers written as text, go as they are; what is no number the server refuses, and says why.
    return allowed.includes("string") || Number.isNaN(number) ? text : number;
  };
  const write = (value) => {
    input.value = value === null || value === undefined ? "" : listed ? Math.max(column.levels.indexOf(value), 0) : value;
  };
  const box = make("label", { class: "field" }, label, input);
  return { name: column.name, box, read, write, nullable: allowed.includes("null") };
}

const row = () => Object.fromEntries(page.fields.map((each) => [each.name, each.read()]));

function fillIn(values) {
  for (const each of page.fields) each.write(values[each.name]);
  show();
}

// The answer ----------------------------------------------------------------------------------------------------------

const bar = (name, from, to, text, mark = null) => {
  const filled = make("i", { class: to < from ? "minus" : null });
  filled.style.left = `${100 * Math.min(from, to)}%`;
  filled.style.width = `${100 * Math.abs(to - from)}%`;
  const before = mark === null ? null : make("b", { title: "the answer that was kept" });
  if (before) before.style.left = `${100 * mark}%`;
  return [make("span", {}, name), make("span", { class: "track" }, filled, before), make("span", {}, text)];
};

function showPosteriors(found) {
  const [posteriors] = found.posteriors, kept = page.kept?.posteriors;
  $("label").textContent = found.label[0] === null ? "Left undecided." : String(found.label[0]);
  $("posteriors").replaceChildren(...found.classes.map((label, k) => {
    const moved = kept ? ` (${percent(kept[k])})` : "";
    const ask = () => { page.asked = label; show(); };
    return make("button", { type: "button", class: "bar", title: `Why ${label}?`, onclick: ask },
      ...bar(String(label), 0, posteriors[k], percent(posteriors[k]) + moved, kept ? kept[k] : null));
  }));
  $("kept").textContent = kept ? "The line in each bar, and the number in brackets, is the answer that you kept. Fields that you changed since are marked." : "Click a class to ask why.";
  $("forget").hidden = !kept;
  for (const each of page.fields) {
    each.box.classList.toggle("changed", Boolean(kept) && each.read() !== page.kept.row[each.name]);
  }
}

function showShares(found) {
  const parts = [...found.shares.map((each) => [each.value === null ? each.column : `${each.column} = ${each.value}`, each.share]), ["prior", found.prior]];
  if (found.volume) parts.push(["volume", found.volume]);
  const most = Math.max(...parts.map(([, share]) => Math.abs(share ?? 0)), 1e-9);
  $("why").textContent = `What speaks for ${found.label} (to the right) against ${found.against} (to the left), in log odds; the sum is ${signed(found.log_odds)}.`;
  $("shares").replaceChildren(...parts.map(([name, share]) =>
    make("div", { class: "bar" }, ...bar(name, 0.5, 0.5 + (share ?? 0) / most / 2, signed(share)))));
}

// What the posterior of a class would be, were the value of a column missing: one row for each column.
async function showWithout(values, answer, k) {
  const some = page.fields.filter((each) => each.nullable && values[each.name] !== null);
  $("without").replaceChildren();
  $("without-title").textContent = some.length ? `The posterior of ${answer.classes[k]}, now ${percent(answer.posteriors[0][k])}, without the value of one column:` : "There is no value that may be missing.";
  if (!some.length) return;
  const found = await ask(`${page.at}predict`, { rows: some.map((each) => ({ ...values, [each.name]: null })), output: "posteriors" });
  const now = answer.posteriors[0][k];
  $("without").replaceChildren(...some.map((each, i) =>
    make("div", { class: "bar" }, ...bar(each.name, 0, found.posteriors[i][k], percent(found.posteriors[i][k]), now))));
}

async function answerRow() {
  const values = row(), answer = await ask(`${page.at}predict`, { rows: [values] });
  page.last = { row: values, posteriors: answer.posteriors[0] };
  showPosteriors(answer);
  const [posteriors] = answer.posteriors, best = posteriors.indexOf(Math.max(...posteriors));
  const k = page.asked === null ? best : answer.classes.indexOf(page.asked);
  const against = k === best ? {} : { against: answer.classes[best] };
  await showWithout(values, answer, k);
  try {
    showShares(await ask(`${page.at}explain`, { row: values, label: answer.classes[k], ...against }));
  } catch (problem) {
    $("why").textContent = problem.message; // some models answer, but cannot explain
    $("shares").replaceChildren();
  }
}

// One question is on its way, the next one waits; answers never come out of order.
let busy = false, again = false;
async function show() {
  again = true;
  if (busy) return;
  busy = true;
  while (again) {
    again = false;
    try {
      await answerRow();
      $("problem").hidden = true;
    } catch (problem) {
      $("problem").textContent = problem.message;
      $("problem").hidden = false;
    }
  }
  busy = false;
  document.body.dataset.shown = Number(document.body.dataset.shown ?? 0) + 1;
}

// Models --------------------------------------------------------------------------------------------------------------

async function choose(name, openapi) {
  page.at = `models/${encodeURIComponent(name)}/`;
  page.model = await ask(page.at.slice(0, -1));
  const body = openapi.paths[`/models/${name}/predict`].post.requestBody.content["application/json"];
  const schemas = body.schema.oneOf[0].properties.rows.items.anyOf[0].properties;
  page.example = body.examples.rows.value.rows[0];
  page.fields = page.model.columns.map((column) => field(column, schemas[column.name]));
  page.kept = page.asked = null;
  $("title").textContent = name;
  $("about").textContent = `${page.model.kind}, ${page.model.columns.length} columns, ${page.model.classes.length} classes`;
  $("fields").replaceChildren(...page.fields.map((each) => each.box));
  fillIn(page.example);
}

async function start() {
  const [models, openapi] = await Promise.all([ask("models"), ask("openapi.json")]);
  $("models").replaceChildren(...models.map((model) => make("option", {}, model.name)));
  $("choice").hidden = models.length < 2;
  $("models").addEventListener("change", () => choose($("models").value, openapi));
  $("form").addEventListener("input", show);
  $("form").addEventListener("submit", (event) => event.preventDefault());
  $("example").addEventListener("click", () => fillIn(page.example));
  $("clear").addEventListener("click", () => fillIn({}));
  $("keep").addEventListener("click", () => { page.kept = page.last; show(); });
  $("forget").addEventListener("click", () => { page.kept = null; show(); });
  await choose(models[0].name, openapi);
}

start().catch((problem) => { $("problem").textContent = problem.message; $("problem").hidden = false; });
