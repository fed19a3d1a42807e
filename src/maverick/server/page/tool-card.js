// A tool call as a line that opens: what was called, with what, what came of it and how long it took.

import { element, icon } from "./element.js";
import { label } from "./agents.js";

const LABELS = {
  add_task: "Add a task",
  list_tasks: "List tasks",
  complete_task: "Complete a task",
  update_task: "Change a task",
  delete_task: "Delete a task",
  change_all_tasks: "Change many tasks",
  undo_last_change: "Undo",
};

/** The card of one tool call. */
export class ToolCard {
  constructor(name, parameters) {
    this.name = name;
    this.status = element("span", { class: "tool-status" });
    this.time = element("span", { class: "tool-time" });
    this.body = element("div", { class: "tool-body" }, ...section("Arguments", parameters));
    const subject = Object.values(parameters ?? {}).find((value) => typeof value === "string") ?? "";
    this.node = element(
      "details",
      { class: "tool running" },
      element(
        "summary",
        {},
        this.status,
        element("span", { class: "tool-name", text: LABELS[name] ?? label(name) }),
        element("span", { class: "tool-subject", text: subject }),
        this.time,
      ),
      this.body,
    );
    this.show("running", "Running", "tool");
  }

  /** The call is over. */
  end(result, duration, outcome = "finished") {
    const code = result?.error?.code;
    if (outcome === "denied" || code === "denied") this.show("failed", "Not done", "close");
    else if (code === "confirmation_required") this.show("asking", "Needs your confirmation", "warn");
    else if (outcome !== "finished" || result?.success === false) this.show("failed", "Failed", "close");
    else this.show("finished", "Done", "check");
    this.time.textContent = duration >= 1000 ? `${(duration / 1000).toFixed(1)} s` : `${duration} ms`;
    this.body.append(...section("Result", result?.success === true && "data" in result && Object.keys(result).length === 2 && !LABELS[this.name] ? result.data : result));
  }

  /** The answer was stopped before the call was over. */
  leave() {
    if (this.node.classList.contains("running")) this.show("failed", "Stopped", "close");
  }

  /** The call waits for a person's decision. */
  wait() {
    if (this.node.classList.contains("running")) this.show("asking", "Waits for approval", "warn");
  }

  /** The call is made after all. */
  goOn() {
    this.show("running", "Running", "tool");
  }

  show(state, label, picture) {
    this.node.className = `tool ${state}`;
    this.status.replaceChildren(icon(picture), element("span", { class: "visually-hidden", text: `${label}: ` }));
  }
}

function section(title, value) {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return [element("p", { class: "tool-label", text: title }), element("pre", { tabindex: "0", role: "group", "aria-label": title }, element("code", { text }))];
}
