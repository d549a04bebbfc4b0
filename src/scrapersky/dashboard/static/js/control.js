// Operations pages: run, pause and resume stages, change their pace, reset hosts, find settings.

import { call } from "./api.js";
import { complain, toast } from "./messages.js";
import { filterSettings } from "./control_settings.js";
import { fillPace, paceIn, takeBack } from "./control_pace.js";

const nameOf = (element) => element.closest("[data-stage]").dataset.stage;
const stagePath = (name, act) => `/stages/${encodeURIComponent(name)}/${act}`;

/** Reports errors and disables the button while the call runs. */
async function doing(button, act) {
  button.disabled = true;
  try {
    await act();
  } catch (error) {
    complain(error);
  } finally {
    button.disabled = false;
  }
}

/** Shows Pause for a running stage and Resume for a paused one. */
function offer(card, paused, { focus = false } = {}) {
  const pause = card.querySelector('[data-act="pause"]');
  const resume = card.querySelector('[data-act="resume"]');
  if (!pause) return;
  const held = focus || [pause, resume].includes(document.activeElement);
  pause.hidden = paused;
  resume.hidden = !paused;
  if (held) (paused ? resume : pause).focus({ preventScroll: true });
}

async function run(button) {
  const name = nameOf(button);
  await call("POST", stagePath(name, "run"));
  toast(`Running ${name}`);
}

function askWhy(name) {
  const dialog = document.getElementById("pause");
  const note = document.getElementById("pause-note");
  dialog.querySelector("[data-stage-name]").textContent = name;
  dialog.returnValue = "";
  note.value = "";
  dialog.showModal();
  note.focus();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes" ? { note: note.value.trim() || null } : null), { once: true });
  });
}

async function pause(button) {
  const name = nameOf(button);
  const wanted = await askWhy(name);
  if (!wanted) return;
  await call("POST", stagePath(name, "pause"), wanted);
  offer(button.closest("[data-stage]"), true, { focus: true });
  toast(`${name} paused`);
}

async function resume(button) {
  const name = nameOf(button);
  await call("POST", stagePath(name, "resume"));
  offer(button.closest("[data-stage]"), false, { focus: true });
  toast(`${name} resumed`);
}

async function changePace(form, wanted, said) {
  const changed = await call("PATCH", stagePath(nameOf(form), "pace"), wanted);
  fillPace(form, changed.changed);
  toast(said);
}

async function askAgain(button) {
  const { host } = button.dataset;
  await call("POST", `/hosts/${encodeURIComponent(host)}/ask-again`);
  document.getElementById("hosts").focus({ preventScroll: true });
  toast(`${host} reset`);
}

const backToSettings = (button) =>
  changePace(button.form, takeBack(button.form), `Pace of ${nameOf(button)} reset to settings`);
const ACTS = { run, pause, resume, "pace-back": backToSettings, "ask-again": askAgain };

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-act]");
  if (!button) return;
  if (button.dataset.act === "not-pause") return button.closest("dialog").close("");
  doing(button, () => ACTS[button.dataset.act](button));
});

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches("[data-pace]")) return;
  event.preventDefault();
  const said = `Pace of ${nameOf(form)} changed; applied with the next heartbeat`;
  doing(form.querySelector('[type="submit"]'), () => changePace(form, paceIn(form), said));
});

// Fill the form with current values when it is opened.
document.addEventListener("toggle", (event) => {
  if (event.target.matches(".pace-change") && event.target.open) fillPace(event.target.querySelector("form"));
}, true);

document.addEventListener("renewed", (event) => {
  const state = event.target.querySelector("[data-paused]");
  if (state) offer(event.target.closest("[data-stage]"), state.dataset.paused === "yes");
});

filterSettings();
