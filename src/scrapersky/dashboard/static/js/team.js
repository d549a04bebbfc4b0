// Shared by the users and API keys pages: dialogs with forms, and refreshing the list.

import { part } from "./api.js";
import { put } from "./live.js";

/** Refreshes the list from the server. */
export async function renew() {
  const html = await part(location.pathname + location.search);
  const fresh = new DOMParser().parseFromString(html, "text/html").getElementById("list");
  if (fresh) put("list", fresh.innerHTML);
}

export function openDialog(id, whose = "") {
  const dialog = document.getElementById(id);
  const form = dialog.querySelector("form");
  form.reset();
  say(form, "");
  const name = dialog.querySelector("[data-whose]");
  if (name) name.textContent = whose;
  dialog.showModal();
  return dialog;
}

export function say(form, sentence) {
  const place = form.querySelector(".wrong");
  if (!place) return;
  place.textContent = sentence;
  place.hidden = !sentence;
}

/** Submits a form; errors are shown in the form. */
export async function submitting(form, deed) {
  const button = form.querySelector("button:not([type=button])");
  button.disabled = true;
  say(form, "");
  try {
    await deed(Object.fromEntries(new FormData(form)));
    return true;
  } catch (error) {
    say(form, error.message);
    return false;
  } finally {
    button.disabled = false;
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button?.dataset.open) openDialog(button.dataset.open);
  if (button?.matches("[data-close]")) button.closest("dialog").close();
});
