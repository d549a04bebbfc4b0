// API keys: make, rotate, revoke. A key itself is shown once and kept nowhere, not in the page either.

import { call } from "./api.js";
import { ask, complain, toast } from "./messages.js";
import { openDialog, renew, submitting } from "./team.js";

const shown = document.getElementById("shown-key");
const field = document.getElementById("the-key");
let chosen = null;

function showOnce(key) {
  openDialog("shown-key");
  shown.querySelector("[data-copied]").textContent = "";
  field.value = key;
  field.select();
}

async function copy() {
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
    shown.querySelector("[data-copied]").textContent = "Copied.";
  } catch {
    // Browsers allow it over https and on this machine only.
    shown.querySelector("[data-copied]").textContent = "It is selected; copy it with your keyboard.";
  }
}

/** The last moment of a day where the person is. */
const endOf = (day) => new Date(`${day}T23:59:59`).toISOString();

const FORMS = {
  "new-key": async ({ name, role, user_id, expires }) => {
    const wanted = { name, role, user_id };
    if (expires) wanted.expires_at = endOf(expires);
    return (await call("POST", "/api-keys", wanted)).key;
  },
  rotate: async ({ grace_seconds }) => {
    const wanted = { grace_seconds: Number(grace_seconds) };
    return (await call("POST", `/api-keys/${chosen.key}/rotate`, wanted)).key;
  },
};

async function revoke({ key, name }) {
  const question = `Revoke ${name}? Whatever uses it is refused at once, and it cannot be taken back.`;
  if (!(await ask(question, { agree: "Revoke", danger: true }))) return;
  try {
    await call("POST", `/api-keys/${key}/revoke`);
    await renew();
    toast(`${name} opens nothing any more.`);
  } catch (error) {
    complain(error);
  }
}

document.addEventListener("submit", async (event) => {
  const deed = FORMS[event.target.dataset.form];
  if (!deed) return;
  event.preventDefault();
  let made = "";
  if (!(await submitting(event.target, async (given) => { made = await deed(given); }))) return;
  event.target.closest("dialog").close();
  showOnce(made);
});

shown.addEventListener("close", () => {
  field.value = "";
  renew().catch(complain);
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button?.matches("[data-copy]")) copy();
  if (!button?.dataset.act) return;
  chosen = button.closest("[data-key]").dataset;
  if (button.dataset.act === "rotate") openDialog("rotate-key", chosen.name);
  else revoke(chosen);
});
