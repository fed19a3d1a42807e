// Messages of a conversation: the user's, and answers, also those in progress.

import { approvalCard, confirmationCard } from "./approvals.js";
import { block, copy, element, icon, iconButton, link } from "./element.js";
import { outputCard } from "./output.js";
import { ToolCard } from "./tool-card.js";

const WRONG = "Something went wrong. Please try again.";

/** Something the user said; with a note if it is not part of the conversation yet. */
export function userMessage(message, onEdit, note = "") {
  const edit = iconButton("edit", "Edit and resend", () => onEdit(message), { class: "icon faint" });
  const node = element(
    "article",
    { class: note ? "message user queued" : "message user", "aria-label": "You" },
    element(
      "div",
      { class: "bubble" },
      message.attachments?.length ? element("ul", { class: "attached", "aria-label": "Attachments" }, ...message.attachments.map(({ name, media_type }) => element("li", { class: "chip" }, icon("clip"), name || media_type))) : null,
      element("span", { text: message.content }),
    ),
    element("div", { class: "message-actions" }, note ? element("span", { class: "note", text: note }) : edit),
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
  constructor({ onDecide, onStop, onRetry, agent }) {
    this.agent = agent;
    this.onDecide = onDecide;
    this.onStop = onStop;
    this.onRetry = onRetry;
    this.content = element("div", { class: "content" });
    this.actions = element("div", { class: "message-actions" });
    this.node = element("article", { class: "message assistant", "aria-label": agent.name ?? "Maverick" }, this.content, this.actions);
    this.begin();
  }

  get hasActed() {
    return this.content.querySelector(".tool") !== null;
  }

  /** What it says last, without marks. */
  get words() {
    return [...this.content.querySelectorAll(".words, .output")].at(-1)?.innerText ?? "";
  }

  /** Begin, or begin again. */
  begin() {
    this.tools = new Map();
    this.block = null;
    this.thoughts = null;
    this.sources = null;
    this.waiting = element("div", { class: "waiting" }, element("span"), element("span"), element("span"));
    this.waiting.setAttribute("aria-hidden", "true");
    this.content.replaceChildren(this.waiting);
    this.actions.replaceChildren();
  }

  /** Show an event of the stream. */
  hear({ name, data }) {
    if (name === "start") data.goes_on ? this.goOn() : this.begin();
    else if (name === "html") this.write(data.from, data.html);
    else if (name === "thinking") this.think(data.text);
    else if (name === "tool_start") this.call(data);
    else if (name === "tool_end") this.tools.get(data.id)?.end(data.result, data.duration_ms, data.outcome);
    else if (name === "note" && data.said) this.interject(data.said);
    else if (name === "server_tool" || name === "note") this.note(data.text);
    else if (name === "sources") this.cite(data.sources);
    else if (name === "approval") this.ask(data);
    else if (name === "done") this.end(data);
  }

  /** Go on after a decision. */
  goOn() {
    this.settle();
    this.block = null;
    this.thoughts = null;
    this.actions.replaceChildren();
    this.content.append(this.waiting);
  }

  /** Show an answer that has been over for long. */
  static kept(message, listeners) {
    const made = new AnswerMessage(listeners);
    const calls = message.tool_calls.map((call) => {
      const card = new ToolCard(call.tool_name, call.parameters);
      card.end(call.result, call.duration_ms);
      return card.node;
    });
    for (const part of message.parts ?? calls.map((_, number) => ({ type: "tool_call", number }))) made.part(part, calls);
    if (message.output !== null) made.showOutput(message.output);
    else if (message.content && message.content !== message.reason && !message.parts?.some(({ text }) => text === message.content)) made.write(0, message.html);
    made.waiting.remove();
    if (message.status === "failed") made.trouble(message.reason || WRONG);
    else made.offer(message.content, message.status === "stopped" ? "Stopped." : "");
    return made;
  }

  part({ type, text, number, html }, calls) {
    if (type === "thinking") this.think(text);
    else if (type === "said") this.interject(text);
    else if (type === "text") this.write(0, html);
    if (type === "text") return;
    if (type === "tool_call") this.content.append(calls[number]);
    this.block = null;
    if (type !== "thinking") this.thoughts = null;
  }

  /** The words from one of their blocks on. */
  write(from, blocks) {
    if (this.agent.typed) return; // its words are the output, which is shown when it is whole
    this.waiting.remove();
    this.thoughts = null;
    if (!this.block) {
      this.block = element("div", { class: "words" });
      this.content.append(this.block);
    }
    while (this.block.children.length > from) this.block.lastElementChild.remove();
    this.block.append(...blocks.map(block));
    const last = this.block.lastElementChild;
    if (last && /^\([^()]*\)$/.test(last.textContent)) last.classList.add("aside");
  }

  /** What the model thinks, folded. */
  think(text) {
    if (!this.thoughts) {
      this.thoughts = element("div", { class: "thoughts" });
      this.content.append(element("details", { class: "thinking" }, element("summary", {}, icon("think"), "Thoughts"), this.thoughts), this.waiting);
      this.block = null;
    }
    this.thoughts.append(text);
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
    this.thoughts = null;
    // What the task chat says is one answer, which is shown after its tools; other agents say more after each.
    const words = this.agent.name === "tasks" ? this.content.querySelector(".words") : null;
    if (words) words.before(card.node);
    else this.content.append(card.node);
    this.block = null;
    this.content.append(this.waiting);
  }

  /** Say what a tool of the model's provider did. */
  note(text) {
    const line = element("p", { class: "note", text });
    if (this.block) this.block.before(line);
    else this.content.append(line, this.waiting);
  }

  /** Show what the user said meanwhile, between what was answered before and after. */
  interject(text) {
    const bubble = element("div", { class: "bubble" }, element("span", { text }));
    this.content.append(element("div", { class: "interjection", role: "note", "aria-label": "You" }, bubble), this.waiting);
    this.block = null;
    this.thoughts = null;
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
    const card = approval.arguments ? approvalCard : confirmationCard;
    this.question = card(approval, (approved, details) => this.onDecide(approval, approved, details), () => this.onStop(approval));
    this.content.append(this.question);
    if (approval.arguments) this.actions.replaceChildren(); // the answer goes on
  }

  /** It is decided, or no longer open. */
  settle() {
    this.question?.remove();
    this.question = null;
  }

  end({ status, response, html, reason, output }) {
    this.waiting.remove();
    for (const card of this.tools.values()) status === "waiting" ? card.wait() : card.leave();
    if (output !== null && output !== undefined) this.showOutput(output);
    else if (response && status !== "waiting") this.conclude(html, status, response === reason);
    if (this.sources) this.content.append(this.sources);
    if (this.question) this.content.append(this.question);
    if (status === "failed") this.trouble(reason || WRONG);
    else if (status !== "waiting") this.offer(response, status === "stopped" ? "Stopped." : "");
    else if (reason) this.note(reason); // it waits for another server, which has its agent
  }

  /** What was streamed stays; the answer is only shown if it was not streamed, and says more than why it failed. */
  conclude(html, status, isReason) {
    if (this.agent.name === "tasks") {
      for (const words of [...this.content.querySelectorAll(".words")]) words.remove();
      this.block = null; // said in pieces before and after its tools, it is one text
    }
    const isSaid = this.block || (status !== "complete" && this.content.querySelector(".words"));
    const isBare = status === "failed" && this.agent.name === "tasks" && (isReason || !this.tools.size);
    if (!isSaid && !isBare) this.write(0, html);
  }

  /** Why there is no answer, and another try. */
  trouble(reason) {
    this.actions.replaceChildren();
    this.content.append(
      element(
        "div",
        { class: "trouble", role: "alert" },
        icon("warn"),
        element("span", { text: reason }),
        element("button", { type: "button", class: "plain small", onclick: () => this.onRetry(this) }, icon("again"), "Try again"),
      ),
    );
  }

  /** What can be done with an answer. */
  offer(text, note = "") {
    const words = text || this.content.innerText;
    this.actions.replaceChildren(
      ...(note ? [element("span", { class: "note", text: note })] : []),
      ...(words.trim() ? [iconButton("copy", "Copy", (event) => copy(words, event.currentTarget))] : []),
      iconButton("again", note ? "Try again" : "Answer again", () => this.onRetry(this)),
    );
  }

  /** The answer could not be had. */
  fail(message) {
    this.end({ status: "failed", response: "", reason: message });
  }

  /** The connection is lost, and found again soon. */
  lost() {
    this.content.append(this.waiting);
  }
}
