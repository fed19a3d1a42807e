// The page: signs the user in, and puts its parts together.

import { ask, followUpdates } from "./api.js";
import { Agents } from "./agents.js";
import { Requests } from "./approvals.js";
import { Attachments } from "./attachments.js";
import { ConversationList } from "./conversation-list.js";
import { dismiss } from "./dialog.js";
import { byId, element, goOnFrom, icon } from "./element.js";
import { Palette } from "./palette.js";
import { TaskList } from "./task-list.js";
import { setUpTheme } from "./theme.js";
import { Transcript } from "./transcript.js";

for (const place of document.querySelectorAll("[data-icon]")) place.prepend(icon(place.dataset.icon));
setUpTheme();

const DRAFTS = "maverick-drafts"; // what is written and not sent, by conversation, for as long as the tab is open
const QUEUED = "maverick-queued"; // what is to be sent after an answer whose agent does not listen, for a reload

let watching = null;
let editing = null;
let shownUntil = null;
let hasTasks = false;

const agents = new Agents({ onChosen: () => transcript.welcome() });
const requests = new Requests({ onError: complain });
const transcript = new Transcript(agents, { onBusy: showBusy, onBegun: begun, onError: complain, onEdit: edit, onQueued: toast, onReturned: giveBack });
const conversations = new ConversationList({ onDeleted: startNew, onRenamed: showTitle, onError: complain });
const tasks = new TaskList({ onError: complain, onSaid: toast });
const attachments = new Attachments({ onError: complain });
const palette = new Palette(commands);

/** What the palette offers. */
function commands() {
  const open = (conversations.conversations ?? []).map(({ id, title }) => ({ label: title || "New conversation", action: () => (location.hash = encodeURIComponent(id)) }));
  const click = (id) => () => byId(id).click();
  return [
    { label: "New conversation", key: "Alt+N", action: startNew },
    { label: "Write a message", key: "/", action: () => byId("composer-text").focus() },
    { label: "Attach files", action: click("attach") },
    ...transcript.commands.map(({ name, description }) => ({ label: `/${name}: ${description}`, action: () => write(`/${name} `) })),
    ...(transcript.following ? [{ label: "Stop the answer", key: "Esc", action: () => transcript.stop() }] : []),
    { label: "Search conversations", action: () => focusIn("conversations", "search-conversations") },
    ...(hasTasks
      ? [
          { label: "Add a task", action: () => focusIn("tasks", "add-task-title") },
          { label: "Search tasks", action: () => focusIn("tasks", "search-tasks") },
          { label: "Undo the last change", action: click("undo") },
          { label: "Redo the last change", action: click("redo") },
        ]
      : []),
    { label: "Switch between light and dark", action: click("theme") },
    ...(byId("log-out").hidden ? [] : [{ label: "Sign out", action: signOut }]),
    ...open,
  ];
}

function focusIn(side, id) {
  if (getComputedStyle(byId(side)).position === "fixed") openSide(side);
  byId(id).focus();
}

async function start() {
  await useLink();
  try {
    const [me, about] = await Promise.all([ask("GET", "/api/me"), ask("GET", "/api/about"), agents.load()]);
    byId("who").textContent = me.name;
    byId("log-out").hidden = !about.sign_out || about.local;
    hasTasks = about.tasks;
    byId("app").classList.toggle("no-tasks", !hasTasks);
  } catch (error) {
    return showSignIn(error.status === 401 ? "" : error.message);
  }
  byId("sign-in").hidden = true;
  byId("app").hidden = false;
  byId("composer-text").focus();
  // The conversation comes first: what is said while the lists are still on their way stays.
  await Promise.all([openFromAddress(), conversations.load(), hasTasks ? tasks.load() : null]).catch(complain);
  requests.load().catch(complain);
  showTitle();
  watch();
}

/** Hear of changes for as long as somebody looks: a browser has few connections for all its tabs. */
function watch() {
  watching?.abort();
  if (document.hidden || byId("app").hidden) return;
  watching = new AbortController();
  followUpdates(hearUpdate, watching.signal).catch(complain);
}

/** Forget everything of whoever was signed in: what a page keeps out of sight can still be read in it. */
function forget() {
  watching?.abort();
  transcript.clear();
  conversations.clear();
  tasks.clear();
  agents.clear();
  requests.clear();
  attachments.take();
  for (const kept of [DRAFTS, QUEUED]) sessionStorage.removeItem(kept);
  stopEditing();
  dismiss();
  clearTimeout(shownUntil);
  byId("toast").hidden = true;
  byId("toast").replaceChildren();
  for (const id of ["who", "announcer"]) byId(id).textContent = "";
  byId("password").value = "";
  grow();
  showTitle();
  closeSides();
}

