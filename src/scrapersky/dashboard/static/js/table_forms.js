// Forms of a table: dialogs, date ranges in the user's time zone, additions to the do-not-contact list.

import { call } from "./api.js";
import { complain, toast } from "./messages.js";
import { renew } from "./table_acts.js";

function open(id) {
  document.getElementById(id)?.showModal();
}

/** Converts local times to UTC for the URL. */
function convertToUtc(form) {
  for (const field of form.querySelectorAll('input[type="datetime-local"]')) {
    if (!field.value) continue;
    const sent = document.createElement("input");
    sent.type = "hidden";
    sent.name = field.name;
    sent.value = new Date(field.value).toISOString();
    field.disabled = true;
    form.append(sent);
  }
}

function tellRefused(form, lines) {
  const list = form.querySelector("[data-refused]");
  const refused = lines.filter((each) => each.error);
  list.hidden = refused.length === 0;
  list.replaceChildren(...refused.slice(0, 50).map((each) => {
    const line = document.createElement("li");
    line.textContent = `${each.given}: ${each.error}`;
    return line;
  }));
  return refused;
}

async function addSuppressions(form) {
  const reason = form.elements.reason.value.trim() || null;
  const lines = form.elements.lines.value.split("\n").map((each) => each.trim()).filter(Boolean);
  try {
    const answer = await call("POST", "/suppressions", { items: lines.map((value) => ({ value, reason })) });
    toast(`${answer.added} added, ${answer.already_there} already listed, ${answer.refused} rejected`, { tone: answer.refused ? "bad" : "good" });
    const refused = tellRefused(form, answer.lines);
    form.elements.lines.value = refused.map((each) => each.given).join("\n");
    if (!refused.length) form.closest("dialog").close();
    await renew();
  } catch (error) {
    complain(error);
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button?.dataset.opens) open(button.dataset.opens);
  if (button?.matches("[data-closes]")) button.closest("dialog").close();
});
document.addEventListener("submit", (event) => {
  if (event.target.matches("[data-dates]")) convertToUtc(event.target);
  if (!event.target.matches("[data-add-suppressions]")) return;
  event.preventDefault();
  addSuppressions(event.target);
});
