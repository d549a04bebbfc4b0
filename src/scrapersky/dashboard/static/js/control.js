// The operations pages: run, pause and resume stages, change their pace, ask hosts again, find settings.

import { call } from "./api.js";
import { complain, toast } from "./messages.js";
import { filterSettings } from "./control_settings.js";
import { fillPace, paceIn, takeBack } from "./control_pace.js";

const nameOf = (element) => element.closest("[data-stage]").dataset.stage;
const stagePath = (name, act) => `/stages/${encodeURIComponent(name)}/${act}`;

/** Tells what went wrong, and lets nobody press twice meanwhile. */
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

/** Offers what fits: to pause what runs, to resume what is paused. */
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
  toast(`Every consumer of ${name} looks at its queue now.`);
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
  toast(`${name} is paused; rows being worked go on.`);
}

async function resume(button) {
  const name = nameOf(button);
  await call("POST", stagePath(name, "resume"));
  offer(button.closest("[data-stage]"), false, { focus: true });
  toast(`${name} goes on.`);
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
  toast(`${host} is asked again; its failures are forgotten.`);
}

const backToSettings = (button) =>
  changePace(button.form, takeBack(button.form), `${nameOf(button)} goes as the settings say.`);
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
  const said = `The pace of ${nameOf(form)} is changed; every process takes it with its next heartbeat.`;
  doing(form.querySelector('[type="submit"]'), () => changePace(form, paceIn(form), said));
});

// What was changed elsewhere meanwhile stands in the form when it is opened.
document.addEventListener("toggle", (event) => {
  if (event.target.matches(".pace-change") && event.target.open) fillPace(event.target.querySelector("form"));
}, true);

document.addEventListener("renewed", (event) => {
  const state = event.target.querySelector("[data-paused]");
  if (state) offer(event.target.closest("[data-stage]"), state.dataset.paused === "yes");
});

filterSettings();
