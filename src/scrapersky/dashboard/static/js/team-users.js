// Users: create, change role, set password, deactivate and reactivate.

import { call } from "./api.js";
import { ask, complain, toast } from "./messages.js";
import { openDialog, renew, submitting } from "./team.js";

const LETTERS = "abcdefghijkmnpqrstuvwxyz23456789";
let chosen = null;

/** Twenty random letters in readable groups. */
function madeUp() {
  const numbers = crypto.getRandomValues(new Uint8Array(20));
  const letters = [...numbers].map((number) => LETTERS[number % LETTERS.length]).join("");
  return letters.match(/.{5}/g).join("-");
}

const userOf = (element) => element.closest("[data-user]").dataset;

async function setRole(id, name, role, before) {
  try {
    await call("POST", `/users/${id}/role`, { role });
    await renew();
    const undo = before && { act: "Undo", onAct: () => setRole(id, name, before) };
    toast(`${name} is now ${role}`, undo || {});
  } catch (error) {
    complain(error);
    await renew().catch(complain);
  }
}

function askPassword({ user, name }) {
  chosen = { user, name };
  const dialog = openDialog("set-password", name);
  const field = dialog.querySelector('[name="password"]');
  field.value = madeUp();
  field.select();
}

async function change(act, { user, name }) {
  const question = `Deactivate ${name}? Their keys, tokens and sessions stop working immediately. Rows they created are kept.`;
  if (act === "deactivate" && !(await ask(question, { agree: "Deactivate", danger: true }))) return;
  try {
    await call("POST", `/users/${user}/${act}`);
    await renew();
    toast(act === "deactivate" ? `${name} deactivated` : `${name} reactivated`);
  } catch (error) {
    complain(error);
  }
}

const FORMS = {
  "new-user": async ({ name, role }) => {
    await call("POST", "/users", { name, role });
    toast(`User ${name} created`);
  },
  password: async ({ password }) => {
    await call("POST", `/users/${chosen.user}/password`, { password });
    toast(`Password of ${chosen.name} set`);
  },
};

document.addEventListener("submit", async (event) => {
  const deed = FORMS[event.target.dataset.form];
  if (!deed) return;
  event.preventDefault();
  if (!(await submitting(event.target, deed))) return;
  event.target.closest("dialog").close();
  renew().catch(complain);
});

document.addEventListener("change", (event) => {
  if (!event.target.matches("[data-role]")) return;
  const { user, name } = userOf(event.target);
  const before = [...event.target.options].find((each) => each.defaultSelected)?.value;
  setRole(user, name, event.target.value, before);
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-act]");
  if (!button) return;
  if (button.dataset.act === "password") askPassword(userOf(button));
  else change(button.dataset.act, userOf(button));
});
