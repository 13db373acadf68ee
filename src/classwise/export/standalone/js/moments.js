// Dates, times and durations as numbers: days since 1970-01-01, hours since midnight, seconds.

import { CONVERSIONS } from "./columns.js";

const WRITTEN_DAY =
  /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d{2})(?::(\d{2})(?:[.](\d+))?)?(?: ?(Z|[+-]\d{2}(?::?\d{2})?))?)?$/;
const WRITTEN_LATE = /^(\d{1,2})([./-])(\d{1,2})\2(\d{4})((?:[ T]\d.*)?)$/;
const WRITTEN_HOUR = /^(\d{1,2}):(\d{2})(?::(\d{2})(?:[.](\d+))?)?$/;

function days(value, rule) {
  if (value instanceof Date) return value.getTime() / 86400000;
  if (typeof value !== "string") return null;
  let text = value.trim();
  const late = rule.order === "ymd" ? null : text.match(WRITTEN_LATE);
  if (late) {
    const [day, month] = rule.order === "dmy" ? [late[1], late[3]] : [late[3], late[1]];
    text = `${late[4]}-${month}-${day}${late[5]}`;
  }
  const found = text.match(WRITTEN_DAY);
  if (!found) return null;
  const [year, month, day] = found.slice(1, 4).map(Number);
  const midnight = new Date(0);
  midnight.setUTCFullYear(year, month - 1, day);
  const exists = midnight.getUTCMonth() === month - 1 && midnight.getUTCDate() === day && year > 0;
  const clock = seconds(...found.slice(4, 8));
  return exists && clock !== null ? midnight.getTime() / 86400000 + (clock - zone(found[8])) / 86400 : null;
}

/** Since midnight; null for a time that there is none of. */
function seconds(hour, minute, second, fraction) {
  const [h, m, s] = [hour, minute, second].map((part) => Number(part ?? 0));
  return h < 24 && m < 60 && s < 60 ? 3600 * h + 60 * m + s + Number(`0.${(fraction ?? "0").slice(0, 6)}`) : null;
}

/** How many seconds a zone is ahead of UTC. */
function zone(text) {
  if (text === undefined || text === "Z") return 0;
  const digits = text.slice(1).replace(":", "").padEnd(4, "0");
  return (text[0] === "-" ? -60 : 60) * (60 * Number(digits.slice(0, 2)) + Number(digits.slice(2)));
}

function hours(value) {
  const found = typeof value === "string" ? value.trim().match(WRITTEN_HOUR) : null;
  const clock = found ? seconds(...found.slice(1, 5)) : null;
  return clock === null ? null : clock / 3600;
}

Object.assign(CONVERSIONS, { date: days, datetime: days, time: hours, duration: () => null });
