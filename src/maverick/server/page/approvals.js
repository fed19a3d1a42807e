// What waits for this user's decision in other users' conversations.

import { ask } from "./api.js";
import { byId, element } from "./element.js";
import { label } from "./agents.js";
import { shown } from "./output.js";

const AGAIN = 30000;

/** A question whether a tool may be called, with what. */
export function approvalCard(approval, onDecide) {
  const reason = element("input", { type: "text", class: "reason", maxlength: "2000", placeholder: "Reason, if you deny it", "aria-label": "Reason" });
  const decide = (approved) => {
    for (const control of card.querySelectorAll("button, input")) control.disabled = true;
    onDecide(approved, reason.value.trim());
  };
  const card = element(
    "div",
    { class: "request card", role: "group", "aria-label": "Approval" },
    element("p", { class: "request-title", text: `${label(approval.tool_name)}?` }),
    approval.question.startsWith("May ") ? null : element("p", { class: "quiet", text: approval.question }),
    element("div", { class: "output" }, shown(approval.arguments)),
    approval.user_id ? element("p", { class: "quiet", text: `Asked by ${approval.agent} for ${approval.user_id}.` }) : null,
    approval.may_decide
      ? element(
          "div",
          { class: "decision" },
          element("button", { type: "button", class: "primary", text: "Approve", onclick: () => decide(true) }),
          element("button", { type: "button", class: "plain", text: "Deny", onclick: () => decide(false) }),
          reason,
        )
      : element("p", { class: "quiet", text: "Somebody else has to approve this. The answer goes on when they have." }),
  );
  return card;
}

/** The list at the left; looked at again now and then, since nobody tells this page of what others do. */
export class Requests {
  constructor({ onError }) {
    this.node = byId("requests");
    this.listeners = { onError };
    setInterval(() => this.active && !document.hidden && this.load().catch(() => null), AGAIN);
  }

  async load() {
    this.active = true;
    const { approvals } = await ask("GET", "/api/approvals");
    const others = approvals.filter((approval) => approval.user_id);
    if (others.map(({ id }) => id).join() === this.ids && this.ids) return;
    this.ids = others.map(({ id }) => id).join();
    this.node.hidden = !others.length;
    this.node.replaceChildren(element("h2", { text: "Waiting for you" }), ...others.map((approval) => approvalCard(approval, (approved, reason) => this.decide(approval, approved, reason))));
  }

  clear() {
    this.active = false;
    this.ids = "";
    this.node.hidden = true;
    this.node.replaceChildren();
  }

  async decide({ id }, approved, reason) {
    try {
      await ask("POST", `/api/approvals/${encodeURIComponent(id)}/${approved ? "approve" : "deny"}`, approved ? undefined : { reason });
    } catch (error) {
      this.listeners.onError(error);
    }
    this.ids = "";
    await this.load().catch(this.listeners.onError);
  }
}
