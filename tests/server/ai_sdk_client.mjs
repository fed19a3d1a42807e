// Reads our stream with the AI SDK's own chat: adds a task, asks to delete it, and answers the approval request.
import { AbstractChat, DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from "ai";

const { url, token, approve } = JSON.parse(process.env.SCENARIO);

class State {
  status = "ready";
  error = undefined;
  messages = [];
  pushMessage = (message) => void this.messages.push(message);
  popMessage = () => void this.messages.pop();
  replaceMessage = (index, message) => void (this.messages[index] = message);
  snapshot = (value) => structuredClone(value);
}

class Chat extends AbstractChat {}

const failures = [];
const chat = new Chat({
  id: "chat-1",
  state: new State(),
  transport: new DefaultChatTransport({ api: `${url}/api/ai-sdk`, headers: { Authorization: `Bearer ${token}` } }),
  sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  onError: (error) => failures.push(String(error)),
});

await chat.sendMessage({ text: "Add task buy milk" });
await chat.sendMessage({ text: "delete buy milk" });
const asking = structuredClone(chat.lastMessage.parts);
const tool = chat.lastMessage.parts.find((part) => part.state === "approval-requested");
await chat.addToolApprovalResponse({ id: tool.approval.id, approved: approve });
while (chat.status !== "ready" && chat.status !== "error") await new Promise((resolve) => setTimeout(resolve, 10));
console.log(JSON.stringify({ failures, status: chat.status, asking, messages: chat.messages }));
