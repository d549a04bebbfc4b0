// Start box: previews how each entry is interpreted, submits the entries and shows the results.

import { call, part } from "./api.js";
import { complain } from "./messages.js";

const PREVIEW_AFTER_MS = 400;
const PREVIEWED_CHARACTERS = 1500;
const WHERE = { domain: (each) => `/domains/${each.id}`, page: (each) => `/pages/${each.id}`, sitemap: (each) => (each.job_id ? `/jobs/${each.job_id}` : `/sitemap-files/${each.id}`) };

const form = document.getElementById("start");
const box = document.getElementById("start-text");
const preview = document.getElementById("start-preview");
const told = document.getElementById("started");
const button = form.querySelector("button");
const ours = new Set();
let asked = 0;
let timer;

function grow() {
  box.rows = Math.min(Math.max(box.value.split("\n").length, 1), 10);
}

/** Previews complete lines only: a partial URL would be misinterpreted. */
function beginning(text) {
  if (text.length <= PREVIEWED_CHARACTERS) return text;
  const cut = text.slice(0, PREVIEWED_CHARACTERS);
  return cut.slice(0, cut.lastIndexOf("\n") + 1) || cut;
}

async function showPreview() {
  const number = ++asked;
  const text = beginning(box.value);
  let html = "";
  if (text.trim()) {
    try {
      html = await part(`/start/preview?text=${encodeURIComponent(text)}`);
    } catch {
      // The preview is optional; errors are reported on submit.
    }
  }
  if (number === asked) preview.innerHTML = html;
}

function entry(each) {
  const line = document.createElement("li");
  const good = each.kind !== null && each.id !== null;
  const name = document.createElement(good ? "a" : "bdi");
  if (good) name.href = WHERE[each.kind](each);
  name.className = "entry";
  name.textContent = each.input;
  name.dir = "auto";
  const says = document.createElement("span");
  says.textContent = each.says;
  if (each.status === "invalid") line.className = "wrong";
  line.append(name, says);
  return line;
}

function summary(answer) {
  const parts = [[answer.queued, "started"], [answer.existing, "already stored"], [answer.duplicates, "duplicate"], [answer.invalid, "rejected"]];
  return `${parts.filter(([count]) => count).map(([count, word]) => `${count.toLocaleString("en")} ${word}`).join(", ")}.`;
}

function tell(answer) {
  const list = document.createElement("ul");
  list.append(...answer.results.map(entry));
  const text = document.createElement("p");
  text.textContent = summary(answer);
  told.replaceChildren(...(answer.results.length > 1 ? [text, list] : [list]));
}

/** Keeps the rejected entries in the box for correction. */
function clear(answer) {
  box.value = answer.results.filter((each) => each.status === "invalid").map((each) => each.input).join("\n");
  asked += 1;
  clearTimeout(timer);
  preview.replaceChildren();
  grow();
}

function mark() {
  for (const line of document.querySelectorAll("#newest [data-domain]")) {
    line.classList.toggle("ours", ours.has(line.dataset.domain));
  }
}

async function start(event) {
  event.preventDefault();
  if (button.disabled) return;
  if (!box.value.trim()) {
    box.focus();
    return;
  }
  button.disabled = true;
  try {
    const answer = await call("POST", "/start", { text: box.value, queue: true });
    for (const each of answer.results) if (each.kind === "domain" && each.id) ours.add(each.id);
    tell(answer);
    clear(answer);
    mark();
  } catch (error) {
    complain(error);
  } finally {
    button.disabled = false;
  }
}

form.addEventListener("submit", start);
document.getElementById("newest").addEventListener("renewed", mark);
box.addEventListener("input", () => {
  grow();
  clearTimeout(timer);
  timer = setTimeout(showPreview, PREVIEW_AFTER_MS);
});
box.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) start(event);
});
