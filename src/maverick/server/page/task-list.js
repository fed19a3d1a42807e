// The task list at the right, as it is now.

import { ask, newKey } from "./api.js";
import { byId, element, iconButton } from "./element.js";

const DAY = 24 * 60 * 60 * 1000;

/** Shows the tasks, and has them added, completed, deleted and brought back. */
export class TaskList {
  constructor({ onError, onSaid }) {
    this.node = byId("task-list");
    this.listeners = { onError, onSaid };
    this.filter = "open";
    this.tasks = [];
    byId("add-task").addEventListener("submit", (event) => {
      event.preventDefault();
      this.add(byId("add-task-title"));
    });
    byId("undo").addEventListener("click", () => this.undo());
    for (const button of document.querySelectorAll("[data-filter]"))
      button.addEventListener("click", () => this.choose(button.dataset.filter));
  }

  async load() {
    const asked = (this.asked = {});
    const { tasks } = await ask("GET", "/api/tasks");
    if (this.asked !== asked) return; // asked again, or signed out, in the meantime
    this.tasks = tasks;
    this.show();
  }

  /** Forget all tasks. */
  clear() {
    this.tasks = [];
    this.asked = null;
    byId("add-task-title").value = "";
    this.choose("open");
  }

  choose(filter) {
    this.filter = filter;
    for (const button of document.querySelectorAll("[data-filter]"))
      button.setAttribute("aria-pressed", String(button.dataset.filter === filter));
    this.show();
  }

  show() {
    const focused = document.activeElement?.closest?.("[data-task]")?.dataset.task;
    const open = this.tasks.filter((task) => !task.completed).length;
    const shown = this.tasks.filter((task) => this.filter === "all" || task.completed === (this.filter === "completed"));
    byId("task-count").textContent = open ? `${open} open` : "";
    this.node.replaceChildren(...shown.map((task) => this.item(task)));
    if (!shown.length) {
      const nothing = { open: "Nothing to do.", completed: "Nothing done yet.", all: "No tasks yet." }[this.filter];
      this.node.append(element("li", { class: "quiet empty", text: nothing }));
    }
    if (focused) this.node.querySelector(`[data-task="${focused}"] input`)?.focus();
  }

  item(task) {
    const box = element("input", { type: "checkbox", id: `task-${task.id}`, checked: task.completed });
    box.addEventListener("change", () => this.change(task, { completed: box.checked }));
    const notes = [];
    if (task.priority !== "Medium")
      notes.push(element("span", { class: `chip ${task.priority.toLowerCase()}`, text: `${task.priority} priority` }));
    if (task.due_date) notes.push(due(task));
    return element(
      "li",
      { "data-task": task.id, class: task.completed ? "completed" : "" },
      box,
      element(
        "label",
        { for: `task-${task.id}` },
        element("span", { class: "task-title", text: task.title }),
        task.description ? element("span", { class: "quiet task-description", text: task.description }) : null,
        notes.length ? element("span", { class: "chips" }, ...notes) : null,
      ),
      iconButton("trash", `Delete ${task.title}`, () => this.remove(task), { class: "icon faint" }),
    );
  }

  add(input) {
    const title = input.value.trim();
    if (!title) return;
    input.value = "";
    this.attempt(() => ask("POST", "/api/tasks", { title }, { "Idempotency-Key": newKey() }));
  }

  change(task, changes) {
    this.attempt(() => ask("PATCH", `/api/tasks/${task.id}`, changes));
  }

  remove(task) {
    this.attempt(async () => {
      await ask("DELETE", `/api/tasks/${task.id}`);
      this.listeners.onSaid(`Deleted “${task.title}”.`, { label: "Undo", action: () => this.undo() });
    });
  }

  undo() {
    this.attempt(async () => this.listeners.onSaid((await ask("POST", "/api/undo", undefined, { "Idempotency-Key": newKey() })).message));
  }

  async attempt(action) {
    try {
      await action();
    } catch (error) {
      this.listeners.onError(error);
    }
    await this.load().catch(this.listeners.onError);
  }
}

function due(task) {
  const today = new Date(new Date().toDateString());
  const day = new Date(`${task.due_date}T00:00`);
  const days = Math.round((day - today) / DAY);
  const near = { "-1": "yesterday", 0: "today", 1: "tomorrow" }[days];
  const words = near ?? day.toLocaleDateString(undefined, { weekday: "short", day: "numeric", month: "short" });
  const late = days < 0 && !task.completed;
  return element("span", { class: `chip ${late ? "late" : days === 0 ? "today" : ""}`, text: late ? `overdue: ${words}` : words });
}
