// One dialog for the few questions the page itself asks.

import { byId } from "./element.js";

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
