// The task list at the right, as it is now: in groups by date, changed in place.

import { ask, newKey } from "./api.js";
import { byId, element, icon, iconButton } from "./element.js";

const DAY = 24 * 60 * 60 * 1000;
const PRIORITIES = ["High", "Medium", "Low"];
const GROUPS = [
  ["Overdue", (days) => days < 0],
  ["Today", (days) => days === 0],
  ["Next 7 days", (days) => days <= 7],
  ["Later", () => true],
];

/** Shows the tasks, and has them added, changed, completed, deleted and brought back. */
export class TaskList {
  constructor({ onError, onSaid }) {
    this.node = byId("task-list");
    this.listeners = { onError, onSaid };
    this.tasks = [];
    this.editing = null;
    byId("add-task").addEventListener("submit", (event) => {
      event.preventDefault();
      this.add(byId("add-task-title"));
    });
    byId("search-tasks").addEventListener("input", () => this.show());
    byId("undo").addEventListener("click", () => this.step("undo"));
    byId("redo").addEventListener("click", () => this.step("redo"));
  }

  async load() {
    const asked = (this.asked = {});
    const { tasks } = await ask("GET", "/api/tasks");
    if (this.asked !== asked) return; // asked again, or signed out, in the meantime
    this.tasks = tasks;
    if (!this.editing) this.show(); // else what is written in the meantime would be lost
  }

  /** Forget all tasks. */
  clear() {
    this.tasks = [];
    this.asked = null;
    this.editing = null;
    for (const id of ["add-task-title", "search-tasks"]) byId(id).value = "";
    this.show();
  }

  show() {
    const focused = document.activeElement?.closest?.("[data-task]");
    const place = [...this.node.querySelectorAll("[data-task]")].indexOf(focused);
    const words = byId("search-tasks").value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = this.tasks.filter(({ title, description }) => words.every((word) => `${title} ${description}`.toLowerCase().includes(word)));
    const open = found.filter((task) => !task.completed);
    const done = found.filter((task) => task.completed);
    const left = this.tasks.filter((task) => !task.completed).length;
    const wasOpen = words.length > 0 || this.node.querySelector("details")?.open;
    byId("task-count").textContent = left ? `${left} open` : "";
    byId("search-tasks").hidden = !this.tasks.length;
    this.node.replaceChildren(...this.groups(open), done.length ? this.folded(done, wasOpen) : "");
    if (!open.length) this.node.prepend(element("p", { class: "quiet empty", text: words.length ? (done.length ? "" : "Nothing found.") : "Nothing to do." }));
    if (focused) this.focusAgain(focused.dataset.task, place);
  }

  /** Stay at a task; if it is out of sight now, go to the one in its place. */
  focusAgain(id, place) {
    const all = [...this.node.querySelectorAll("[data-task]")].filter((node) => node.checkVisibility());
    const next = all.find((node) => node.dataset.task === id) ?? all[Math.min(place, all.length - 1)];
    (next?.querySelector("input") ?? byId("add-task-title")).focus();
  }

  groups(open) {
    const rest = [...open];
    return GROUPS.flatMap(([name, holds]) => {
      const tasks = rest.filter((task) => holds(task.due_date ? daysUntil(task.due_date) : Infinity));
      for (const task of tasks) rest.splice(rest.indexOf(task), 1);
      if (!tasks.length) return [];
      return [element("section", { class: name === "Overdue" ? "overdue" : "" }, element("h3", { text: name }), element("ul", {}, ...tasks.map((task) => this.item(task))))];
    });
  }

  folded(done, isOpen) {
    return element("details", { open: isOpen || null }, element("summary", { text: `Done (${done.length})` }), element("ul", {}, ...done.map((task) => this.item(task))));
  }

  item(task) {
    const box = element("input", { type: "checkbox", "aria-label": task.title, checked: task.completed });
    box.addEventListener("change", () => {
      this.change(task, { completed: box.checked }, box.checked ? "Done" : "Open again", () => (box.checked = task.completed));
    });
    const edit = () => this.edit(task, node);
    const notes = [];
    if (task.priority !== "Medium") notes.push(element("span", { class: `chip ${task.priority.toLowerCase()}`, text: `${task.priority} priority` }));
    if (task.due_date) notes.push(due(task));
    const node = element(
      "li",
      { "data-task": task.id, class: task.completed ? "task completed" : "task" },
      element("label", { class: "tick" }, box),
      element(
        "button",
        { type: "button", class: "task", onclick: edit, title: "Edit" },
        element("span", { class: "task-title", text: task.title }),
        task.description ? element("span", { class: "quiet task-description", text: task.description }) : null,
        notes.length ? element("span", { class: "chips" }, ...notes) : null,
      ),
      iconButton("trash", `Delete ${task.title}`, () => this.remove(task), { class: "icon faint" }),
    );
    return node;
  }

