// API keys: create, rotate, revoke. A secret is shown once and not kept, not even in the page.

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
    shown.querySelector("[data-copied]").textContent = "Copied";
  } catch {
    // Browsers allow clipboard access only over https and on localhost.
    shown.querySelector("[data-copied]").textContent = "Selected. Copy it with your keyboard.";
  }
}

/** The end of a day in the user's time zone. */
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
  const question = `Revoke ${name}? Programs that use it stop working immediately. This cannot be undone.`;
  if (!(await ask(question, { agree: "Revoke", danger: true }))) return;
  try {
    await call("POST", `/api-keys/${key}/revoke`);
    await renew();
    toast(`${name} revoked`);
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
