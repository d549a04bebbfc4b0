// Merge review: decide pairs by keyboard without leaving the page.

import { call, part } from "./api.js";
import { isTyping, tell } from "./help.js";
import { put } from "./live.js";
import { ask, complain, toast } from "./messages.js";

const place = () => document.getElementById("review");
const pair = () => place().querySelector("[data-pair]")?.dataset.pair;
const side = (name) => place().querySelector(`[data-side="${name}"]`).dataset;
const other = (name) => (name === "left" ? "right" : "left");

/** Shows another pair. */
async function show(address, { keep = false } = {}) {
  const fresh = new DOMParser().parseFromString(await part(address), "text/html");
  put("review", fresh.getElementById("review").innerHTML);
  if (!keep) history.pushState(null, "", address);
  scrollTo({ top: 0 });
}

const following = () => place().querySelector("[data-next]")?.getAttribute("href") ?? place().querySelector("[data-before]")?.getAttribute("href") ?? "/merge-review";

let current = null;

/** Ignores keys while a call runs, so that a pair that is not visible yet cannot be decided. */
function alone(doing) {
  if (!current) current = run(doing).finally(() => { current = null; });
}

async function run(doing) {
  place().setAttribute("aria-busy", "true");
  try {
    await doing();
  } catch (error) {
    complain(error);
    if (error.status === 404 || error.status === 409) await show("/merge-review").catch(complain);
  } finally {
    place().removeAttribute("aria-busy");
  }
}

async function undoMerge(kept, sighting) {
  await current;
  alone(async () => {
    await call("POST", `/local-businesses/${kept}/sightings/${sighting}/split`);
    try {
      await show(location.href, { keep: true });
    } finally {
      toast("Undone: two businesses again, kept apart");
    }
  });
}

/** Asks with the focus on the confirm button, so that Enter confirms. */
function agreed(question, agree) {
  const answer = ask(question, { agree });
  document.querySelector("dialog[open] button.main").focus();
  return answer;
}

async function merge(keep) {
  const [kept, given, next] = [side(keep), side(other(keep)), following()];
  const { only, sightings } = given;
  const question = `Merge? The ${other(keep)} one has ${sightings} sources, so undoing means splitting off each source.`;
  if (!only && !(await agreed(question, "Merge"))) return;
  await call("POST", `/merge-candidates/${pair()}/merge`, { keep });
  const undo = { act: "Undo", onAct: () => undoMerge(kept.business, only), seconds: 12 };
  toast("Merged", only ? undo : {});
  await show(next);
}

async function apart() {
  const next = following();
  if (!(await agreed("Keep apart? The pair is not suggested again unless you reopen it in the list.", "Keep apart"))) return;
  await call("POST", `/merge-candidates/${pair()}/apart`);
  toast("Kept apart");
  await show(next);
}

function decide(button) {
  const { merge: keep } = button.dataset;
  alone(() => (keep ? merge(keep) : apart()));
}

function go(link) {
  if (link) alone(() => show(link.getAttribute("href")));
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-merge], button[data-apart]");
  if (button) return decide(button);
  const link = event.target.closest("a[data-next], a[data-before]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  go(link);
});

document.addEventListener("keydown", (event) => {
  if (event.repeat || isTyping(event) || document.querySelector("dialog[open]")) return;
  const moves = { j: "[data-next]", k: "[data-before]" };
  const button = place().querySelector(`button[data-key="${CSS.escape(event.key)}"]`);
  if (!button && !moves[event.key]) return;
  event.preventDefault();
  if (button) decide(button);
  else go(place().querySelector(moves[event.key]));
});

addEventListener("popstate", () => alone(() => show(location.href, { keep: true })));

tell("Pairs", [
  ["m", "merge"],
  ["1 2", "merge, keep left or right"],
  ["a", "keep apart"],
  ["j k", "next or previous pair"],
]);
