// The list of conversations at the left.

import { ask } from "./api.js";
import { element, iconButton, byId } from "./element.js";
import { askFor, confirm, menu } from "./dialog.js";

/** Shows the conversations, the newest first, and has them found, renamed, exported and deleted. */
export class ConversationList {
  constructor({ onDeleted, onRenamed, onError }) {
    this.node = byId("conversation-list");
    this.search = byId("search-conversations");
    this.listeners = { onDeleted, onRenamed, onError };
    this.current = null;
    this.conversations = null; // not known yet
    this.found = null; // what was searched for, if anything was
    let searching;
    this.search.addEventListener("input", () => {
      clearTimeout(searching);
      searching = setTimeout(() => this.load().catch(onError), 150);
    });
  }

  async load() {
    const asked = (this.asked = {});
    const words = this.search.value.trim();
    const [{ conversations }, found] = await Promise.all([
      ask("GET", "/api/conversations"),
      words ? ask("GET", `/api/conversations?search=${encodeURIComponent(words)}`) : null,
    ]);
    if (this.asked === asked) {
      // else it was asked again, or signed out, in the meantime
      this.conversations = conversations;
      this.found = found?.conversations ?? null;
      this.show();
    }
    return conversations;
  }

  /** Forget all conversations. */
  clear() {
    this.conversations = null;
    this.found = null;
    this.asked = null;
    this.search.value = "";
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
    const shown = this.found ?? this.conversations;
    this.node.replaceChildren(...(shown ?? []).map((conversation) => this.item(conversation)));
    if (shown?.length === 0) this.node.append(element("li", { class: "quiet empty", text: this.found ? "Nothing found." : "No conversations yet." }));
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
    const more = iconButton("more", `More for ${title}`, () =>
      menu(more, [
        { label: "Rename", action: () => this.rename(conversation) },
        ...["Markdown", "JSON"].map((format) => ({ label: `Export as ${format}`, href: `api/conversations/${encodeURIComponent(id)}/export?format=${format.toLowerCase()}`, download: true })),
        { label: "Delete", danger: true, action: () => this.remove(conversation) },
      ]), { "aria-haspopup": "menu" });
    return element(
      "li",
      { "data-id": id, class: id === this.current ? "current" : "" },
      open,
      running ? element("span", { class: "dot", title: "Answering" }) : null,
      more,
    );
  }

  async rename({ id, title }) {
    const wanted = await askFor("Rename the conversation", title, "Rename");
    if (!wanted) return;
    await this.attempt(() => ask("PATCH", `/api/conversations/${encodeURIComponent(id)}`, { title: wanted }));
    this.listeners.onRenamed();
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
