// A small part of Markdown as elements: paragraphs, lists, code, emphasis and links. There is no HTML in it, and no
// picture, so that nothing a model writes can run or be fetched.

import { element } from "./element.js";

const INLINE = /(`[^`\n]+`)|(\*\*[^*\n]+\*\*)|(\*[^*\s][^*\n]*\*)|(\[[^\]\n]+\]\(https?:\/\/[^\s)]+\))|(https?:\/\/[^\s<>"')]+[^\s<>"').,;:!?])/g;
const ITEM = /^\s*(?:([-*•])|(\d{1,4})[.)])\s+(.*)$/;

/** A text as elements. */
export function rendered(text) {
  const made = document.createDocumentFragment();
  const lines = text.split("\n");
  let paragraph = [];
  const flush = () => {
    if (paragraph.length) made.append(element("p", {}, ...withBreaks(paragraph)));
    paragraph = [];
  };
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at];
    if (line.startsWith("```")) {
      flush();
      const end = lines.findIndex((other, place) => place > at && other.startsWith("```"));
      const last = end < 0 ? lines.length : end;
      made.append(element("pre", {}, element("code", { text: lines.slice(at + 1, last).join("\n") })));
      at = last;
    } else if (ITEM.test(line)) {
      flush();
      let last = at;
      while (last + 1 < lines.length && ITEM.test(lines[last + 1])) last++;
      made.append(list(lines.slice(at, last + 1)));
      at = last;
    } else if (/^#{1,4}\s/.test(line)) {
      flush();
      made.append(element("p", { class: "heading" }, ...inline(line.replace(/^#+\s+/, ""))));
    } else if (!line.trim()) flush();
    else paragraph.push(line);
  }
  flush();
  return made;
}

function list(lines) {
  const first = ITEM.exec(lines[0]);
  const items = lines.map((line) => element("li", {}, ...inline(ITEM.exec(line)[3])));
  return first[2] ? element("ol", { start: first[2] }, ...items) : element("ul", {}, ...items);
}

function withBreaks(lines) {
  return lines.flatMap((line, place) => (place ? [element("br"), ...inline(line)] : inline(line)));
}

function inline(text) {
  const parts = [];
  let from = 0;
  for (const found of text.matchAll(INLINE)) {
    if (found.index > from) parts.push(text.slice(from, found.index));
    parts.push(marked(found));
    from = found.index + found[0].length;
  }
  if (from < text.length) parts.push(text.slice(from));
  return parts;
}

function marked([whole, code, strong, emphasis, named]) {
  if (code) return element("code", { text: code.slice(1, -1) });
  if (strong) return element("strong", { text: strong.slice(2, -2) });
  if (emphasis) return element("em", { text: emphasis.slice(1, -1) });
  if (!named) return link(whole, whole);
  const [, label, address] = /^\[([^\]]+)\]\((.+)\)$/.exec(named);
  return link(address, label);
}

/** A link that tells the page it leads to nothing. */
export function link(address, label) {
  return element("a", { href: address, target: "_blank", rel: "noopener noreferrer nofollow", text: label });
}