  /** Change a task where it stands: Enter saves, Escape leaves it. */
  edit(task, node) {
    if (this.editing) this.leave();
    this.editing = task.id;
    const title = element("input", { type: "text", maxlength: "255", required: true, "aria-label": "Title", value: task.title });
    const date = element("input", { type: "date", "aria-label": "Due date", value: task.due_date ?? "" });
    const priority = element("select", { "aria-label": "Priority" }, ...PRIORITIES.map((name) => element("option", { value: name, text: name, selected: name === task.priority })));
    const form = element(
      "form",
      { class: "edit-task" },
      title,
      element("div", { class: "edit-row" }, date, priority),
      element("div", { class: "edit-row" }, element("button", { type: "submit", class: "primary", text: "Save" }), element("button", { type: "button", class: "plain", text: "Cancel", onclick: () => this.leave() })),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const now = { title: title.value.trim(), due_date: date.value || null, priority: priority.value };
      const changes = Object.fromEntries(Object.entries(now).filter(([name, value]) => value !== task[name]));
      if (!now.title) return;
      this.editing = null;
      if (Object.keys(changes).length) this.change(task, changes, "Saved");
      else this.show();
    });
    form.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this.leave();
    });
    node.replaceChildren(form);
    title.focus();
  }

  leave() {
    this.editing = null;
    this.show();
  }

  add(input) {
    const text = input.value.trim();
    if (!text) return;
    input.value = "";
    this.attempt(async () => {
      const { title, due_date } = await ask("POST", "/api/tasks/from-words", { text, today: today() }, { "Idempotency-Key": newKey() });
      this.said(due_date ? `Added “${title}” for ${inWords(due_date)}.` : `Added “${title}”.`);
    }, () => (input.value ||= text));
  }

  change(task, changes, what, onRefused) {
    this.attempt(async () => {
      await ask("PATCH", `/api/tasks/${task.id}`, changes);
      this.said(`${what}: “${changes.title ?? task.title}”.`);
    }, onRefused);
  }

  remove(task) {
    this.attempt(async () => {
      await ask("DELETE", `/api/tasks/${task.id}`);
      this.said(`Deleted “${task.title}”.`);
    });
  }

  said(words) {
    this.listeners.onSaid(words, { label: "Undo", action: () => this.step("undo") });
  }

  /** Take the last change back, or make it again. */
  step(which) {
    this.attempt(async () => {
      const { message } = await ask("POST", `/api/${which}`, undefined, { "Idempotency-Key": newKey() });
      const other = which === "undo" ? "redo" : "undo";
      this.listeners.onSaid(message, { label: other === "redo" ? "Redo" : "Undo", action: () => this.step(other) });
    });
  }

  async attempt(action, onRefused = null) {
    try {
      await action();
    } catch (error) {
      onRefused?.();
      this.listeners.onError(error);
    }
    await this.load().catch(this.listeners.onError);
  }
}

function today() {
  const now = new Date();
  return `${now.getFullYear()}-${String(now.getMonth() + 1).padStart(2, "0")}-${String(now.getDate()).padStart(2, "0")}`;
}

function daysUntil(day) {
  return Math.round((new Date(`${day}T00:00`) - new Date(new Date().toDateString())) / DAY);
}

function inWords(day) {
  const near = { "-1": "yesterday", 0: "today", 1: "tomorrow" }[daysUntil(day)];
  const date = new Date(`${day}T00:00`);
  const detail = date.getFullYear() === new Date().getFullYear() ? { weekday: "short" } : { year: "numeric" };
  return near ?? date.toLocaleDateString(undefined, { ...detail, day: "numeric", month: "short" });
}

function due(task) {
  const days = daysUntil(task.due_date);
  const late = days < 0 && !task.completed;
  return element("span", { class: `chip ${late ? "late" : days === 0 ? "today" : ""}` }, late ? icon("warn") : null, inWords(task.due_date));
}
