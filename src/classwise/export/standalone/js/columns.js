// Rows as they come, as arrays of numbers: levels as positions, dates and written numbers as numbers.

import { UnscorableError, once } from "./numbers.js";

// How values of a column become numbers, by the kind of its conversion.
export const CONVERSIONS = {};

/** The numbers of a row: an object by column name, or values in the order of the columns. */
export function numbersOf(row, columns) {
  if (Array.isArray(row) && row.length !== columns.length) {
    throw new Error(`A row has ${row.length} values, and the model has ${columns.length} columns.`);
  }
  return Float64Array.from(columns, (column, j) => {
    const name = nameOf(column, j);
    if (!Array.isArray(row) && !Object.hasOwn(row, name)) {
      throw new Error(`A row has no column ${JSON.stringify(name)}, which the model needs.`);
    }
    const value = Array.isArray(row) ? row[j] : row[name];
    const missing = value === null || value === undefined || Number.isNaN(value);
    if (column.levels) return missing ? -1 : position(column, value);
    return missing ? NaN : number(value, column, name);
  });
}

function nameOf(column, place) {
  return column.name === null ? String(place) : column.name;
}

/** Text is told apart from numbers; yes and no are 1 and 0. */
function key(value) {
  return typeof value === "string" ? `text ${value}` : String(typeof value === "boolean" ? Number(value) : value);
}

function position(column, value) {
  const places = once(column, () => new Map(column.levels.map((level, code) => [key(level), code])));
  return places.get(key(value)) ?? column.levels.length;
}

function number(value, column, name) {
  const rule = column.conversion;
  if (typeof value === "number") return value;
  const found = rule === null ? plainNumber(value) : CONVERSIONS[rule.kind](value, rule);
  if (found === null || Number.isNaN(found)) {
    const what = rule === null ? "a number" : `written such as ${rule.example}`;
    throw new Error(`Column ${JSON.stringify(name)} holds ${JSON.stringify(String(value))}, which is to be ${what}.`);
  }
  return found;
}

function plainNumber(value) {
  if (typeof value === "string") return value.trim() === "" ? null : Number(value);
  return ["boolean", "bigint"].includes(typeof value) ? Number(value) : null;
}

// What rows may not hold.

export function refuseMissing(row, columns, required) {
  for (const j of required) {
    if (columns[j].levels ? row[j] < 0 : Number.isNaN(row[j])) {
      throw new UnscorableError(`Column ${JSON.stringify(nameOf(columns[j], j))} has no value, which the model refuses.`);
    }
  }
}

/** Refuse infinity, numbers whose squares overflow, and values that a family cannot take. */
export function refuseUnsuitable(row, columns) {
  columns.forEach((column, j) => {
    const x = row[j];
    if (column.levels || Number.isNaN(x)) return;
    const most = column.most ?? Infinity;
    const start = `Column ${JSON.stringify(nameOf(column, j))} holds ${x}`;
    if (Math.abs(x) > 1e150) throw new UnscorableError(`${start}, which is too large.`);
    if (column.rule === "positive" && x <= 0) throw new UnscorableError(`${start}, and is to be above 0.`);
    if (column.rule === "amount" && x < 0) throw new UnscorableError(`${start}, and is to be at least 0.`);
    if (column.rule === "count" && !(x >= 0 && x <= most && x === Math.floor(x))) {
      throw new UnscorableError(`${start}, and is to be a whole number from 0 to ${most}.`);
    }
  });
}
