// The current row, tracked by id, so that refreshed rows never change which row a key applies to.

import { rows } from "./table_selection.js";

let currentId = null;
// Position of the current row when it left without a successor: after the row with this id, or at the top (null).
let gapAfter;

const idOf = (row) => row?.dataset.id ?? null;
const indexOf = (id) => (id === null ? -1 : rows().findIndex((row) => idOf(row) === id));

export const current = {
  id: () => currentId,
  row: () => rows()[indexOf(currentId)] ?? null,
};

/** Makes this row the current one; none without a row. */
export function point(row, { focus = true } = {}) {
  for (const each of document.querySelectorAll("#table tr.current")) each.classList.remove("current");
  currentId = idOf(row);
  if (!row) return;
  gapAfter = undefined;
  row.classList.add("current");
  if (!focus) return;
  const target = row.querySelector("[data-open]") ?? row.querySelector("input, button, a");
  target?.focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
}

/** Moves to the next (1) or previous (-1) row. */
export function move(by) {
  const listed = rows();
  let from = indexOf(currentId);
  if (from < 0 && gapAfter !== undefined) from = indexOf(gapAfter) + (by < 0 ? 1 : 0);
  const to = from < 0 ? 0 : Math.min(Math.max(from + by, 0), listed.length - 1);
  point(listed[to] ?? null);
}

const leavingIds = new Set();

const markLeaving = () => {
  for (const row of document.querySelectorAll("#table tbody tr")) {
    row.toggleAttribute("data-leaving", leavingIds.has(row.dataset.id));
  }
};

/** These rows were decided and will leave the list: keys continue at the row that follows,
 * at once, and not when the server has answered. They stay visible until then, for the total counts them. */
export function leave(ids) {
  const listed = rows().map(idOf);
  const left = new Set(ids);
  const at = listed.indexOf(currentId);
  for (const id of ids) leavingIds.add(id);
  markLeaving();
  if (!left.has(currentId)) return;
  const following = listed.slice(at + 1).find((id) => !left.has(id));
  gapAfter = listed.slice(0, at).findLast((id) => !left.has(id)) ?? null;
  point(rows()[indexOf(following ?? null)] ?? null);
}

/** The decision succeeded: the next refresh shows whether the rows are still in the list. */
export function settle(ids) {
  for (const id of ids) leavingIds.delete(id);
}

/** The decision failed: the rows stay in the list. */
export function stay(ids) {
  settle(ids);
  markLeaving();
}

/** Replaces the rows; the current row stays current, or the one that followed it becomes current. */
export function keepCurrent(put) {
  const listed = rows().map(idOf);
  const [at, active] = [listed.indexOf(currentId), document.activeElement];
  const focus = active === document.body || document.getElementById("table").contains(active);
  put();
  markLeaving();
  const fresh = new Map(rows().map((row) => [idOf(row), row]));
  if (currentId === null && gapAfter === undefined) return;
  if (currentId === null) return point(rows()[indexOf(gapAfter) + 1] ?? null, { focus });
  const stays = [currentId, ...listed.slice(at + 1)].find((id) => fresh.has(id));
  if (stays === undefined) gapAfter = listed.slice(0, Math.max(at, 0)).findLast((id) => fresh.has(id)) ?? null;
  point(fresh.get(stays) ?? rows()[indexOf(gapAfter) + 1] ?? null, { focus });
}

document.addEventListener("focusin", (event) => {
  const row = event.target.closest?.("#table tbody tr:not([data-leaving])");
  if (row) point(row, { focus: false });
});