async function showSignIn(reason = "") {
  forget();
  byId("app").hidden = true;
  const about = await ask("GET", "/api/about").catch(() => ({ accounts: true, signup: false, tasks: false }));
  byId("sign-in").hidden = false;
  byId("sign-up").hidden = !about.signup;
  byId("sign-in-fields").hidden = about.local;
  byId("use-account").hidden = !about.local;
  byId("sign-in-hint").textContent = about.tasks ? "Sign in to see your tasks." : "Sign in to go on.";
  if (!about.accounts) byId("sign-in-hint").textContent = "This server uses an external sign-in service. Sign in through your organisation's page.";
  if (about.local) byId("sign-in-hint").textContent = "Open the address that maverick serve has printed last. It signs you in without a password, once.";
  byId("sign-in-error").textContent = about.local ? "" : reason;
  byId("name").focus();
}

async function signIn(path) {
  const credentials = { name: byId("name").value.trim(), password: byId("password").value };
  byId("sign-in-error").textContent = "";
  if (!credentials.name || credentials.password.length < 8) {
    byId("sign-in-error").textContent = "Enter a name and a password of at least 8 characters.";
    return;
  }
  try {
    await ask("POST", path, credentials);
    byId("password").value = "";
    await start();
  } catch (error) {
    byId("sign-in-error").textContent = error.message;
  }
}

/** The address that the server printed signs the person in who has it, once. */
async function useLink() {
  const [, token] = /^#token=([\w-]+)$/.exec(location.hash) ?? [];
  if (!token) return;
  history.replaceState(null, "", location.pathname); // so that it stays in no history
  await ask("POST", "/api/local-session", { token }).catch(() => null); // used before, perhaps by this browser
}

async function signOut() {
  const problem = await ask("POST", "/api/logout").then(() => "", (error) => `You may still be signed in: ${error.message}`);
  history.replaceState(null, "", location.pathname);
  byId("name").value = "";
  await showSignIn(problem);
}

function hearUpdate(what) {
  if (what !== "conversations" && hasTasks) tasks.load().catch(complain);
  if (what === "tasks") return;
  requests.load().catch(complain);
  conversations
    .load()
    .then((all) => transcript.refresh(all.find((conversation) => conversation.id === transcript.id)))
    .then(showTitle)
    .catch(complain);
}

async function openFromAddress() {
  const id = address();
  closeSides();
  if (!id) return startNew();
  if (id === transcript.id) return;
  stopEditing();
  try {
    await transcript.open(id);
  } catch (error) {
    if (error.status !== 404) complain(error);
    return startNew();
  }
  takeQueued();
  conversations.select(transcript.id);
  showTitle();
}

/** Keep what only this page knows of, for when it is loaded again. */
function keepQueued() {
  const texts = transcript.queued.filter((said) => !said.isSaid).map((said) => said.text);
  if (texts.length) sessionStorage.setItem(QUEUED, JSON.stringify({ id: transcript.id, texts }));
}

/** Queue it again; or give it back, if the answer is over. */
function takeQueued() {
  const { id, texts } = JSON.parse(sessionStorage.getItem(QUEUED) ?? "{}");
  sessionStorage.removeItem(QUEUED);
  if (id !== transcript.id) return;
  for (const text of texts) transcript.following ? transcript.enqueue(text) : giveBack(text, id);
}

function startNew() {
  transcript.clear();
  conversations.select(null);
  history.replaceState(null, "", location.pathname);
  stopEditing();
  showTitle();
  closeSides();
  byId("composer-text").focus();
}

function begun(id) {
  setDraft("");
  history.replaceState(null, "", `#${encodeURIComponent(id)}`);
  setDraft(byId("composer-text").value);
  conversations.select(id);
  conversations.load().then(showTitle).catch(complain);
}

function showTitle() {
  const title = transcript.id ? conversations.title(transcript.id) : "New conversation";
  byId("conversation-title").textContent = title;
  document.title = transcript.id ? `${title} · Maverick` : "Maverick";
}

function showBusy(busy) {
  byId("stop").hidden = !busy;
  showSend();
}

/** What is written while an answer is made can be sent, too. */
function showSend() {
  byId("send").hidden = transcript.following && !byId("composer-text").value.trim();
}

/** Put words that were not sent back, before what was written since in the same conversation. */
function giveBack(text, id, files = []) {
  const place = id ?? "";
  setDraft([text, drafts()[place]].filter(Boolean).join("\n\n"), place);
  if (place !== address()) return;
  attachments.put(files);
  if (editing === null) showDraft();
}

