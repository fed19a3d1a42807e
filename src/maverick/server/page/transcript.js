// The conversation in the middle: what was said, and the answer that is being made.

import { ask, followAnswer } from "./api.js";
import { form, welcome } from "./agents.js";
import { decision } from "./approvals.js";
import { confirm } from "./dialog.js";
import { byId, copy, element, goOnFrom } from "./element.js";
import { AnswerMessage, userMessage } from "./messages.js";

/** Shows one conversation at a time, and holds it. */
export class Transcript {
  constructor(agents, listeners) {
    this.agents = agents;
    this.node = byId("transcript");
    this.listeners = listeners; // onBusy, onBegun, onError, onEdit, onQueued, onReturned
    this.queued = []; // what was said to the answer in progress, and is not heard
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
    this.inputs = null;
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
    this.node.classList.remove("read-only");
    byId("to-end").hidden = true;
    this.node.replaceChildren(welcome(agent, { onWords: (text) => this.send(text), onInputs: (inputs, text) => this.begin(inputs, text) }));
  }

  /** The conversation is with an agent, which takes words from now on. */
  with(agent, model = this.agents.chosenModel) {
    this.agent = agent;
    this.agents.show(agent, model);
    const words = byId("composer-text");
    const isServed = this.agents.has(agent);
    byId("composer").hidden = !isServed;
    this.node.classList.toggle("read-only", !isServed);
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
    this.inputs = conversation.inputs;
    this.seen = conversation.updated_at;
    this.finished = conversation.approval?.run_id ?? null; // it goes on when it is decided, and not before
    this.last = null;
    this.node.replaceChildren();
    for (const message of conversation.messages) {
      if (message.role === "user") this.showUser(message);
      else this.last = this.put(AnswerMessage.kept(message, this.answering()));
    }
    if (!this.agents.has(conversation.agent)) this.node.append(element("p", { class: "note elsewhere", text: `This conversation is with ${conversation.agent}, which this server does not have. It can only be read here.` }));
    if (conversation.approval) this.last?.ask(conversation.approval);
    if (!conversation.running) this.queue(conversation.queued);
    this.down(true);
    if (!conversation.running) return;
    const isBegun = conversation.messages.at(-1)?.role === "assistant"; // it goes on after a decision
    this.follow({ runId: conversation.running }, isBegun ? this.last : null);
    this.queue(conversation.queued);
  }

  /** Show what was said to the answer before, and is not heard. */
  queue(texts) {
    for (const text of texts) Object.assign(this.enqueue(text), { isSaid: true, isKept: true });
  }

  enqueue(text) {
    const { node } = userMessage({ content: text }, null, "Queued");
    const said = { text, node, isSaid: false, isKept: false };
    this.queued.push(said);
    this.node.append(node);
    this.down(true);
    return said;
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
    goOnFrom();
    const sent = attachments.map(({ name, data }) => ({ name, data }));
    const body = { message: text, conversation_id: this.id, replaces, agent, attachments: sent, model: this.agents.chosenModel };
    this.follow({ begin: { path: "/api/chat", body } });
  }

  /** Say something while the answer is made: the agent hears it before its next turn, or it is sent after the answer. */
  async interject(text) {
    const { runId } = this;
    const said = this.enqueue(text);
    try {
      if (!runId || this.commands.some(({ name }) => text.split(/\s/, 1)[0] === `/${name}`)) return; // a command is sent after the answer
      said.isSaid = true; // it may be heard before the server's reply is here
      await ask("POST", `/api/runs/${runId}/say`, { message: text });
      said.isKept = true;
    } catch (error) {
      said.isSaid = false;
      if (error.status === 409) return; // this agent does not listen meanwhile
      this.listeners.onError(error);
      if (!this.queued.includes(said)) return;
      this.hearQueued(said);
      this.listeners.onReturned(text, this.id);
    }
  }

  /** What the agent can be told to use by name, as /name. */
  get commands() {
    return this.agents.get(this.agent).commands ?? [];
  }

  /** It is heard, or given back. */
  hearQueued(said) {
    said.node.remove();
    this.queued = this.queued.filter((other) => other !== said);
  }

