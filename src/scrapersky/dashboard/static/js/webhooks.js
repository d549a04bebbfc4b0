// Webhooks: add, edit, enable, test, delete. A secret is shown once and not kept, not even in the page.

import { call, part } from "./api.js";
import { put } from "./live.js";
import { ask, complain, toast } from "./messages.js";
import { openDialog, submitting } from "./team.js";
import { tryOut } from "./webhooks_test.js";

const form = document.querySelector('[data-form="endpoint"]');
const secret = document.getElementById("secret");
const field = document.getElementById("the-secret");
let changed = null;

/** Refreshes the endpoints, and on a detail page the deliveries. */
async function renew() {
  const fresh = new DOMParser().parseFromString(await part(location.href), "text/html");
  for (const id of ["list", "table"]) {
    const part = fresh.getElementById(id);
    if (part) put(id, part.innerHTML);
  }
}

function edit(endpoint = null) {
  changed = endpoint;
  openDialog("endpoint");
  form.querySelector("[data-title]").textContent = endpoint ? "Edit endpoint" : "New endpoint";
  form.querySelector("[data-agree]").textContent = endpoint ? "Save" : "Add";
  form.elements.url.value = endpoint?.url ?? "";
  form.elements.description.value = endpoint?.description ?? "";
  const told = endpoint ? JSON.parse(endpoint.events) : [];
  for (const each of form.querySelectorAll("[name=events]")) each.checked = told.includes(each.value);
}

async function store({ url, description }) {
  const events = new FormData(form).getAll("events");
  if (!events.length) throw new Error("Select at least one event.");
  const wanted = { url, events, description: description.trim() || null };
  if (changed) await call("PATCH", `/webhooks/${changed.endpoint}`, wanted);
  else return (await call("POST", "/webhooks", wanted)).secret;
}

function showOnce(made) {
  openDialog("secret");
  secret.querySelector("[data-copied]").textContent = "";
  field.value = made;
  field.select();
}

async function copy() {
  field.select();
  const told = secret.querySelector("[data-copied]");
  try {
    await navigator.clipboard.writeText(field.value);
    told.textContent = "Copied";
  } catch {
    // Browsers allow clipboard access only over https and on localhost.
    told.textContent = "Selected. Copy it with your keyboard.";
  }
}

async function toggle({ endpoint, active }) {
  const off = active !== undefined;
  const question = "Disable this endpoint? Events are no longer sent, and pending deliveries are skipped.";
  if (off && !(await ask(question, { agree: "Disable" }))) return;
  await call("PATCH", `/webhooks/${endpoint}`, { is_active: !off });
  await renew();
  toast(off ? "Endpoint disabled" : "Endpoint enabled");
}

async function renewSecret({ endpoint }) {
  const question = "Rotate the secret? The previous one stays valid for 24 hours.";
  if (!(await ask(question, { agree: "Rotate" }))) return;
  showOnce((await call("POST", `/webhooks/${endpoint}/secret`)).secret);
}

async function remove({ endpoint, url }) {
  const question = `Delete ${url.slice(0, 200)} with all its deliveries? This cannot be undone.`;
  if (!(await ask(question, { agree: "Delete", danger: true }))) return;
  await call("DELETE", `/webhooks/${endpoint}`);
  if (document.querySelector("#list[data-alone]")) return location.assign("/webhooks");
  await renew();
  toast("Endpoint deleted");
}

const ACTS = { new: () => edit(), edit, test: tryOut, switch: toggle, renew: renewSecret, delete: remove };

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button");
  if (button?.matches("[data-copy]")) copy();
  const act = ACTS[button?.dataset.hook];
  if (!act) return;
  try {
    await act(button.closest("[data-endpoint]")?.dataset);
  } catch (error) {
    complain(error);
  }
});

document.addEventListener("submit", async (event) => {
  if (event.target !== form) return;
  event.preventDefault();
  let made = null;
  if (!(await submitting(form, async (given) => { made = await store(given); }))) return;
  form.closest("dialog").close();
  if (made) return showOnce(made);
  toast("Saved");
  renew().catch(complain);
});

secret.addEventListener("close", () => {
  field.value = "";
  renew().catch(complain);
});
document.getElementById("trying").addEventListener("close", () => renew().catch(complain));
