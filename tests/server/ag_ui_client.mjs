// Reads our AG-UI stream with the official client: adds a task, asks to delete it, and resumes the interrupt.
import { HttpAgent } from "@ag-ui/client";

const { url, token, approve } = JSON.parse(process.env.SCENARIO);
const seen = [];

async function run(agent, options = {}) {
  const events = [];
  await agent.runAgent(options, { onEvent: ({ event }) => void events.push(event) });
  seen.push({ types: events.map((event) => event.type), last: events.at(-1) });
  return events;
}

const agent = new HttpAgent({ url: `${url}/api/ag-ui`, headers: { Authorization: `Bearer ${token}` }, threadId: "thread-1" });
agent.addMessage({ id: "m1", role: "user", content: "Add task buy milk" });
await run(agent);
agent.addMessage({ id: "m2", role: "user", content: "delete buy milk" });
const asked = await run(agent);
const [interrupt] = asked.at(-1).outcome.interrupts;
await run(agent, { resume: [{ interruptId: interrupt.id, status: approve ? "resolved" : "cancelled" }] });
console.log(JSON.stringify({ seen, interrupt, messages: agent.messages }));
