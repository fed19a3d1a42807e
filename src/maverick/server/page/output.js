// A value of a declared type, such as an agent's output or a tool's arguments, for people to read and to edit.

import { element, label } from "./element.js";

const UNSEEN = /(?![\t\n])[\p{C}\p{DI}\u2028\u2029\u2800]/gu;
const TURNING = /\p{Bidi_C}/gu;

/** A text in which nothing is invisible, or turns the direction of what is beside it. */
export const visible = (text) => escaped(text, UNSEEN);

/** A text in which nothing turns the direction of what is beside it; the invisible parts of emoji stay. */
export const straight = (text) => escaped(text, TURNING);

function escaped(text, signs) {
  return String(text).replace(signs, (sign) => `\\u{${sign.codePointAt(0).toString(16)}}`);
}

/** An answer that has a type, as a card. */
export function outputCard(value) {
  return element("div", { class: "output", role: "group", "aria-label": "Result" }, shown(value));
}

/** A value: fields with their names, lists as lists, all else as text. */
export function shown(value, write = String) {
  if (Array.isArray(value)) {
    if (!value.length) return element("span", { class: "quiet", text: "none" });
    return element("ul", {}, ...value.map((item) => element("li", {}, shown(item, write))));
  }
  if (value !== null && typeof value === "object") {
    return element("dl", {}, ...Object.entries(value).flatMap(([name, field]) => [element("dt", { text: write(label(name)) }), element("dd", {}, shown(field, write))]));
  }
  if (value === null || value === undefined || value === "") return element("span", { class: "quiet", text: "none" });
  if (typeof value === "boolean") return element("span", { text: value ? "yes" : "no" });
  return element("span", { text: write(value) });
}

/** The same value in fields that can be changed; gives them, and what reads them again. */
export function editable(value) {
  const fields = Object.entries(value).map(([name, field]) => [name, field, control(field)]);
  const node = element("div", { class: "fields" }, ...fields.map(([name, , input]) => element("label", {}, element("span", { text: label(name) }), input)));
  const read = () => Object.fromEntries(fields.map(([name, was, input]) => [name, changed(name, was, input)]));
  return { node, read };
}

function control(value) {
  if (typeof value === "boolean") return element("input", { type: "checkbox", checked: value });
  if (typeof value === "number") return element("input", { type: "number", step: "any", value: String(value) });
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  if (typeof value === "string" && !text.includes("\n") && text.length < 80) return element("input", { type: "text", value: text });
  const area = element("textarea", { rows: String(Math.min(10, text.split("\n").length + 1)) });
  area.value = text;
  return area;
}

function changed(name, was, input) {
  if (typeof was === "boolean") return input.checked;
  if (typeof was === "string") return input.value;
  try {
    return JSON.parse(input.value);
  } catch {
    throw new Error(`${label(name)}: expected ${typeof was === "number" ? "a number" : "a value in JSON"}.`);
  }
}
