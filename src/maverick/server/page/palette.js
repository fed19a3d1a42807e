// Everything by keyboard: a list of actions and conversations that is narrowed down by typing.

import { byId, element } from "./element.js";

/** Opens with Ctrl+K; what it offers is asked for each time. */
export class Palette {
  constructor(offers) {
    this.offers = offers;
    this.dialog = byId("palette");
    this.input = byId("palette-input");
    this.list = byId("palette-list");
    this.input.addEventListener("input", () => this.show());
    this.dialog.addEventListener("keydown", (event) => this.hear(event));
    this.dialog.addEventListener("click", (event) => event.target === this.dialog && this.dialog.close());
  }

  open() {
    if (document.querySelector("dialog[open]")) return;
    this.all = this.offers();
    this.input.value = "";
    this.show();
    this.dialog.showModal();
    this.input.focus();
  }

  show() {
    const words = this.input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = this.all.filter(({ label }) => words.every((word) => label.toLowerCase().includes(word))).slice(0, 30);
    this.chosen = 0;
    this.found = found;
    this.list.replaceChildren(
      ...found.map(({ label, key }, number) =>
        element("li", { role: "option", id: `palette-${number}`, onclick: () => this.choose(number) }, element("span", { text: label }), key ? element("kbd", { text: key }) : null),
      ),
    );
    if (!found.length) this.list.append(element("li", { class: "quiet empty", role: "option", "aria-disabled": "true", text: "Nothing found." }));
    this.mark();
  }

  mark() {
    for (const [number, item] of [...this.list.children].entries()) item.setAttribute("aria-selected", String(number === this.chosen));
    this.input.setAttribute("aria-activedescendant", this.found.length ? `palette-${this.chosen}` : "");
    this.list.children[this.chosen]?.scrollIntoView({ block: "nearest" });
  }

  hear(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && this.found.length) {
      event.preventDefault();
      this.chosen = (this.chosen + step + this.found.length) % this.found.length;
      this.mark();
    } else if (event.key === "Enter") {
      event.preventDefault();
      this.choose(this.chosen);
    }
  }

  choose(number) {
    const offer = this.found[number];
    if (!offer) return;
    this.dialog.close();
    offer.action();
  }
}
