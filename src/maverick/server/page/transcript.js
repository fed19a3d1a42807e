// The conversation in the middle: what was said, and the answer that is being made.

import { ask, followAnswer } from "./api.js";
import { byId, element } from "./element.js";
import { AnswerMessage, userMessage } from "./messages.js";

const IDEAS = ["Add buy milk tomorrow", "What is due this week?", "Show my tasks", "What can you do?"];

/** Shows one conversation at a time, and holds it. */
export class Transcript {
  constructor({ onBusy, onBegun, onError, onEdit }) {
    this.node = byId("transcript");
    this.listeners = { onBusy, onBegun, onError, onEdit };
    this.clear();
  }

  /** Begin a new conversation. */
  clear() {
    this.leave();
    this.id = null;
    this.opening = null;
    this.finished = null;
    this.seen = "";
    this.last = null;
    this.question = null;
    this.node.replaceChildren(
      element(
        "div",
        { class: "welcome" },
        element("h2", { text: "What would you like to get done?" }),
        element("p", { class: "quiet", text: "Write it in your own words. Your tasks are listed beside the chat." }),
        element("div", { class: "ideas" }, ...IDEAS.map((text) => element("button", { type: "button", class: "idea", text, onclick: () => this.send(text) }))),
      ),
    );
  }

  /** Show a conversation; an answer that is being made in it is followed. */
  async open(id) {
    this.leave();
    const opening = (this.opening = {});
    const conversation = await ask("GET", `/api/conversations/${encodeURIComponent(id)}`);
    if (this.opening !== opening) return; // something was said, or another one opened, in the meantime
    this.id = id;
    this.seen = conversation.updated_at;
    this.last = null;
    this.node.replaceChildren();
    for (const message of conversation.messages) {
      if (message.role === "user") this.showUser(message);
      else this.last = this.put(AnswerMessage.kept(message, this.answering()));
    }
    if (conversation.approval) this.last?.ask(conversation.approval);
    this.down(true);
    if (conversation.running) this.follow({ runId: conversation.running });
  }

  /** Another tab may have said something: look again, unless this one is talking. */
  async refresh(conversation) {
    if (!this.id || this.following || !conversation) return;
    const { updated_at: changed, running } = conversation;
    if (changed > this.seen || (running && running !== this.finished)) await this.open(this.id);
  }

  /** Say something; instead of an earlier message and all after it, if one is given. */
  send(text, replaces = null) {
    if (this.following) return;
    if (!this.id) this.node.replaceChildren();
    if (replaces) this.cut(replaces);
    this.last?.settle();
    this.showUser({ content: text });
    const body = { message: text, conversation_id: this.id, replaces };
    this.follow({ begin: { path: "/api/chat", body } });
  }

  /** Answer the question whether to go ahead. */
  decide(approval, approved) {
    if (this.following) {
      this.next = () => this.decide(approval, approved); // the question is there before its answer has ended
      return;
    }
    this.last?.settle();
    this.showUser({ content: approved ? approval.phrase : "No, leave it as it is." });
    this.follow({ begin: { path: `/api/approvals/${approval.id}/${approved ? "approve" : "deny"}` } });
  }

  /** Stop the answer; what there is of it stays. */
  async stop() {
    if (!this.runId) return;
    await ask("POST", `/api/runs/${this.runId}/stop`).catch(this.listeners.onError);
  }

  /** Ask the last question again. */
  retry() {
    const { message, node } = this.question;
    if (!message.id) {
      node.remove(); // the server does not know of it
      this.last.node.remove();
    }
    this.send(message.content, message.id ?? null);
  }

  async follow(source) {
    const answer = this.put(new AnswerMessage(this.answering()));
    const following = new AbortController();
    const question = this.question;
    this.last = answer;
    this.opening = null;
    this.following = following;
    this.listeners.onBusy(true);
    this.node.setAttribute("aria-busy", "true");
    this.down(true);
    const hear = (event) => {
      const near = this.isNearEnd();
      if (event.name === "start") this.begun(event.data);
      answer.hear(event);
      if (event.name === "done") this.over(event.data, question);
      this.down(near);
    };
    try {
      await followAnswer({ ...source, onEvent: hear, onLost: () => answer.lost(), signal: following.signal });
    } catch (error) {
      answer.fail(error.message);
      if (error.status === 401) this.listeners.onError(error);
    } finally {
      if (this.following === following) this.rest();
    }
  }

  begun({ run_id, conversation_id }) {
    this.runId = run_id;
    if (this.id !== conversation_id) {
      this.id = conversation_id;
      this.listeners.onBegun(conversation_id);
    }
  }

  over(answer, question) {
    question?.settle(answer.user_message_id);
    this.seen = answer.created_at ?? this.seen;
    this.finished = answer.run_id;
    byId("announcer").textContent = answer.response;
    this.rest();
  }

  rest() {
    const { next } = this;
    this.following = null;
    this.next = null;
    this.runId = null;
    this.node.removeAttribute("aria-busy");
    this.listeners.onBusy(false);
    next?.();
  }

  /** Look away; the answer is made all the same. */
  leave() {
    const following = this.following;
    if (!following) return;
    this.next = null;
    this.rest();
    following.abort();
  }

  showUser(message) {
    const shown = userMessage(message, (said) => this.listeners.onEdit(said));
    this.question = { message, ...shown };
    this.node.append(shown.node);
  }

  cut(messageId) {
    const said = [...this.node.children];
    const from = said.findIndex((child) => child.dataset.message === String(messageId));
    if (from >= 0) for (const child of said.slice(from)) child.remove();
  }

  put(answer) {
    this.node.append(answer.node);
    return answer;
  }

  answering() {
    return { onDecide: (approval, approved) => this.decide(approval, approved), onRetry: () => this.retry() };
  }

  isNearEnd() {
    return this.node.scrollHeight - this.node.scrollTop - this.node.clientHeight < 120;
  }

  down(wanted) {
    if (wanted) this.node.scrollTop = this.node.scrollHeight;
  }
}
