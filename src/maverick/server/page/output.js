// A value of a declared type, such as an agent's output or a tool's arguments, for people to read.

import { element } from "./element.js";
import { label } from "./agents.js";

/** An answer that has a type, as a card. */
export function outputCard(value) {
  return element("div", { class: "output", role: "group", "aria-label": "Result" }, shown(value));
}

/** A value: fields with their names, lists as lists, all else as text. */
export function shown(value) {
  if (Array.isArray(value)) {
    if (!value.length) return element("span", { class: "quiet", text: "none" });
    return element("ul", {}, ...value.map((item) => element("li", {}, shown(item))));
  }
  if (value !== null && typeof value === "object") {
    return element("dl", {}, ...Object.entries(value).flatMap(([name, field]) => [element("dt", { text: label(name) }), element("dd", {}, shown(field))]));
  }
  if (value === null || value === "") return element("span", { class: "quiet", text: "none" });
  if (typeof value === "boolean") return element("span", { text: value ? "yes" : "no" });
  return element("span", { text: String(value) });
}
