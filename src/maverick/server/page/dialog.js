// One dialog for the few questions the page itself asks.

import { byId, element } from "./element.js";

/** Ask for a line of text; gives null if the user would rather not. */
export function askFor(title, value, action) {
  return opened(title, action, value);
}

/** Ask whether to do something. */
export async function confirm(title, action) {
  return (await opened(title, action, null)) !== null;
}

/** Close the dialog unanswered, and forget what it was about. */
export function dismiss() {
  if (byId("dialog").open) byId("dialog-cancel").click();
  byId("dialog-title").textContent = "";
  byId("dialog-input").value = "";
}

function opened(title, action, value) {
  const dialog = byId("dialog");
  const input = byId("dialog-input");
  byId("dialog-title").textContent = title;
  byId("dialog-confirm").textContent = action;
  byId("dialog-confirm").className = value === null ? "danger" : "primary";
  byId("dialog-label").hidden = value === null;
  input.value = value ?? "";
  dialog.showModal();
  if (value !== null) input.select();
  return new Promise((resolve) => {
    const over = new AbortController();
    const settle = (answer) => {
      over.abort();
      dialog.close();
      resolve(answer);
    };
    const heard = { signal: over.signal };
    byId("dialog-form").addEventListener("submit", (event) => {
      event.preventDefault();
      const text = input.value.trim();
      if (value === null || text) settle(text);
    }, heard);
    byId("dialog-cancel").addEventListener("click", () => settle(null), heard);
    dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      settle(null);
    }, heard);
  });
}

/** A menu below a button: entries with an action, or an address. */
export function menu(button, entries) {
  document.querySelector(".menu")?.remove();
  const node = element("div", { class: "menu card", role: "menu", popover: "auto" });
  const close = () => {
    node.remove();
    button.focus();
  };
  for (const { label, action, href, download, danger } of entries) {
    const properties = { role: "menuitem", class: danger ? "entry bad" : "entry", text: label };
    const entry = href ? element("a", { ...properties, href, download }) : element("button", { ...properties, type: "button" });
    entry.addEventListener("click", () => {
      close();
      action?.();
    });
    node.append(entry);
  }
  node.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const all = [...node.children];
    all.at((all.indexOf(document.activeElement) + step) % all.length).focus();
  });
  node.addEventListener("toggle", (event) => event.newState === "closed" && node.isConnected && close());
  (button.closest("nav, main, aside") ?? document.body).append(node);
  node.showPopover();
  const { bottom, top, right } = button.getBoundingClientRect();
  const below = bottom + node.offsetHeight + 8 < innerHeight;
  node.style.top = `${below ? bottom + 4 : top - node.offsetHeight - 4}px`;
  node.style.left = `${Math.max(8, Math.min(right - node.offsetWidth, innerWidth - node.offsetWidth - 8))}px`;
  node.firstElementChild.focus();
}
