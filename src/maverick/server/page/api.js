// The server: requests, and streams of events that go on after the connection is lost.

import { byId } from "./element.js";

/** A request that was refused, with the server's sentence. */
export class Refused extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** A path of the server, wherever the page is mounted in another one. */
export function here(path) {
  return path.replace(/^\//, "");
}

const OFFLINE = "The server cannot be reached. Check your connection and try again.";

/** A key that makes a request safe to send again. */
export function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Make a request; gives what the server answers, or throws Refused. */
export async function ask(method, path, body, headers = {}) {
  const response = await fetched(path, { method, body, headers });
  return response.status === 204 ? null : response.json();
}

async function fetched(path, { method = "GET", body, headers = {}, signal }) {
  let response;
  try {
    response = await fetch(here(path), {
      method,
      signal,
      credentials: "same-origin",
      headers: body === undefined ? headers : { "Content-Type": "application/json", ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "offline", OFFLINE);
  }
  if (response.ok) return response;
  const told = await response.json().catch(() => null);
  throw new Refused(response.status, told?.error?.code ?? "refused", told?.error?.message ?? "Something went wrong.");
}

const SILENCE = 40000; // milliseconds; the server says something every 15 seconds, so the connection is gone

/** Read a response as server-sent events, and call a function with each. */
async function readEvents(response, onEvent) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    let silent;
    const silence = new Promise((_, reject) => (silent = setTimeout(() => reject(new Refused(0, "offline", OFFLINE)), SILENCE)));
    const { value, done } = await Promise.race([reader.read(), silence]).finally(() => clearTimeout(silent));
    if (done) return;
    waiting += value;
    const blocks = waiting.split("\n\n");
    waiting = blocks.pop();
    for (const block of blocks) {
      const fields = Object.fromEntries(
        block.split("\n").filter((line) => line && !line.startsWith(":")).map((line) => {
          const at = line.indexOf(":");
          return [line.slice(0, at), line.slice(at + 1).trimStart()];
        }),
      );
      if (fields.data !== undefined) onEvent({ name: fields.event, id: fields.id, data: JSON.parse(fields.data) });
    }
  }
}

/**
 * Follow an answer to its end, whatever happens to the connection: events are neither missed nor seen twice.
 *
 * `begin` is the request that starts the answer, or null to follow one by its `runId`.
 */
export async function followAnswer({ begin = null, runId = null, onEvent, onLost, signal }) {
  const key = newKey();
  const who = {};
  let last = null;
  let over = false;
  const hear = (event) => {
    last = event.id;
    if (event.name === "start") runId = event.data.run_id;
    over = event.name === "done";
    onEvent(event);
  };
  for (let attempt = 0; !over; attempt++) {
    if (attempt) {
      onLost(attempt);
      lose(who);
      await pause(Math.min(500 * 2 ** (attempt - 1), 8000), signal).finally(() => signal.aborted && find(who));
    }
    try {
      const headers = { Accept: "text/event-stream", ...(last ? { "Last-Event-ID": last } : {}) };
      const response = runId
        ? await fetched(`/api/runs/${runId}/events?format=page`, { headers, signal })
        : await fetched(`${begin.path}?format=page`, { method: "POST", body: begin.body, headers: { ...headers, "Idempotency-Key": key }, signal });
      find(who);
      if (response.status === 204) return;
      await readEvents(response, (event) => {
        attempt = 0;
        hear(event);
      });
    } catch (error) {
      if (error.name === "AbortError") return;
      if (error instanceof Refused && error.status >= 400 && error.status < 500) {
        find(who);
        throw error;
      }
      if (attempt >= 8) find(who);
      if (attempt >= 8) throw error instanceof Refused ? error : new Refused(0, "offline", OFFLINE);
    }
  }
}

/** Hear of changes made anywhere, for as long as the page is open. */
export async function followUpdates(onUpdate, signal) {
  const who = {};
  signal.addEventListener("abort", () => find(who));
  for (let attempt = 0; !signal.aborted; attempt++) {
    try {
      const response = await fetched("/api/updates", { headers: { Accept: "text/event-stream" }, signal });
      find(who);
      await readEvents(response, (event) => {
        attempt = 0;
        onUpdate(event.name);
      });
    } catch (error) {
      if (error.name === "AbortError") return;
      if (error instanceof Refused && error.status === 401) throw error; // the session has ended, in another tab perhaps
    }
    if (signal.aborted) return;
    lose(who);
    await pause(Math.min(500 * 2 ** attempt, 15000), signal).catch(() => null);
  }
}

/** Wait, unless the network is back before. */
function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    addEventListener("online", resolve, { once: true, signal });
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("left", "AbortError"));
    });
  });
}

const lost = new Set();

/** A connection is lost: that is shown at once, and until all are found again. */
function lose(who) {
  lost.add(who);
  byId("connection").hidden = false;
}

function find(who) {
  lost.delete(who);
  byId("connection").hidden = lost.size === 0;
}

addEventListener("offline", () => lose(window));
addEventListener("online", () => find(window));
