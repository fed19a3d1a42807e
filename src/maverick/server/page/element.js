// Elements of the page, made without any HTML: what goes in as text stays text.

const ICONS = {
  plus: "M12 5v14M5 12h14",
  close: "M6 6l12 12M18 6L6 18",
  menu: "M4 7h16M4 12h16M4 17h16",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  list: "M9 6h11M9 12h11M9 18h11M4 6l1 1 2-2M4 12l1 1 2-2M4 18l1 1 2-2",
  send: "M12 19V5M6 11l6-6 6 6",
  down: "M12 5v14M6 13l6 6 6-6",
  stop: "M8 8h8v8H8z",
  undo: "M9 14L4 9l5-5M4 9h10a6 6 0 010 12h-3",
  redo: "M15 14l5-5-5-5M20 9H10a6 6 0 000 12h3",
  moon: "M20 14.5A8 8 0 119.5 4a6.5 6.5 0 0010.500 10.500z",
  sun: "M12 8a4 4 0 100 8 4 4 0 000-8zM12 2v2M12 20v2M4.900 4.900l1.400 1.400M17.700 17.700l1.400 1.400M2 12h2M20 12h2M4.900 19.100l1.400-1.400M17.700 6.300l1.400-1.400",
  exit: "M10 4H5v16h5M14 8l4 4-4 4M18 12H9",
  edit: "M4 20h4L19 9l-4-4L4 16v4zM14 6l4 4",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13M10.500 11v5M13.500 11v5",
  save: "M12 4v11M7 11l5 5 5-5M5 20h14",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  clip: "M20 11l-8.500 8.500a5 5 0 01-7-7L13 4a3.500 3.500 0 015 5l-8.500 8.500a2 2 0 01-3-3L14 7",
  search: "M11 4a7 7 0 100 14 7 7 0 000-14zM20 20l-4-4",
  think: "M9 18h6M10 21h4M12 3a6 6 0 00-3.500 10.900V16h7v-2.100A6 6 0 0012 3z",
  again: "M20 11a8 8 0 10-2 6M20 5v6h-6",
  check: "M5 12l5 5 9-10",
  tool: "M14.500 6.500a4 4 0 00-5.300 5.300L4 17l3 3 5.200-5.200a4 4 0 005.300-5.300L15 12l-3-3z",
  warn: "M12 4l9 16H3zM12 10v4M12 17v.5",
};

/** An element with properties and children; a property that begins with "on" is a listener. */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "class") made.className = value;
    else if (name === "text") made.textContent = value;
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** A block of HTML that the server has made of Markdown, where it escapes all that is not Markdown. */
export function block(html) {
  const made = document.createElement("template");
  made.innerHTML = html;
  return made.content.firstElementChild ?? document.createElement("p");
}

/** A picture for a button; what the button does is said in its label. */
export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("class", "icon-picture");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

/** A button that shows a picture. */
export function iconButton(name, label, onclick, properties = {}) {
  return element("button", { type: "button", class: "icon", "aria-label": label, title: label, onclick, ...properties }, icon(name));
}

/** A link that tells the page it leads to nothing. */
export function link(address, label) {
  return element("a", { href: address, target: "_blank", rel: "noopener noreferrer nofollow", text: label });
}

/** A name of a program, as a person would write it. */
export function label(name) {
  const words = name.replaceAll("_", " ").replaceAll("-", " ").trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The element of the page with this id. */
export function byId(id) {
  return document.getElementById(id);
}

/** Go on where the next message is written, now that a button is gone; without a keyboard over half of a phone. */
export function goOnFrom() {
  const place = matchMedia("(pointer: coarse)").matches ? "transcript" : "composer-text";
  if (document.activeElement !== byId("composer-text")) byId(place).focus({ preventScroll: true });
}

/** Copy a text, and say so on the button for a moment. */
export async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Not allowed, or no clipboard without https: a selection can be copied everywhere.
    const field = element("textarea", { class: "visually-hidden", "aria-hidden": "true" });
    field.value = text;
    (document.querySelector("dialog[open]") ?? document.body).append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
    button.focus();
  }
  const before = [...button.childNodes];
  button.replaceChildren(button.classList.contains("icon") ? icon("check") : "Copied");
  setTimeout(() => button.replaceChildren(...before), 1500);
}
