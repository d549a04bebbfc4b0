// Detail pages: buttons and forms with their API calls, decisions and shortcuts.

import { call } from "./api.js";
import { decideOn, undo } from "./detail-decisions.js";
import { isTyping, tell as tellKeys } from "./help.js";
import { renew } from "./detail-parts.js";
import { ask, complain, toast } from "./messages.js";

async function isAgreed(element) {
  const { ask: question, askAgain, agree } = element.dataset;
  const manner = { agree: agree ?? "Continue", danger: "danger" in element.dataset };
  if (question && !(await ask(question, manner))) return false;
  return !askAgain || ask(askAgain, manner);
}

/** Repeats a call that needs several requests until its answer says that it is finished. */
async function callUntil(method, path, body, until) {
  let answer = await call(method, path, body);
  while (until && answer?.[until] === false) answer = await call(method, path, body);
  return answer;
}

const jobIn = (answer) => answer?.job_id ?? answer?.results?.[0]?.job_id;

function tell(said, answer) {
  const refused = answer?.results?.find((each) => each.error && !each.id);
  if (refused) return toast(refused.error, { tone: "bad", seconds: 15 });
  if (answer?.updated_count === 0) return toast("Nothing changed: the row is in another state.", { tone: "bad" });
  const job = jobIn(answer);
  toast(said, job ? { act: "View job", onAct: () => location.assign(`/jobs/${job}`) } : {});
}

async function carryOut(element, what, body) {
  const [method, path] = what.split(" ");
  if (!(await isAgreed(element))) return;
  const button = element.matches("button") ? element : element.querySelector("button");
  button.disabled = true;
  try {
    const answer = await callUntil(method, path, body, element.dataset.until);
    if (element.dataset.after) return location.assign(element.dataset.after);
    tell(element.dataset.done ?? "Done", answer);
    if (element.matches("form")) element.reset();
    await renew();
  } catch (error) {
    complain(error);
  } finally {
    button.disabled = false;
  }
}

function bodyOf(form) {
  const given = [...new FormData(form)].map(([name, value]) => [name, value.trim()]);
  const kept = "empty" in form.dataset ? given.map(([name, value]) => [name, value || null]) : given.filter(([, value]) => value);
  return Object.fromEntries(kept);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  const { act, body, decide } = button.dataset;
  if (act) carryOut(button, act, body === undefined ? undefined : JSON.parse(body));
  if (decide) decideOn(button);
});

document.addEventListener("submit", (event) => {
  const { form } = event.target.dataset;
  if (!form) return;
  event.preventDefault();
  carryOut(event.target, form, bodyOf(event.target));
});

function tellKeysOfDecisions() {
  const buttons = [...document.querySelectorAll("button[data-decide][data-key]")];
  if (!buttons.length) return;
  const keys = buttons.map((each) => [each.dataset.key, `mark ${each.dataset.decide}`]);
  tellKeys("This row", [...keys, ["u", "undo the last decision"]]);
}

document.addEventListener("keydown", (event) => {
  if (event.repeat || isTyping(event) || document.querySelector("dialog[open]")) return;
  if (event.key === "u" && document.querySelector("[data-decide]")) return undo();
  const button = document.querySelector(`button[data-key="${CSS.escape(event.key)}"]`);
  if (!button || button.disabled) return;
  event.preventDefault();
  button.click();
});

tellKeysOfDecisions();
