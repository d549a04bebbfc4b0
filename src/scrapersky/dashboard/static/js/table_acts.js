// Actions on rows: calls the API, shows a toast with Undo and refreshes the rows.

import { call, part } from "./api.js";
import { put } from "./live.js";
import { ask, complain, toast } from "./messages.js";
import { keepCurrent, leave, settle, stay } from "./table_rows.js";
import * as selection from "./table_selection.js";

const DECIDED = "decided";
const place = () => document.getElementById("table");

/** Refreshes the rows; the current row and the selection are kept. */
export async function renew() {
  const address = new URL(place().dataset.address, location.href); // without invalid filters
  address.searchParams.set("part", "rows");
  const html = await part(address);
  const ids = selection.chosenIds();
  keepCurrent(() => put("table", html));
  selection.choose(ids);
}

let before = Promise.resolve();
let waiting = 0;

/** Runs calls sequentially, in order. The rows are refreshed after the last one. */
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

// Decisions of this browser tab, so that they can be undone after leaving the page.
const decided = () => JSON.parse(sessionStorage.getItem(DECIDED) ?? "[]");
const keep = (ids) => sessionStorage.setItem(DECIDED, JSON.stringify(ids.slice(-50)));

async function agreed(button, which) {
  const wanted = { ...JSON.parse(button.dataset.body || "{}"), ...which, dry_run: true };
  const { matched_count: matched } = await call("POST", button.dataset.act, wanted);
  if (matched === 0) {
    toast("Nothing to change: all matching rows already have this status or cannot get it.", { tone: "plain" });
    return false;
  }
  const { label } = button.dataset;
  const question = wanted.status ? `Mark ${selection.countOf(matched)} as ${wanted.status}?` : `${label}: ${selection.countOf(matched)}?`;
  return ask(question, { agree: button.dataset.label, danger: button.matches(".danger") });
}

/** "Corner Bakery marked Selected", or "12 leads marked Selected". */
function sentence(done, answer, { ids = [], name }) {
  const meant = ids.length;
  const subject = meant === 1 && answer.updated_count === 1 && name ? name : selection.countOf(answer.updated_count);
  const number = (count) => count.toLocaleString("en");
  const parts = [
    `${subject} ${done}`,
    answer.queued_count && `${number(answer.queued_count)} queued for the next stage`,
    meant > answer.updated_count && `${number(meant - answer.updated_count)} unchanged`,
    answer.remaining_count && `${number(answer.remaining_count)} more match; repeat the action for them`,
    answer.message?.replace(/\.$/, ""),
  ].filter(Boolean);
  return parts.length > 1 ? `${parts.join(". ")}.` : parts[0];
}

/** The text of the row's link, as long as the row is on the page. */
const nameOf = (id) => document.getElementById(`open-${id}`)?.textContent.trim() ?? "";

async function execute(button, which) {
  const wanted = { ...JSON.parse(button.dataset.body || "{}"), ...which };
  const name = which.ids?.length === 1 ? nameOf(which.ids[0]) : "";
  const answer = await call("POST", button.dataset.act, wanted);
  const said = sentence(button.dataset.done, answer, { ids: which.ids, name });
  const id = answer.action_id;
  if (id) keep([...decided(), id]);
  toast(said, id ? { act: "Undo", onAct: () => undo(id), seconds: 12 } : { tone: answer.updated_count ? "good" : "plain" });
}

/** `which` are ids, or all matching rows. Without a confirmation, the current row moves on immediately, so that
 * the next key applies to the next row, however slow the server is. */
export function act(button, which) {
  if (which.all || button.matches(".danger")) {
    inTurn(async () => {
      if (!(await agreed(button, which))) return;
      await execute(button, which);
      selection.forget(which);
    });
    return;
  }
  const ticked = selection.chosenIds();
  selection.forget(which);
  if ("leaves" in button.dataset) leave(which.ids);
  inTurn(async () => {
    try {
      await execute(button, which);
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
    toast("Nothing to undo in this tab. Older actions are under Bulk actions.", { tone: "plain" });
    return;
  }
  keep(known.filter((each) => each !== wanted));
  const answer = await call("POST", "/bulk-actions/undo", { action_id: wanted });
  const undone = answer.restored_count === 1 ? "Undone" : `Undone: ${selection.countOf(answer.restored_count)}`;
  const left = answer.left_alone_count ? `. ${answer.left_alone_count} changed since and kept.` : "";
  toast(undone + left);
});

/** A button in a row: by a bulk route with a single id, or by a row route. */
export const actOnRow = (button) => inTurn(async () => {
  const { many, method, path, body, ask: question, done, id } = button.dataset;
  if (question && !(await ask(question, { agree: button.textContent }))) return;
  if (many) {
    const answer = await call("POST", many, { ids: [id] });
    toast(answer.updated_count ? "Queued for retry" : "Skipped: the row was changed in the meantime", { tone: answer.updated_count ? "good" : "plain" });
  } else {
    await call(method, path, body ? JSON.parse(body) : undefined);
    toast(done);
  }
});