/** Begin a message, before what is written already. */
function write(text) {
  const input = byId("composer-text");
  input.value = `${text}${input.value}`;
  setDraft(input.value);
  grow();
  input.focus();
}

function address() {
  return decodeURIComponent(location.hash.slice(1));
}

function drafts() {
  return JSON.parse(sessionStorage.getItem(DRAFTS) ?? "{}");
}

function setDraft(text, place = address()) {
  sessionStorage.setItem(DRAFTS, JSON.stringify({ ...drafts(), [place]: text || undefined }));
}

function showDraft() {
  byId("composer-text").value = drafts()[address()] ?? "";
  grow();
}

async function send() {
  const text = byId("composer-text").value.trim();
  if (!text) return;
  if (transcript.waits) return toast("This answer waits for a decision. Decide first; your message is kept here.");
  const replaces = editing;
  if (replaces !== null && transcript.following) return toast("Wait for the answer, or stop it; then send this.");
  if (replaces !== null && !(await transcript.mayReplace(replaces))) return;
  if (replaces === null) setDraft("");
  stopEditing();
  if (transcript.following) transcript.interject(text);
  else transcript.send(text, replaces, attachments.take());
}

function edit(message) {
  editing = message.id;
  byId("editing").hidden = false;
  byId("composer-text").value = message.content;
  grow();
  byId("composer-text").focus();
}

/** Back to what was being written. */
function stopEditing() {
  editing = null;
  byId("editing").hidden = true;
  showDraft();
}

function grow() {
  const input = byId("composer-text");
  const lines = input.value.split("\n").reduce((sum, line) => sum + 1 + Math.floor(line.length / 70), 0);
  input.rows = Math.min(lines, 8);
  showSend();
}

function complain(error) {
  if (error.status === 401) return showSignIn(error.message);
  return toast(error.message);
}

function toast(message, button = null) {
  const node = byId("toast");
  node.replaceChildren(element("span", { text: message }));
  if (button) node.append(element("button", { type: "button", class: "plain small", text: button.label, onclick: button.action }));
  node.hidden = false;
  clearTimeout(shownUntil);
  shownUntil = setTimeout(() => (node.hidden = true), 6000);
}

function openSide(id) {
  byId(id).classList.add("shown");
  byId("shade").hidden = false;
  byId(id).querySelector("button, a, input")?.focus();
}

function closeSides() {
  for (const id of ["conversations", "tasks"]) byId(id).classList.remove("shown");
  byId("shade").hidden = true;
}

function hearKey(event) {
  if (event.key === "Escape" && !document.querySelector("dialog[open], .menu")) {
    if (!byId("shade").hidden) closeSides();
    else if (transcript.following) transcript.stop();
    else stopEditing();
  } else if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k" && !byId("app").hidden) instead(() => palette.open())(event);
  else if (event.altKey && event.code === "KeyN") instead(startNew)(event);
  else if (event.key === "/" && !event.target.closest("input, textarea")) instead(focusComposer)(event);
}

/** A listener that acts in place of the browser. */
const instead = (act) => (event) => {
  event.preventDefault();
  act();
};
const on = (id, name, listener) => byId(id).addEventListener(name, listener);
const focusComposer = () => byId("composer-text").focus();

on("sign-in-form", "submit", instead(() => signIn("/api/login")));
on("sign-up", "click", () => signIn("/api/signup"));
on("use-account", "click", () => {
  byId("use-account").hidden = true;
  byId("sign-in-fields").hidden = false;
  byId("name").focus();
});
on("log-out", "click", signOut);
document.querySelector(".skip").addEventListener("click", instead(focusComposer)); // what is after the # of the address is a conversation
on("new-conversation", "click", startNew);
on("composer", "submit", instead(send));
on("composer-text", "keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) instead(send)(event);
});
on("composer-text", "input", (event) => {
  if (editing === null) setDraft(event.target.value);
  grow();
});
on("open-palette", "click", () => palette.open());
for (const [id, act] of [["cancel-editing", stopEditing], ["stop", () => transcript.stop()]])
  on(id, "click", () => {
    act();
    goOnFrom();
  });
for (const side of ["conversations", "tasks"]) {
  on(`open-${side}`, "click", () => openSide(side));
  on(`close-${side}`, "click", closeSides);
}
on("shade", "click", closeSides);
document.addEventListener("keydown", hearKey);
document.addEventListener("visibilitychange", watch);
addEventListener("pagehide", keepQueued);
addEventListener("pageshow", (event) => event.persisted && location.reload());
addEventListener("hashchange", () => (location.hash.startsWith("#token=") ? start() : openFromAddress()));

start();
