// Numbers that are written for people, in the convention of their column: 1.234,5 or $12.50.

import { CONVERSIONS } from "./columns.js";

/** Strict about thousands: 3365.89 is not 336589. (3) is -3. */
function written(value, rule) {
  if (typeof value !== "string") return null;
  let text = value.replace(/[\u00a0\u202f\u2009]/g, " ").replace(/\u2019/g, "'").replace(/\u2212/g, "-").trim();
  const unit = `(?:${literal(rule.unit)})?`;
  const found = text.match(new RegExp(`^\\(?[+-]?${unit}\\s?[+-]?([0-9](?:[0-9.,' ]*[0-9])?)\\s?${unit}\\)?$`));
  if (found === null || !convention(rule).test(found[1])) return null;
  for (const mark of [rule.unit, " ", rule.thousands, ")"]) text = mark ? text.split(mark).join("") : text;
  return Number(text.replace(rule.decimal, ".").replace("(", "-"));
}

function literal(text) {
  return text.replace(/[.$]/g, "\\$&");
}

function convention(rule) {
  const grouped = rule.thousands ? `|[1-9][0-9]{0,2}(?:${literal(rule.thousands)}[0-9]{3})+` : "";
  return new RegExp(`^(?:0|[1-9][0-9]*${grouped})(?:${literal(rule.decimal)}[0-9]+)?$`);
}

Object.assign(CONVERSIONS, { written });
