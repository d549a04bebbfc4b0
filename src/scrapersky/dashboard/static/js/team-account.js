// Password and sessions of the current user.

import { call } from "./api.js";
import { ask, complain, toast } from "./messages.js";
import { renew, say, submitting } from "./team.js";

const form = document.getElementById("change-password");

async function changePassword() {
  const again = document.getElementById("again").value;
  if (form.elements.new.value !== again) {
    say(form, "The new passwords do not match.");
    return;
  }
  const changed = await submitting(form, ({ current, new: fresh }) => call("POST", "/session/password", { current, new: fresh }));
  if (!changed) return;
  form.reset();
  toast("Password changed");
  renew().catch(complain);
}

async function endOthers() {
  if (!(await ask("Sign out everywhere else?", { agree: "Sign out" }))) return;
  try {
    const { ended } = await call("POST", "/sessions/end-others");
    await renew();
    toast(ended === 1 ? "Signed out of 1 other session" : `Signed out of ${ended} other sessions`);
  } catch (error) {
    complain(error);
  }
}

form?.addEventListener("submit", (event) => {
  event.preventDefault();
  changePassword();
});

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-end-others]")) endOthers();
});
