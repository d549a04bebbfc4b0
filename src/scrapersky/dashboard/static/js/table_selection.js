// Selected rows: some of this page, or all that match the filter.

const table = () => document.querySelector("#table table");
/** Without rows that are about to leave the list after a decision. */
export const rows = () => [...document.querySelectorAll("#table tbody tr:not([data-leaving])")];
const tickOf = (row) => row.querySelector(".tick input");

let all = false;
let lastTicked = null;

export const chosenRows = () => rows().filter((row) => tickOf(row)?.checked);

/** In the format of the API. */
export function chosen() {
  if (all) return { all: true, filter: JSON.parse(table().dataset.filter) };
  return { ids: chosenRows().map((row) => row.dataset.id) };
}

export const chosenIds = () => new Set(chosenRows().map((row) => row.dataset.id));

/** Selects those that are still on the page. */
export function choose(ids) {
  for (const row of rows()) if (tickOf(row)) tickOf(row).checked = ids.has(row.dataset.id);
  show();
}

/** Deselects processed rows. */
export function forget({ all: every, ids }) {
  all = false;
  const left = chosenIds();
  for (const id of every ? [...left] : ids) left.delete(id);
  choose(left);
}

export function countOf(number) {
  const { noun, nouns } = document.getElementById("table").dataset;
  return `${number.toLocaleString("en")} ${number === 1 ? noun : nouns}`;
}

export function show() {
  const ticked = chosenRows();
  for (const row of rows()) row.classList.toggle("chosen", tickOf(row)?.checked ?? false);
  const bar = document.getElementById("bulk");
  if (!bar) return;
  bar.hidden = ticked.length === 0;
  const page = document.getElementById("tick-page");
  if (page) page.checked = ticked.length > 0 && ticked.length === rows().length;
  if (bar.hidden) return;
  const every = document.getElementById("choose-all");
  const whole = ticked.length === rows().length;
  document.getElementById("chosen-count").textContent = all ? `All matching selected: ${table().dataset.total}` : `${ticked.length.toLocaleString("en")} selected`;
  every.hidden = all || !whole || !table().dataset.more;
  every.textContent = `Select all matching: ${table().dataset.total}`;
  for (const each of bar.querySelectorAll("[data-ids-only]")) each.disabled = all;
}

export function toggle(row, ticked = !tickOf(row)?.checked) {
  if (!tickOf(row)) return;
  tickOf(row).checked = ticked;
  all = false;
  lastTicked = row.dataset.id;
  show();
}

/** Selects from the last ticked row to this one. */
export function toggleTo(row) {
  const listed = rows();
  const from = listed.findIndex((each) => each.dataset.id === lastTicked);
  const to = listed.indexOf(row);
  if (from < 0) return toggle(row, true);
  for (const each of listed.slice(Math.min(from, to), Math.max(from, to) + 1)) toggle(each, true);
}

export function choosePage(ticked) {
  all = false;
  for (const row of rows()) if (tickOf(row)) tickOf(row).checked = ticked;
  show();
}

export function chooseAll() {
  choosePage(true);
  all = true;
  show();
}

document.addEventListener("change", (event) => {
  if (event.target.id === "tick-page") choosePage(event.target.checked);
  else if (event.target.closest("#table td.tick")) toggle(event.target.closest("tr"), event.target.checked);
});
document.addEventListener("click", (event) => {
  if (event.target.closest("#choose-all")) chooseAll();
  if (event.target.closest("#choose-none")) choosePage(false);
  if (event.shiftKey && event.target.closest("#table td.tick input")) toggleTo(event.target.closest("tr"));
});
