// Keyboard shortcuts, shown by the button in the frame or by `?`. Scripts register their keys.

const groups = [["Everywhere", [["?", "show shortcuts"], ["Esc", "close"]]]];

/** `keys` are pairs of key and description. */
export function tell(title, keys) {
  groups.push([title, keys]);
}

/** Whether a text field has the focus or a dialog is open; shortcuts are off then. */
export function isTyping(event) {
  const at = event.target;
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return true;
  if (at.closest?.("textarea, select, [contenteditable]")) return true;
  return Boolean(at.closest?.("input:not([type=checkbox], [type=radio])"));
}

function listOf(keys) {
  const list = document.createElement("dl");
  list.className = "facts";
  for (const [key, does] of keys) {
    const term = document.createElement("dt");
    for (const each of key.split(" ")) {
      const pressed = document.createElement("kbd");
      pressed.textContent = each;
      term.append(pressed, " ");
    }
    const said = document.createElement("dd");
    said.textContent = does;
    list.append(term, said);
  }
  return list;
}

function close() {
  const form = document.createElement("form");
  form.method = "dialog";
  form.className = "row";
  const button = document.createElement("button");
  button.className = "main";
  button.textContent = "Close";
  form.append(button);
  return form;
}

export function help() {
  if (document.querySelector("dialog[open]")) return;
  const dialog = document.createElement("dialog");
  dialog.id = "help";
  dialog.setAttribute("aria-label", "Shortcuts");
  for (const [title, keys] of groups) {
    const heading = document.createElement("h2");
    heading.textContent = title;
    const group = document.createElement("section");
    group.className = "field";
    group.append(heading, listOf(keys));
    dialog.append(group);
  }
  dialog.append(close());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

document.addEventListener("click", (event) => { if (event.target.closest("[data-help]")) help(); });
document.addEventListener("keydown", (event) => { if (event.key === "?" && !isTyping(event)) help(); });
