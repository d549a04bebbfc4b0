// The row one is at: pointed at by keys, kept when the rows are shown anew.

import { rows } from "./table_selection.js";

let at = -1;

export const current = {
  index: () => at,
  row: () => rows()[at] ?? null,
};

/** To a row by its place; the nearest there is. */
export function point(index, { focus = true } = {}) {
  const listed = rows();
  for (const each of listed) each.classList.remove("current");
  at = index < 0 || listed.length === 0 ? -1 : Math.min(index, listed.length - 1);
  const row = current.row();
  if (!row) return;
  row.classList.add("current");
  if (!focus) return;
  const target = row.querySelector("[data-open]") ?? row.querySelector("input, button, a");
  target?.focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
}

/** To the same row after all were shown anew; where it is gone, to the one in its place. */
export function pointAgain(id, index) {
  const found = rows().findIndex((row) => row.dataset.id === id);
  point(found < 0 ? index : found);
}

export const move = (by) => point(at < 0 ? 0 : Math.max(at + by, 0));

document.addEventListener("focusin", (event) => {
  const row = event.target.closest?.("#table tbody tr");
  if (row) point(rows().indexOf(row), { focus: false });
});
