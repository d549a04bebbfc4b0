// Signs in and continues to the requested page, which the server has validated.

import { call } from "./api.js";

const page = document.querySelector(".sign-in");
const refusal = document.getElementById("refusal");

function bodyOf(form) {
  const given = [...new FormData(form)].filter(([, value]) => value !== "");
  return Object.fromEntries(given);
}

async function signIn(form) {
  const button = form.querySelector("button");
  button.disabled = true;
  refusal.hidden = true;
  try {
    await call("POST", "/session", bodyOf(form));
    location.replace(page.dataset.next);
  } catch (error) {
    refusal.textContent = error.message;
    refusal.hidden = false;
    button.disabled = false;
    form.querySelector('[type="password"]').select();
  }
}

page.addEventListener("submit", (event) => {
  event.preventDefault();
  signIn(event.target);
});
