// Imports a list and shows the result of each line.

import { call } from "./api.js";
import { complain } from "./messages.js";

const SHOWN = 500;
const RESULTS = {
  invalid: ["Invalid", "bad"],
  created: ["Added", "good"],
  exists: ["Already stored", "plain"],
  duplicate: ["Duplicate", "poor"],
};
const form = document.getElementById("import");
let told = { kind: "", rows: [] };

function cell(content, className = "") {
  const made = document.createElement("td");
  made.className = className;
  made.append(content);
  return made;
}

function text(said) {
  const made = document.createElement("bdi");
  made.textContent = said;
  return made;
}

function given(row) {
  if (!row.id) return text(row.input);
  const link = document.createElement("a");
  link.href = `/${told.kind}/${row.id}`;
  link.append(text(row.input));
  return link;
}

function lineOf(row) {
  const [label, tone] = RESULTS[row.status];
  const badge = document.createElement("span");
  badge.className = `badge ${tone}`;
  badge.textContent = label;
  const why = row.error ?? (row.queued ? "Queued" : "Stored");
  const line = document.createElement("tr");
  line.append(cell(String(row.line), "number"), cell(given(row)), cell(badge), cell(text(why)));
  return line;
}

function showLines(status) {
  const rows = told.rows.filter((each) => !status || each.status === status);
  document.getElementById("lines-told").replaceChildren(...rows.slice(0, SHOWN).map(lineOf));
  const more = document.getElementById("not-shown");
  more.hidden = rows.length <= SHOWN;
  more.textContent = `First ${SHOWN} of ${rows.length.toLocaleString("en")} lines`;
  for (const each of document.querySelectorAll("#which button")) each.setAttribute("aria-pressed", String(each.value === status));
}

function choice(status, label, count) {
  const made = document.createElement("button");
  made.type = "button";
  made.value = status;
  made.textContent = `${label} (${count.toLocaleString("en")})`;
  return made;
}

function tell(answer) {
  const count = (status) => told.rows.filter((each) => each.status === status).length;
  const kinds = Object.entries(RESULTS).filter(([status]) => count(status));
  document.getElementById("counts").textContent =
    `${answer.created} added, ${answer.existing} already stored, ${answer.duplicates} duplicate, ` +
    `${answer.invalid} invalid; ${answer.queued} queued.`;
  document.getElementById("which").replaceChildren(
    choice("", "All", told.rows.length),
    ...kinds.map(([status, [label]]) => choice(status, label, count(status))),
  );
  document.getElementById("result").hidden = false;
  showLines(answer.invalid ? "invalid" : "");
  document.getElementById("result").scrollIntoView({ block: "nearest" });
}

async function handIn() {
  const { kind, queue, lines, file } = form.elements;
  const list = file.files[0] ?? lines.value;
  if (typeof list === "string" && !list.trim()) throw new Error("Paste a list or choose a file.");
  const path = `/${kind.value}/import-csv?queue=${queue.value}`;
  const answer = await call("POST", path, list, { type: "text/csv" });
  told = { kind: kind.value, rows: answer.results };
  tell(answer);
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = form.querySelector("button.main");
  button.disabled = true;
  try {
    await handIn();
  } catch (error) {
    complain(error);
  } finally {
    button.disabled = false;
  }
});
form.addEventListener("change", (event) => {
  if (event.target.name === "kind") form.elements.lines.placeholder = event.target.dataset.example;
});
document.getElementById("which").addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button) showLines(button.value);
});
