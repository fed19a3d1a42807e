// What is sent with a message: chosen, dropped or pasted.

import { byId, element, goOnFrom, icon, iconButton } from "./element.js";

const MOST = 20;
const NOT_TEXT = /\.(png|jpe?g|gif|webp|pdf)$/i;
const LARGEST = 20 * 1024 * 1024; // of all together, before the server has its say

/** Holds the files for the next message. */
export class Attachments {
  constructor({ onError }) {
    this.node = byId("attachments");
    this.onError = onError;
    this.files = [];
    byId("attach").addEventListener("click", () => byId("attach-files").click());
    byId("attach-files").addEventListener("change", (event) => {
      this.add(event.target.files);
      event.target.value = "";
    });
    const chat = document.querySelector(".chat");
    chat.addEventListener("dragover", (event) => event.preventDefault());
    chat.addEventListener("drop", (event) => {
      event.preventDefault();
      this.add(event.dataTransfer.files);
    });
    byId("composer-text").addEventListener("paste", (event) => this.add(event.clipboardData.files));
  }

  async add(files) {
    for (const file of [...files]) {
      const size = this.files.reduce((sum, { size }) => sum + size, file.size);
      if (this.files.length >= MOST || size > LARGEST) {
        this.onError(new Error(`${file.name} is not attached: up to ${MOST} files of 20 MB together can be sent.`));
        continue;
      }
      if (!(await isTaken(file))) {
        this.onError(new Error(`${file.name} is not attached: only PNG, JPEG, GIF and WebP images, PDFs and texts can be sent.`));
        continue;
      }
      this.files.push({ name: file.name || "pasted image", size: file.size, data: await encoded(file) });
    }
    this.show();
  }

  /** Take files back that were not sent. */
  put(files) {
    this.files.push(...files.map((file) => ({ ...file, size: file.data.length * 0.75 })));
    this.show();
  }

  /** Give the files away. */
  take() {
    const { files } = this;
    this.files = [];
    this.show();
    return files;
  }

  show() {
    this.node.hidden = !this.files.length;
    this.node.replaceChildren(
      ...this.files.map((file) =>
        element("li", { class: "chip" }, icon("clip"), element("span", { text: file.name }), iconButton("close", `Remove ${file.name}`, () => {
          this.files = this.files.filter((other) => other !== file);
          this.show();
          goOnFrom();
        })),
      ),
    );
  }
}

/** Whether the server takes a file, by its first bytes as there. */
async function isTaken(file) {
  const bytes = new Uint8Array(await file.slice(0, 8000).arrayBuffer());
  const head = String.fromCharCode(...bytes.slice(0, 12));
  if (/^(\x89PNG\r\n\x1a\n|\xff\xd8\xff|GIF8[79]a|RIFF....WEBP|%PDF-)/s.test(head)) return true;
  return bytes.length > 0 && !bytes.includes(0) && !NOT_TEXT.test(file.name);
}

function encoded(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
