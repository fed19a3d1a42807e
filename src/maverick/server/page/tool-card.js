// A tool call as a line that opens: what was called, with what, and what came of it.

import { element, icon, label } from "./element.js";
import { shown, straight } from "./output.js";

const LABELS = {
  add_task: "Add a task",
  list_tasks: "List tasks",
  complete_task: "Complete a task",
  update_task: "Change a task",
  delete_task: "Delete a task",
  change_all_tasks: "Change many tasks",
  undo_last_change: "Undo",
};
const LONG = 2000; // milliseconds that are worth a mention

/** The card of one tool call. */
export class ToolCard {
  constructor(name, parameters) {
    this.plan = name === "update_plan" ? plan(parameters?.steps) : null;
    this.status = element("span", { class: "tool-status" });
    this.time = element("span", { class: "tool-time" });
    const given = Object.entries(parameters ?? {}).filter(([, value]) => value !== null && value !== "");
    this.body = element("div", { class: "tool-body" }, ...(this.plan ? [this.plan] : given.length ? section("With", Object.fromEntries(given)) : []));
    const subject = given.map(([, value]) => value).find((value) => typeof value === "string") ?? "";
    this.node = element(
      "details",
      { class: "tool running", open: this.plan !== null },
      element(
        "summary",
        {},
        this.status,
        element("span", { class: "tool-name", text: LABELS[name] ?? straight(label(name)) }),
        element("span", { class: "tool-subject", text: straight(subject.replaceAll("_", " ")) }),
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
    this.time.textContent = duration >= LONG ? `${Math.round(duration / 1000)} s` : "";
    if (!this.plan || result?.success === false) this.body.append(...section("Result", readable(result)));
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

const MARKS = { done: ["✓", "Done"], in_progress: ["▸", "In progress"], pending: ["○", "To do"] };

/** The steps of an agent's plan, each with a mark; null if that is not what was written down. */
function plan(steps) {
  if (!Array.isArray(steps) || !steps.length || !steps.every((one) => typeof one?.step === "string" && one.status in MARKS)) return null;
  const items = steps.map(({ step, status }) => {
    const [mark, label] = MARKS[status];
    return element("li", { class: `step ${status}` }, element("span", { class: "step-mark", "aria-hidden": "true", text: mark }), element("span", { class: "visually-hidden", text: `${label}: ` }), element("span", { text: straight(step) }));
  });
  return element("ul", { class: "plan", "aria-label": "Plan" }, ...items);
}

/** What a tool answered, without what is only for programs. */
function readable(result) {
  if (typeof result?.success !== "boolean") return result;
  if (!result.success) return result.error?.details?.said ?? result.error?.message ?? "It failed.";
  const data = "data" in result ? result.data : result;
  return typeof data?.message === "string" ? data.message : data;
}

function section(title, value) {
  return [element("p", { class: "tool-label", text: title }), element("div", { class: "tool-value", tabindex: "0", role: "group", "aria-label": title }, shown(value, straight))];
}
