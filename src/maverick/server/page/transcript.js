// The conversation in the middle: what was said, and the answer that is being made.

import { ask, followAnswer } from "./api.js";
import { welcome } from "./agents.js";
import { decision } from "./approvals.js";
import { confirm } from "./dialog.js";
import { byId, copy } from "./element.js";
import { AnswerMessage, userMessage } from "./messages.js";

/** Shows one conversation at a time, and holds it. */
export class Transcript {
  constructor(agents, listeners) {
    this.agents = agents;
    this.node = byId("transcript");
    this.listeners = listeners; // onBusy, onBegun, onError, onEdit, onQueued, onReturned
    this.queued = [];
    this.node.addEventListener("scroll", () => this.showEnd());
    this.node.addEventListener("click", (event) => {
      const button = event.target.closest(".copy-code");
      if (button) copy(button.closest(".code").querySelector("code").textContent, button);
    });
    byId("to-end").addEventListener("click", () => {
      this.down(true);
      byId("composer-text").focus();
    });
    this.clear();
  }

  /** Begin a new conversation. */
  clear() {
    this.leave();
    this.id = null;
    this.agent = null;
    this.opening = null;
    this.finished = null;
    this.seen = "";
    this.last = null;
    this.question = null;
    this.welcome();
  }

  /** Show what a conversation with the chosen agent begins with. */
  welcome() {
    const agent = this.agents.get(null);
    const words = byId("composer-text");
    const takesWords = agent.takes_words && !agent.inputs.some((input) => input.required) && !agent.problem;
    byId("composer").hidden = !takesWords;
    words.placeholder = placeholder(agent.name);
    this.agents.show(null);
    byId("to-end").hidden = true;
    this.node.replaceChildren(welcome(agent, { onWords: (text) => this.send(text), onInputs: (inputs, text) => this.begin(inputs, text) }));
  }

  /** The conversation is with an agent, which takes words from now on. */
  with(agent, model = this.agents.chosenModel) {
    this.agent = agent;
    this.agents.show(agent, model);
    const words = byId("composer-text");
    byId("composer").hidden = false;
    words.placeholder = placeholder(agent);
  }

  /** Show a conversation; an answer that is being made in it is followed. */
  async open(id) {
    this.leave();
    const opening = (this.opening = {});
    const conversation = await ask("GET", `/api/conversations/${encodeURIComponent(id)}?html=true`);
    if (this.opening !== opening) return; // something was said, or another one opened, in the meantime
    this.id = id;
    this.with(conversation.agent, conversation.model);
    this.seen = conversation.updated_at;
    this.finished = conversation.approval?.run_id ?? null; // it goes on when it is decided, and not before
    this.last = null;
    this.node.replaceChildren();
    for (const message of conversation.messages) {
      if (message.role === "user") this.showUser(message);
      else this.last = this.put(AnswerMessage.kept(message, this.answering()));
    }
    if (conversation.approval) this.last?.ask(conversation.approval);
    this.down(true);
    if (!conversation.running) return;
    const isBegun = conversation.messages.at(-1)?.role === "assistant"; // it goes on after a decision
    this.follow({ runId: conversation.running }, isBegun ? this.last : null);
  }

  /** Another tab may have said something: look again, unless this one is talking. */
  async refresh(conversation) {
    if (!this.id || this.following || !conversation) return;
    const { updated_at: changed, running } = conversation;
    if (changed > this.seen || (running && running !== this.finished)) await this.open(this.id);
  }

  /** Say something; instead of an earlier message and all after it, if one is given. */
  send(text, replaces = null, attachments = []) {
    if (this.following) return;
    const agent = this.id ? undefined : this.start();
    if (replaces) this.cut(replaces);
    this.last?.settle();
    this.showUser({ content: text, attachments });
    const sent = attachments.map(({ name, data }) => ({ name, data }));
    const body = { message: text, conversation_id: this.id, replaces, agent, attachments: sent, model: this.agents.chosenModel };
    this.follow({ begin: { path: "/api/chat", body } });
  }

