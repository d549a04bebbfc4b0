// What people do to rows: through the API, told in a message with the way back, and the rows shown anew.

import { call, part } from "./api.js";
import { put } from "./live.js";
import { ask, complain, toast } from "./messages.js";
import { keepCurrent, leave, settle, stay } from "./table_rows.js";
import * as selection from "./table_selection.js";

const DECIDED = "decided";
const place = () => document.getElementById("table");

/** The same rows of the list as they are now; where one is and what one chose meanwhile stays. */
export async function renew() {
  const address = new URL(place().dataset.address, location.href); // without filters that are not valid
  address.searchParams.set("part", "rows");
  const html = await part(address);
  const ids = selection.chosenIds();
  keepCurrent(() => put("table", html));
  selection.choose(ids);
}

let before = Promise.resolve();
let waiting = 0;

/** One after the other, in the order in which they were asked for. The rows are shown anew after the last. */
function inTurn(doing) {
  waiting += 1;
  before = before.then(async () => {
    place().setAttribute("aria-busy", "true");
    try {
      await doing();
    } catch (error) {
      complain(error);
    }
    waiting -= 1;
    if (waiting) return;
    await renew().catch(complain);
    place().removeAttribute("aria-busy");
  });
}

// The decisions of this window, so that they can be taken back after the page was left too.
const decided = () => JSON.parse(sessionStorage.getItem(DECIDED) ?? "[]");
const keep = (ids) => sessionStorage.setItem(DECIDED, JSON.stringify(ids.slice(-50)));

async function agreed(button, which) {
  const wanted = { ...JSON.parse(button.dataset.body || "{}"), ...which, dry_run: true };
  const { matched_count: matched } = await call("POST", button.dataset.act, wanted);
  if (matched === 0) {
    toast("There is nothing to change: no row that matches can become that, or all are so already.", { tone: "plain" });
    return false;
  }
  return ask(`${button.dataset.label}: ${selection.countOf(matched)}?`, { agree: button.dataset.label, danger: button.matches(".danger") });
}

function sentence(done, answer, meant) {
  const changed = `${selection.countOf(answer.updated_count)} ${answer.updated_count === 1 ? "is" : "are"} ${done}.`;
  const queued = answer.queued_count ? ` ${answer.queued_count.toLocaleString("en")} wait for their next stage.` : "";
  const left = meant > answer.updated_count ? ` ${(meant - answer.updated_count).toLocaleString("en")} stayed as before.` : "";
  const more = answer.remaining_count ? ` ${answer.remaining_count.toLocaleString("en")} are left: do it again for them.` : "";
  const besides = answer.message ? ` ${answer.message}` : "";
  return changed + queued + left + more + besides;
}

async function carryOut(button, which) {
  const wanted = { ...JSON.parse(button.dataset.body || "{}"), ...which };
  const answer = await call("POST", button.dataset.act, wanted);
  const said = sentence(button.dataset.done, answer, which.ids?.length ?? 0);
  const id = answer.action_id;
  if (id) keep([...decided(), id]);
  toast(said, id ? { act: "Undo", onAct: () => undo(id), seconds: 12 } : { tone: answer.updated_count ? "good" : "plain" });
}

/** `which` are ids, or all that match. What needs no question is settled for the keys at once: the next key
 * that is pressed is about the next row, however long the server takes. */
export function act(button, which) {
  if (which.all || button.matches(".danger")) {
    inTurn(async () => {
      if (!(await agreed(button, which))) return;
      await carryOut(button, which);
      selection.forget(which);
    });
    return;
  }
  const ticked = selection.chosenIds();
  selection.forget(which);
  if ("leaves" in button.dataset) leave(which.ids);
  inTurn(async () => {
    try {
      await carryOut(button, which);
      settle(which.ids);
    } catch (error) {
      stay(which.ids);
      selection.choose(new Set([...selection.chosenIds(), ...which.ids.filter((id) => ticked.has(id))]));
      throw error;
    }
  });
}

export const undo = (id) => inTurn(async () => {
  const known = decided();
  const wanted = id ?? known.at(-1);
  if (!wanted) {
    toast("Nothing was decided in this window. Older decisions are under Bulk actions.", { tone: "plain" });
    return;
  }
  keep(known.filter((each) => each !== wanted));
  const answer = await call("POST", "/bulk-actions/undo", { action_id: wanted });
  const left = answer.left_alone_count ? ` ${answer.left_alone_count} were changed since and stay as they are.` : "";
  toast(`Taken back: ${selection.countOf(answer.restored_count)}.${left}`);
});

/** A button in a row: by a route for many with its id alone, or by one of its own. */
export const actOnRow = (button) => inTurn(async () => {
  const { many, method, path, body, ask: question, done, id } = button.dataset;
  if (question && !(await ask(question, { agree: button.textContent }))) return;
  if (many) {
    const answer = await call("POST", many, { ids: [id] });
    toast(answer.updated_count ? "It is queued again." : "It was left alone: somebody was faster.", { tone: answer.updated_count ? "good" : "plain" });
  } else {
    await call(method, path, body ? JSON.parse(body) : undefined);
    toast(done);
  }
});