  /** Begin a conversation with what the agent wants to know; or begin it again, if that replaces its first message. */
  begin(inputs, text, replaces = null) {
    if (this.following) return;
    const agent = replaces ? undefined : this.start();
    if (replaces) this.cut(replaces);
    this.inputs = inputs;
    const lines = Object.entries(inputs).map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`);
    this.showUser({ content: text || lines.join("\n") });
    const where = replaces ? { conversation_id: this.id, replaces } : { agent };
    this.follow({ begin: { path: "/api/chat", body: { ...where, inputs, model: this.agents.chosenModel, ...(text ? { message: text } : {}) } } });
  }

  /** Change a message: the first one to an agent that has a form, in that form. */
  edit(message, node) {
    const agent = this.agents.get(this.agent);
    if (!this.inputs || !agent.inputs.length || node !== this.node.querySelector(".message")) return this.listeners.onEdit(message);
    const filled = form(agent, this.inputs, agent.takes_words ? message.content : "", {
      onInputs: async (inputs, text) => (await this.mayReplace(message.id)) && this.begin(inputs, text, message.id),
      onCancel: () => filled.replaceWith(node),
    });
    node.replaceWith(filled);
    filled.dataset.message = message.id;
    filled.querySelector("input, select, textarea").focus();
  }

  /** Whether an answer waits for a decision: what is said meanwhile would be refused. */
  get waits() {
    return !this.following && Boolean(this.last?.question?.classList.contains("request"));
  }

  /** Whether a message may be replaced: what tools have done since stays done. */
  async mayReplace(messageId) {
    const hasActed = this.since(messageId).some((child) => child.querySelector(".tool"));
    return !hasActed || confirm("Send it again? What was done stays done, and may be done twice.", "Send again");
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
    goOnFrom();
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

  /** Stop an answer that waits for a decision. */
  async stopWaiting(approval) {
    if (this.following) {
      this.next = () => this.stopWaiting(approval); // as in decide
      return;
    }
    goOnFrom();
    await ask("POST", `/api/runs/${approval.run_id}/stop`).then(() => this.open(this.id)).catch(this.listeners.onError);
  }

  /** Ask the question of an answer again. */
  async retry(answer) {
    const { message, node } = answer.asked;
    const isLast = answer === this.last;
    if (this.following) return;
    if (this.waits) return this.listeners.onQueued("This conversation waits for a decision. Decide first.");
    const hasActed = answer.hasActed || this.since(message.id).some((child) => child.querySelector(".tool"));
    const warnings = [isLast ? "" : " The messages after it will be replaced.", hasActed ? " What was done stays done, and may be done twice." : ""].join("");
    if (warnings && !(await confirm(`Answer again?${warnings}`, "Answer again"))) return;
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
      if (event.data.said) for (const said of this.queued) if (said.isSaid && event.data.said.includes(said.text)) this.hearQueued(said);
      answer.hear(event);
      if (event.name === "done") this.over(event.data, question);
      this.down(near);
    };
    try {
      await followAnswer({ ...source, onEvent: hear, onLost: () => answer.lost(), signal: following.signal });
    } catch (error) {
      if (["waiting", "unknown_command"].includes(error.code) && source.begin?.path === "/api/chat") return this.takeBack(source.begin.body, error);
      answer.fail(error.message);
      if (error.status === 401) this.listeners.onError(error);
    } finally {
      if (this.following === following) this.rest();
    }
  }

  /** A message was refused: it names no command, or an answer waits that this tab did not know of. */
  takeBack({ message, attachments = [] }, error) {
    this.listeners.onError(error);
    this.listeners.onReturned(message ?? "", this.id, attachments);
    if (this.id) this.open(this.id).catch(this.listeners.onError);
    else this.clear();
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
    byId("announcer").textContent = this.last.words || answer.response;
    const isWaiting = answer.status === "waiting";
    const kept = this.queued.filter((said) => (isWaiting ? said.isSaid : said.isKept));
    const heardLater = isWaiting ? kept : [];
    this.queued = this.queued.filter((said) => !kept.includes(said));
    if (!isWaiting) for (const said of kept) this.keepUnheard(said);
    this.rest(!this.asked && answer.status === "complete"); // what was said before a question does not answer it
    this.queued = [...heardLater, ...this.queued]; // the answer hears it when it goes on
  }

  /** The answer has ended before it heard something: that is kept with it, and the next one knows of it. */
  keepUnheard({ text, node }) {
    node.remove();
    this.last.interject(text);
    this.last.waiting.remove();
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
    for (const { node } of queued) node.remove();
    if (!queued.length) return;
    const text = queued.map((said) => said.text).join("\n\n");
    if (sendsQueued && !this.following) this.send(text);
    else this.listeners.onReturned(text, this.id);
  }

  /** Look away; the answer is made all the same. */
  leave() {
    const following = this.following;
    if (!following) this.queued = []; // it waits, and what was said to it is with the server
    if (!following) return;
    this.next = null;
    this.queued = this.queued.filter((said) => !said.isSaid); // the rest is with the server
    this.rest();
    following.abort();
  }

  showUser(message) {
    const shown = userMessage(message, (said) => this.edit(said, shown.node));
    this.question = { message, ...shown };
    this.node.append(shown.node);
  }

  /** A message and all after it. */
  since(messageId) {
    const said = [...this.node.children];
    const from = said.findIndex((child) => child.dataset.message === String(messageId));
    return from < 0 ? [] : said.slice(from);
  }

  cut(messageId) {
    for (const child of this.since(messageId)) child.remove();
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
      onStop: (approval) => this.stopWaiting(approval),
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
