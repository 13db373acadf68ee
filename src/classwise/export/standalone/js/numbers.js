// Arrays, and arithmetic of logarithms. Rows are scored one by one; the scores of a row are an array, one of each class.

// Log odds this small are rounding.
export const TIE = 1e-12;

export class UnscorableError extends Error {}

/** The same values with arrays of numbers, {data, shape}, in place of what stands for them. */
export function unpacked(value) {
  if (Array.isArray(value)) return value.map(unpacked);
  if (value === null || typeof value !== "object") return value;
  if ("base64" in value) return { data: bytes(value.base64, value.type), shape: value.shape };
  if ("integer" in value) return BigInt(value.integer);
  return Object.fromEntries(Object.entries(value).map(([name, of]) => [name, unpacked(of)]));
}

function bytes(text, type) {
  const raw = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const view = new DataView(raw.buffer);
  const size = Number(type.slice(2));
  const read = { "<f8": "getFloat64", "<i4": "getInt32", "<i8": "getBigInt64" }[type];
  const numbers = type === "<i4" ? new Int32Array(raw.length / size) : new Float64Array(raw.length / size);
  for (let i = 0; i < numbers.length; i++) numbers[i] = Number(view[read](i * size, true));
  return numbers;
}

const kept = new WeakMap();

/** Numbers as {data, shape}, flat and row by row; made once. */
export function array(value) {
  if (value.data) return value;
  if (!kept.has(value)) kept.set(value, { data: Float64Array.from(value.flat(Infinity)), shape: shape(value) });
  return kept.get(value);
}

function shape(value) {
  return Array.isArray(value) ? [value.length, ...(value.length ? shape(value[0]) : [])] : [];
}

/** The numbers alone. */
export function flat(value) {
  return array(value).data;
}

/** What is computed of an object, once. */
export function once(object, compute) {
  if (!kept.has(object)) kept.set(object, compute());
  return kept.get(object);
}

/** start, start + 1, ..., up to stop. */
export function range(start, stop) {
  return Array.from({ length: stop - start }, (_, i) => start + i);
}

export function logSumExp(logs) {
  const peak = logs.reduce((a, b) => Math.max(a, b), -Infinity);
  if (peak === -Infinity) return peak;
  let total = 0;
  for (const log of logs) total += Math.exp(log - peak);
  return peak + Math.log(total);
}

/** Logs less the log of the sum of their exponentials: log probabilities. */
export function logNormalize(logs) {
  const total = logSumExp(logs);
  return logs.map((log) => log - total);
}

/** Scores that tie with the largest made equal to it; an error, if none is finite. */
export function levelTies(scores) {
  const best = scores.reduce((a, b) => (a >= b ? a : b));
  if (!scores.every((score) => !Number.isNaN(score)) || !Number.isFinite(best)) {
    throw new UnscorableError("A row has probability zero, or lies too far from every class to be scored.");
  }
  return scores.map((score) => (score >= best - TIE ? best : score));
}

/** log x!, by Stirling's series. */
export function logFactorial(x) {
  let z = x + 1;
  let shift = 0;
  for (; z < 16; z++) shift += Math.log(z);
  const y = 1 / (z * z);
  const series = (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y * (1 / 1188))))) / z;
  return (z - 0.5) * Math.log(z) - z + 0.5 * Math.log(2 * Math.PI) + series - shift;
}

/** How many of the sorted numbers lie below a value; or are at most that value. */
export function below(sorted, value, orEqual = false) {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value || (orEqual && sorted[middle] === value)) low = middle + 1;
    else high = middle;
  }
  return low;
}
