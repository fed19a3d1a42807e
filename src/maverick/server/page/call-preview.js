// What a tool call would do, for the person who is asked about it.

import { element, label } from "./element.js";
import { shown, visible } from "./output.js";

const COMMANDS = ["shell", "Bash"];
const FILES = {
  // the verb, and the names of the path, the old and the new text
  edit_file: ["Edit", "path", "old", "new"],
  Edit: ["Edit", "file_path", "old_string", "new_string"],
  write_file: ["Write", "path", null, "content"],
  Write: ["Write", "file_path", null, "content"],
};

/** What would happen as a question and a verb for the button, and all there is to know; no details if there are none. */
export function callPreview({ tool_name, action, arguments: given }) {
  const { command, ...others } = given ?? {};
  if (COMMANDS.includes(tool_name) && typeof command === "string") return { question: "Run this command?", verb: "Run", details: [code("Command", visible(command)), ...rest(others)] };
  const edit = FILES[tool_name] && fileEdit(FILES[tool_name], given ?? {});
  if (edit) return edit;
  const what = action || label(tool_name);
  return { question: `${what}?`, verb: what, details: rest(given ?? {}) };
}

function fileEdit([verb, path, old, text], given) {
  const { [path]: file, [old]: before = "", [text]: after, ...others } = given;
  if (![file, before, after].every((value) => typeof value === "string")) return null;
  const lines = old ? diff(split(before), split(after)) : split(after.replace(/\n$/, "")).map((line) => ["ins", line]);
  return { question: `${verb} ${visible(file)}?`, verb, details: [code("Change", ...lines.map(diffLine)), ...rest(others)] };
}

const split = (text) => (text ? text.split("\n") : []);

/** The lines of two texts, each with what becomes of it: those alike at the beginning and the end stay. */
function diff(old, text) {
  const least = Math.min(old.length, text.length);
  let top = 0;
  while (top < least && old[top] === text[top]) top += 1;
  let end = 0;
  while (end < least - top && old.at(-1 - end) === text.at(-1 - end)) end += 1;
  const as = (kind) => (line) => [kind, line];
  return [
    ...old.slice(0, top).map(as("span")),
    ...old.slice(top, old.length - end).map(as("del")),
    ...text.slice(top, text.length - end).map(as("ins")),
    ...old.slice(old.length - end).map(as("span")),
  ];
}

const SIGNS = { span: " ", del: "-", ins: "+" };
const diffLine = ([kind, line]) => element(kind, { class: "diff-line", text: `${SIGNS[kind]} ${visible(line)}` });

function code(name, ...lines) {
  return element("pre", { tabindex: "0", role: "group", "aria-label": name }, element("code", {}, ...lines));
}

function rest(values) {
  return Object.keys(values).length ? [shown(values, visible)] : [];
}
