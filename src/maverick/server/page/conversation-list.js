// The list of conversations at the left.

import { ask } from "./api.js";
import { element, iconButton, byId } from "./element.js";
import { askFor, confirm } from "./dialog.js";

/** Shows the conversations, the newest first, and has them renamed, exported and deleted. */
export class ConversationList {
  constructor({ onOpen, onDeleted, onError }) {
    this.node = byId("conversation-list");
    this.listeners = { onOpen, onDeleted, onError };
    this.current = null;
    this.conversations = null; // not known yet
  }

  async load() {
    const asked = (this.asked = {});
    const { conversations } = await ask("GET", "/api/conversations");
    if (this.asked === asked) {
      // else it was asked again, or signed out, in the meantime
      this.conversations = conversations;
      this.show();
    }
    return conversations;
  }

  /** Forget all conversations. */
  clear() {
    this.conversations = null;
    this.asked = null;
    this.select(null);
  }

  select(id) {
    this.current = id;
    this.show();
  }

  title(id) {
    return this.conversations?.find((conversation) => conversation.id === id)?.title || "New conversation";
  }

  show() {
    const focused = document.activeElement?.closest?.("[data-id]")?.dataset.id;
    this.node.replaceChildren(...(this.conversations ?? []).map((conversation) => this.item(conversation)));
    if (this.conversations?.length === 0) this.node.append(element("li", { class: "quiet empty", text: "No conversations yet." }));
    if (focused) this.node.querySelector(`[data-id="${CSS.escape(focused)}"] .open`)?.focus();
  }

  item(conversation) {
    const { id, title, running } = conversation;
    const open = element("a", {
      class: "open",
      href: `#${encodeURIComponent(id)}`,
      text: title || "New conversation",
      title,
      "aria-current": id === this.current ? "page" : null,
    });
    const save = element("a", { class: "icon", href: `api/conversations/${encodeURIComponent(id)}/export`, download: "conversation.json", "aria-label": `Export ${title}`, title: "Export" });
    save.append(iconButton("save", "").firstChild);
    return element(
      "li",
      { "data-id": id, class: id === this.current ? "current" : "" },
      open,
      running ? element("span", { class: "dot", title: "Answering" }) : null,
      element(
        "span",
        { class: "item-actions" },
        iconButton("edit", `Rename ${title}`, () => this.rename(conversation)),
        save,
        iconButton("trash", `Delete ${title}`, () => this.remove(conversation)),
      ),
    );
  }

  async rename({ id, title }) {
    const wanted = await askFor("Rename the conversation", title, "Rename");
    if (wanted) await this.attempt(() => ask("PATCH", `/api/conversations/${encodeURIComponent(id)}`, { title: wanted }));
  }

  async remove({ id, title }) {
    if (!(await confirm(`Delete “${title}”?`, "Delete"))) return;
    await this.attempt(() => ask("DELETE", `/api/conversations/${encodeURIComponent(id)}`));
    if (id === this.current) this.listeners.onDeleted();
  }

  async attempt(action) {
    try {
      await action();
      await this.load();
    } catch (error) {
      this.listeners.onError(error);
    }
  }
}
