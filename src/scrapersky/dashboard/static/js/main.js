// Every page: times, theme, menu, sign-out, shortcuts, live stream.

import { call } from "./api.js";
import "./help.js";
import { follow } from "./live.js";
import { complain } from "./messages.js";
import { localise } from "./moments.js";

function toggleTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try {
    localStorage.setItem("theme", root.dataset.theme);
  } catch {
    // Without storage it applies to this page only.
  }
}

function toggleMenu(button) {
  const shown = document.getElementById("navigation").classList.toggle("shown");
  button.setAttribute("aria-expanded", String(shown));
}

async function signOut() {
  try {
    await call("DELETE", "/session");
  } catch (error) {
    if (error.status !== 401) return complain(error);
  }
  location.assign("/sign-in");
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.matches("[data-theme-toggle]")) toggleTheme();
  if (button.matches("[data-menu]")) toggleMenu(button);
  if (button.matches("[data-sign-out]")) signOut();
});

localise();
follow();
