// Messages of a conversation: the user's, and answers, also those in progress.

import { approvalCard } from "./approvals.js";
import { element, icon, iconButton } from "./element.js";
import { link, rendered } from "./markdown.js";
import { outputCard } from "./output.js";
import { ToolCard } from "./tool-card.js";

/** Something the user said. */
export function userMessage(message, onEdit) {
  const edit = iconButton("edit", "Edit and resend", () => onEdit(message), { class: "icon faint" });
  const node = element(
    "article",
    { class: "message user", "aria-label": "You" },
    element("div", { class: "bubble", text: message.content }),
    element("div", { class: "message-actions" }, edit),
  );
  const settle = (id) => {
    message.id = id ?? message.id;
    node.dataset.message = message.id ?? "";
    edit.hidden = !message.id;
  };
  settle(message.id);
  return { node, settle };
}

/** An answer, as it is made and when it is over. */
export class AnswerMessage {
  constructor({ onDecide, onRetry, agent }) {
    this.agent = agent;
    this.onDecide = onDecide;
    this.onRetry = onRetry;
    this.content = element("div", { class: "content" });
    this.actions = element("div", { class: "message-actions" });
    this.node = element("article", { class: "message assistant", "aria-label": agent.name ?? "Maverick" }, this.content, this.actions);
    this.begin();
  }

  /** Begin, or begin again. */
  begin() {
    this.tools = new Map();
    this.text = "";
    this.block = null;
    this.sources = null;
    this.waiting = element("div", { class: "waiting" }, element("span"), element("span"), element("span"));
    this.waiting.setAttribute("aria-hidden", "true");
    this.content.replaceChildren(this.waiting);
    this.actions.replaceChildren();
  }

  /** Show an event of the stream. */
  hear({ name, data }) {
    if (name === "start") data.goes_on ? this.goOn() : this.begin();
    else if (name === "text") this.say(data.text);
    else if (name === "tool_start") this.call(data);
    else if (name === "tool_end") this.tools.get(data.id)?.end(data.result, data.duration_ms, data.outcome);
    else if (name === "server_tool" || name === "note") this.note(data.text);
    else if (name === "sources") this.cite(data.sources);
    else if (name === "approval") this.ask(data);
    else if (name === "done") this.end(data);
  }

  /** Go on after a decision. */
  goOn() {
    this.settle();
    this.text = "";
    this.block = null;
    this.actions.replaceChildren();
    this.content.append(this.waiting);
  }

  /** Show an answer that has been over for long. */
  static kept(message, listeners) {
    const made = new AnswerMessage(listeners);
    made.waiting.remove();
    for (const call of message.tool_calls) {
      const card = new ToolCard(call.tool_name, call.parameters);
      card.end(call.result, call.duration_ms);
      made.content.append(card.node);
    }
    if (message.output !== null) made.showOutput(message.output);
    else if (message.content) made.show(message.content);
    return made;
  }

  say(text) {
    this.text += text;
    this.show(this.text);
  }

  show(text) {
    if (!this.block) {
      this.block = element("div", { class: "words" });
      this.content.append(this.block);
    }
    this.waiting.remove();
    this.block.replaceChildren(this.agent.typed ? element("pre", {}, element("code", { text })) : rendered(text));
  }

  /** Show an answer that has a type. */
  showOutput(output) {
    this.waiting.remove();
    this.block?.remove();
    this.block = outputCard(output);
    this.content.append(this.block);
  }

  call({ id, name, arguments: parameters }) {
    if (this.tools.has(id)) {
      this.tools.get(id).goOn(); // it was waiting for a decision
      this.content.append(this.waiting);
      return;
    }
    const card = new ToolCard(name, parameters);
    this.tools.set(id, card);
    // What was said stays a part of the task chat's answer, and is shown after its tools; other agents say more.
    if (this.agent.name === "tasks") this.block?.remove();
    else this.text = "";
    this.block = null;
    this.content.append(card.node, this.waiting);
  }

  /** Say what a tool of the model's provider did. */
  note(text) {
    const line = element("p", { class: "note", text });
    if (this.block) this.block.before(line);
    else this.content.append(line, this.waiting);
  }

  /** List what the answer cites, below it. */
  cite(sources) {
    const items = sources.map(({ title, url }) => {
      const safe = /^https?:/.test(url);
      return element("li", {}, safe ? link(url, title) : title);
    });
    this.sources?.remove();
    this.sources = element("ol", { class: "sources note", "aria-label": "Sources" }, ...items);
    this.content.append(this.sources);
  }

  /** Ask the user whether to go ahead. */
  ask(approval) {
    this.question?.remove();
    if (approval.arguments) {
      this.question = approvalCard(approval, (approved, reason) => this.onDecide(approval, approved, reason));
      this.content.append(this.question);
      return;
    }
    const decide = (approved) => {
      for (const button of this.question.querySelectorAll("button")) button.disabled = true;
      this.onDecide(approval, approved);
    };
    this.question = element(
      "div",
      { class: "approval", role: "group", "aria-label": "Confirmation" },
      icon("warn"),
      element("span", { text: "Shall I go ahead?" }),
      element("button", { type: "button", class: "danger", text: "Confirm", onclick: () => decide(true) }),
      element("button", { type: "button", class: "plain", text: "Keep it", onclick: () => decide(false) }),
    );
    this.content.append(this.question);
  }

  /** It is decided, or no longer open. */
  settle() {
    this.question?.remove();
    this.question = null;
  }

  end({ status, response, reason, output }) {
    this.waiting.remove();
    for (const card of this.tools.values()) status === "waiting" ? card.wait() : card.leave();
    if (output !== null && output !== undefined) this.showOutput(output);
    else if (response && status !== "waiting") this.show(response);
    if (this.sources) this.content.append(this.sources);
    if (this.question) this.content.append(this.question);
    this.node.classList.toggle("failed", status === "failed");
    const note = { stopped: "Stopped.", failed: reason || "Something went wrong." }[status];
    if (!note) return;
    this.actions.replaceChildren(
      element("span", { class: "note", text: note }),
      element("button", { type: "button", class: "plain small", onclick: this.onRetry }, icon("again"), "Try again"),
    );
  }

  /** The answer could not be had. */
  fail(message) {
    this.end({ status: "failed", response: "" });
    this.show(message);
  }

  /** The connection is lost, and found again soon. */
  lost() {
    this.content.append(this.waiting);
  }
}
