// Tables: selection, decisions, shortcuts, dialogs. The server renders rows; changes go through the API.

import { isTyping, tell } from "./help.js";
import { act, actOnRow, undo } from "./table_acts.js";
import { current, move } from "./table_rows.js";
import * as selection from "./table_selection.js";
import "./table_forms.js";
import "./export.js";

const decisions = () => [...document.querySelectorAll("#bulk [data-key]")];

/** The selected rows, or the current row if none is selected. */
function which() {
  if (selection.chosenRows().length) return selection.chosen();
  const id = current.id();
  return id ? { ids: [id] } : null;
}

function decide(button) {
  const rows = which();
  if (rows && !button.disabled) act(button, rows);
}

const follow = (selector) => document.querySelector(selector)?.click();

function closeOpen() {
  const menu = document.querySelector("details.menu[open]");
  if (menu) {
    menu.open = false;
    menu.querySelector("summary").focus();
    return;
  }
  selection.choosePage(false);
}

const keys = {
  j: () => move(1),
  k: () => move(-1),
  x: () => current.row() && selection.toggle(current.row()),
  X: () => current.row() && selection.toggleTo(current.row()),
  u: () => undo(),
  "/": () => document.getElementById("search")?.focus(),
  "]": () => follow("[data-next]"),
  "[": () => follow("[data-first]"),
  Enter: () => current.row()?.querySelector("[data-open]")?.click(),
};

document.addEventListener("keydown", (event) => {
  if (document.querySelector("dialog[open]")) return;
  if (event.key === "Escape") closeOpen();
  if (isTyping(event)) return;
  if (event.key === "Enter" && event.target.closest("a, button, summary")) return;
  const button = decisions().find((each) => each.dataset.key === event.key);
  const doing = button ? () => decide(button) : keys[event.key];
  if (!doing) return;
  event.preventDefault();
  if (event.repeat && (button || event.key === "u")) return; // a held key acts once
  doing();
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button?.matches("[data-act]")) decide(button);
  if (button?.matches("[data-row-act]")) actOnRow(button);
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

tell("Rows", [
  ["j k", "next or previous row"],
  ["x", "select the row"],
  ["Shift+x", "select all rows from the last one to this"],
  ["Enter", "open the row"],
  ["/", "search"],
  ["] [", "next or first page"],
  ["u", "undo your last decision"],
]);
if (decisions().length) {
  tell("Selected rows, or the current row", decisions().map((each) => [each.dataset.key, each.dataset.label]));
}
selection.show();
