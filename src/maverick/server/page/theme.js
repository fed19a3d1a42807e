// Light or dark: as the system has it, until the user says otherwise.

import { byId, icon } from "./element.js";

const KEPT = "maverick-theme";

/** Set the colours the user chose, and let them choose. */
export function setUpTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const now = () => localStorage.getItem(KEPT) ?? (dark.matches ? "dark" : "light");
  const show = () => {
    document.documentElement.dataset.theme = now();
    byId("theme").replaceChildren(icon(now() === "dark" ? "sun" : "moon"));
  };
  byId("theme").addEventListener("click", () => {
    localStorage.setItem(KEPT, now() === "dark" ? "light" : "dark");
    show();
  });
  dark.addEventListener("change", show);
  show();
}
