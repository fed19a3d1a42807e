// The agents that can be talked to: which one a new conversation is with, and how it begins.

import { ask } from "./api.js";
import { byId, element, label } from "./element.js";

/** Knows the agents, and has one chosen for a new conversation. */
export class Agents {
  constructor({ onChosen }) {
    this.node = byId("agent");
    this.model = byId("model");
    this.all = [];
    this.chosen = null;
    this.node.addEventListener("change", () => {
      this.chosen = this.node.value;
      onChosen();
    });
  }

  async load() {
    const { agents } = await ask("GET", "/api/agents");
    this.all = agents;
    this.chosen = agents.find((agent) => !agent.problem)?.name ?? agents[0].name;
    this.node.replaceChildren(...agents.map(({ name, problem }) => element("option", { value: name, text: problem ? `${name} (not available)` : name })));
    this.node.hidden = agents.length < 2;
  }

  clear() {
    this.all = [];
    this.chosen = null;
    this.node.hidden = true;
    this.model.hidden = true;
  }

  /** Show which agent a conversation is with; it can be chosen in a new one. */
  show(name, model = null) {
    this.node.disabled = name !== null;
    this.node.value = name ?? this.chosen;
    const agent = this.get(name);
    const models = agent.models?.length ? agent.models : [agent.model].filter(Boolean);
    this.model.replaceChildren(...models.map((value) => element("option", { value, text: value.replace(/^[^:]*:(?=.)/, "").replace(/:$/, " model") })));
    this.model.value = models.includes(model) ? model : agent.model;
    this.model.disabled = models.length < 2;
    this.model.hidden = !models.length;
  }

  /** The model that was chosen, if there is a choice. */
  get chosenModel() {
    return this.model.disabled ? undefined : this.model.value;
  }

  has(name) {
    return this.all.some((agent) => agent.name === name);
  }

  get(name) {
    return this.all.find((agent) => agent.name === (name ?? this.chosen)) ?? { name, description: "", inputs: [], ideas: [], takes_words: true };
  }
}

/** What a new conversation begins with: what the agent does, ideas, and a form for what it wants to know. */
export function welcome(agent, { onWords, onInputs }) {
  const isTasks = agent.name === "tasks";
  const heading = isTasks ? "What would you like to get done?" : label(agent.name ?? "");
  const about = isTasks ? "Write it in your own words. Your tasks are listed beside the chat." : agent.description;
  return element(
    "div",
    { class: "welcome" },
    element("h2", { text: heading }),
    element("p", { class: "quiet", text: about }),
    agent.problem ? element("p", { class: "error", role: "alert", text: `Not available: ${agent.problem}` }) : null,
    agent.inputs.length && !agent.problem ? form(agent, {}, "", { onInputs }) : null,
    element("div", { class: "ideas" }, ...agent.ideas.map((text) => element("button", { type: "button", class: "idea", text, onclick: () => onWords(text) }))),
  );
}

/** A form for what an agent wants to know, with what was given before or else the defaults. */
export function form(agent, given, said, { onInputs, onCancel = null }) {
  const fields = agent.inputs.map((input) => [input, field(input, given[input.name] ?? input.default)]);
  const words = agent.takes_words ? element("textarea", { name: "prompt", rows: "3", maxlength: "10000", required: true, text: said }) : null;
  const problem = element("p", { class: "error", role: "alert" });
  return element(
    "form",
    {
      class: "card inputs",
      onsubmit: (event) => {
        event.preventDefault();
        try {
          onInputs(read(fields), words?.value.trim() ?? null);
        } catch (error) {
          problem.textContent = error.message;
        }
      },
    },
    ...fields.map(([input, control]) => element("label", {}, element("span", { text: label(input.name) + (input.required ? "" : " (optional)") }), control, input.description ? element("small", { class: "quiet", text: input.description }) : null)),
    words ? element("label", {}, element("span", { text: "Message" }), words) : null,
    problem,
    element(
      "div",
      { class: "buttons" },
      onCancel ? element("button", { type: "button", class: "plain", text: "Cancel", onclick: onCancel }) : null,
      element("button", { type: "submit", class: "primary", text: onCancel ? "Send again" : "Start" }),
    ),
  );
}

function field(input, value) {
  const common = { name: input.name, required: input.required };
  const isEmpty = value === null || value === undefined;
  if (input.choices) return element("select", common, ...(input.required || !isEmpty ? [] : [element("option", { value: "", text: "" })]), ...input.choices.map((text) => element("option", { value: text, text, selected: text === value })));
  if (input.type === "boolean") return element("input", { name: input.name, type: "checkbox", checked: value === true });
  if (input.type === "number" || input.type === "integer") return element("input", { ...common, type: "number", step: input.type === "integer" ? "1" : "any", value: isEmpty ? null : String(value) });
  const json = { array: "[…] as JSON", object: "{…} as JSON" }[input.type];
  const text = isEmpty ? "" : typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return element("textarea", { ...common, rows: String(Math.min(8, Math.max(json ? 2 : 1, text.split("\n").length))), maxlength: "10000", placeholder: json, text });
}

function read(fields) {
  const inputs = {};
  for (const [{ name, type, required, default: usual }, control] of fields) {
    const text = control.value.trim();
    if (type === "boolean") inputs[name] = control.checked;
    else if (!text && !required && !(type === "string" && usual)) continue; // an empty text is not the default
    else if (type === "string") inputs[name] = text;
    else {
      try {
        inputs[name] = JSON.parse(text);
      } catch {
        throw new Error(`${label(name)}: expected ${type === "array" ? "a list in JSON, such as [\"a\", \"b\"]" : type === "object" ? "an object in JSON" : "a number"}.`);
      }
    }
  }
  return inputs;
}
