// Toasts, and confirmation dialogs.

export function toast(text, { tone = "good", act, onAct, seconds = 8 } = {}) {
  const box = document.createElement("div");
  box.className = `toast ${tone}`;
  const said = document.createElement("span");
  said.textContent = text;
  box.append(said);
  if (act) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet";
    button.textContent = act;
    button.addEventListener("click", () => { box.remove(); onAct(); });
    box.append(button);
  }
  document.getElementById("toasts").append(box);
  setTimeout(() => box.remove(), seconds * 1000);
}

export const complain = (error) => toast(error.message, { tone: "bad", seconds: 15 });

/** Resolves to whether the user confirmed. */
export function ask(question, { agree = "Continue", danger = false } = {}) {
  const dialog = document.createElement("dialog");
  const text = document.createElement("p");
  text.textContent = question;
  const row = document.createElement("form");
  row.method = "dialog";
  row.className = "row";
  for (const [label, value, kind] of [["Cancel", "", ""], [agree, "yes", danger ? "danger" : "main"]]) {
    const button = document.createElement("button");
    button.value = value;
    button.className = kind;
    button.textContent = label;
    row.append(button);
  }
  dialog.append(text, row);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => { dialog.remove(); resolve(dialog.returnValue === "yes"); });
  });
}
