// Questions whether to go ahead: in this user's conversations, and those of others that wait for this user.

import { ask } from "./api.js";
import { callPreview } from "./call-preview.js";
import { byId, element, icon } from "./element.js";
import { editable } from "./output.js";

const AGAIN = 30000;

/** A question whether a tool may be called, with what: its arguments can be changed first. */
export function approvalCard(approval, onDecide, onStop = null) {
  const { question, verb, details } = callPreview(approval);
  const reason = element("input", { type: "text", class: "reason", maxlength: "2000", placeholder: "Reason, if you decline", "aria-label": "Reason", onkeydown: (event) => {
    if (event.key !== "Enter" || event.isComposing || !reason.value.trim()) return;
    event.preventDefault();  // the composer has the focus before the key has done its work
    decide(false);
  } });
  const given = element("div", { class: "output" }, ...details);
  const problem = element("p", { class: "error", role: "alert" });
  let fields = null;
  const decide = (approved) => {
    let edited;
    try {
      edited = approved ? fields?.read() : undefined;
    } catch (error) {
      problem.textContent = error.message;
      return;
    }
    for (const control of card.querySelectorAll("button, input, textarea")) control.disabled = true;
    onDecide(approved, { reason: reason.value.trim(), arguments: edited });
  };
  const change = element("button", { type: "button", class: "plain", text: "Change first", onclick: () => {
    fields = editable(approval.arguments);
    given.replaceChildren(fields.node);
    change.remove();
    fields.node.querySelector("input, textarea")?.focus();
  } });
  const card = element(
    "div",
    { class: "request card", role: "group", "aria-label": "Approval" },
    element("p", { class: "request-title" }, icon("warn"), question),
    approval.question.startsWith("May ") ? null : element("p", { class: "quiet", text: approval.question }),
    details.length ? given : null,
    approval.user_id ? element("p", { class: "quiet", text: `Asked by ${approval.agent} for ${approval.user_id}.` }) : null,
    problem,
    approval.may_decide
      ? element(
          "div",
          { class: "decision" },
          element("button", { type: "button", class: "primary", text: verb, onclick: () => decide(true) }),
          element("button", { type: "button", class: "plain", text: "Don’t", onclick: () => decide(false) }),
          details.length ? change : null,
          reason,
        )
      : element("p", { class: "quiet", text: "Somebody else has to approve this. The answer goes on when they have." }),
    onStop && element("div", { class: "decision" }, element("button", { type: "button", class: "plain small", text: "Stop the answer", onclick: onStop })),
  );
  return card;
}

/** A question about tasks, which the tool itself asks. */
export function confirmationCard(approval, onDecide) {
  const decide = (approved) => {
    for (const button of card.querySelectorAll("button")) button.disabled = true;
    onDecide(approved, {});
  };
  const card = element(
    "div",
    { class: "approval", role: "group", "aria-label": "Confirmation" },
    icon("warn"),
    element("span", { text: `${approval.action || "Go ahead"}?` }),
    element("button", { type: "button", class: "danger", text: approval.action || "Confirm", onclick: () => decide(true) }),
    element("button", { type: "button", class: "plain", text: "Keep", onclick: () => decide(false) }),
  );
  return card;
}

/** A question that is asked in one of the user's own conversations, where it is decided. */
function ownRequest(approval) {
  return element("a", { class: "plain own-request", href: `#${encodeURIComponent(approval.conversation_id)}` }, icon("warn"), element("span", { text: callPreview(approval).question }));
}

/** The list at the left; looked at again now and then, since this page is not told what others do. */
export class Requests {
  constructor({ onError }) {
    this.node = byId("requests");
    this.listeners = { onError };
    setInterval(() => this.active && !document.hidden && this.load().catch(() => null), AGAIN);
  }

  async load() {
    this.active = true;
    const asked = (this.asked = {});
    const { approvals } = await ask("GET", "/api/approvals");
    if (this.asked !== asked) return; // it was asked again, or signed out, in the meantime
    if (approvals.map(({ id }) => id).join() === this.ids && this.ids) return;
    this.ids = approvals.map(({ id }) => id).join();
    this.node.hidden = !approvals.length;
    this.node.replaceChildren(element("h2", { text: "Waiting for you" }), ...approvals.map((approval) => this.item(approval)));
  }

  item(approval) {
    return approval.user_id ? approvalCard(approval, (approved, details) => this.decide(approval, approved, details)) : ownRequest(approval);
  }

  clear() {
    this.active = false;
    this.asked = null;
    this.ids = "";
    this.node.hidden = true;
    this.node.replaceChildren();
  }

  async decide({ id }, approved, details) {
    try {
      await ask("POST", `/api/approvals/${encodeURIComponent(id)}/${approved ? "approve" : "deny"}`, decision(approved, details));
    } catch (error) {
      this.listeners.onError(error);
    }
    this.ids = "";
    await this.load().catch(this.listeners.onError);
  }
}

/** The body of a decision. */
export function decision(approved, { reason = "", arguments: edited }) {
  if (!approved) return { reason };
  return edited === undefined ? undefined : { arguments: edited };
}