  /** Say something while the answer is made: the agent hears it before its next turn, or it is sent after the answer. */
  async interject(text) {
    const { following, runId } = this;
    try {
      if (runId) return void (await ask("POST", `/api/runs/${runId}/say`, { message: text }));
    } catch (error) {
      if (error.status !== 409) {
        this.listeners.onError(error);
        return this.listeners.onReturned(text);
      }
    }
    if (this.following !== following) return this.listeners.onReturned(text); // the answer has just ended
    this.queued.push(text);
    this.listeners.onQueued("This is sent when the answer is there.");
  }

  /** Begin a conversation with what the agent wants to know. */
  begin(inputs, text) {
    if (this.following) return;
    const agent = this.start();
    const lines = Object.entries(inputs).map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`);
    this.showUser({ content: text || lines.join("\n") });
    this.follow({ begin: { path: "/api/chat", body: { agent, inputs, model: this.agents.chosenModel, ...(text ? { message: text } : {}) } } });
  }

  /** Make room for a new conversation; gives the agent it is with. */
  start() {
    const { chosen } = this.agents;
    this.node.replaceChildren();
    this.with(chosen);
    return chosen;
  }

  /** Answer the question whether to go ahead. */
  decide(approval, approved, details = {}) {
    if (this.following) {
      this.next = () => this.decide(approval, approved, details); // the question is there before its answer has ended
      return;
    }
    if (approval.arguments) {
      const path = `/api/approvals/${encodeURIComponent(approval.id)}/${approved ? "approve" : "deny"}`;
      this.follow({ begin: { path, body: decision(approved, details) } }, this.last);
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

  /** Ask the question of an answer again. */
  async retry(answer) {
    const { message, node } = answer.asked;
    const isLast = answer === this.last;
    if (this.following) return;
    if (!isLast && !(await confirm("Answer again? The messages after it will be replaced.", "Answer again"))) return;
    if (isLast && answer.hasActed && !(await confirm("Answer again? What was done stays done, and may be done twice.", "Answer again"))) return;
    if (!message.id) {
      node.remove(); // the server does not know of it
      answer.node.remove();
    }
    const files = message.attachments ?? [];
    const hasAll = files.every(({ data }) => data); // not after a reload: the server gives no file back
    if (!hasAll) this.listeners.onQueued("The attached files are not sent again. Attach them to a new message if they are needed.");
    this.send(message.content, message.id ?? null, hasAll ? files : []);
  }

  async follow(source, begun = null) {
    const answer = begun ?? this.put(new AnswerMessage(this.answering()));
    const following = new AbortController();
    const question = this.question;
    this.last = answer;
    this.opening = null;
    this.following = following;
    this.asked = false;
    this.listeners.onBusy(true);
    this.node.setAttribute("aria-busy", "true");
    this.down(true);
    const hear = (event) => {
      const near = this.isNearEnd();
      if (event.name === "start") this.begun(event.data);
      if (event.name === "approval") this.asked = true;
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
    this.rest(!this.asked && answer.status === "complete"); // what was said before a question does not answer it
  }

  rest(sendsQueued = false) {
    const { next, queued } = this;
    this.following = null;
    this.next = null;
    this.queued = [];
    this.runId = null;
    this.node.removeAttribute("aria-busy");
    this.listeners.onBusy(false);
    next?.();
    if (!queued.length) return;
    const text = queued.join("\n\n");
    if (sendsQueued && !this.following) this.send(text);
    else this.listeners.onReturned(text);
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
    answer.asked = this.question;
    this.node.append(answer.node);
    return answer;
  }

  answering() {
    return {
      agent: this.agents.get(this.agent),
      onDecide: (approval, approved, details) => this.decide(approval, approved, details),
      onRetry: (answer) => this.retry(answer),
    };
  }

  isNearEnd() {
    return this.node.scrollHeight - this.node.scrollTop - this.node.clientHeight < 120;
  }

  down(wanted) {
    if (wanted) this.node.scrollTop = this.node.scrollHeight;
    this.showEnd();
  }

  /** A way back to the end, while it is out of sight. */
  showEnd() {
    byId("to-end").hidden = this.isNearEnd();
  }
}

function placeholder(agent) {
  return agent === "tasks" ? "Add buy milk tomorrow…" : `Message ${agent ?? ""}…`;
}
