// Filters settings: every word must occur in the name, value, origin or description.

function matches(row, words, onlyChanged) {
  if (onlyChanged && row.dataset.changed !== "yes") return false;
  const text = row.textContent.toLowerCase();
  return words.every((word) => text.includes(word));
}

export function filterSettings() {
  const input = document.querySelector("[data-filter]");
  if (!input) return;
  const changed = document.querySelector("[data-only-changed]");
  const rows = [...document.querySelectorAll("[data-setting]")];
  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) row.hidden = !matches(row, words, changed.checked);
    for (const group of document.querySelectorAll("[data-group]")) {
      group.hidden = !group.querySelector("[data-setting]:not([hidden])");
    }
    const left = rows.filter((row) => !row.hidden).length;
    document.querySelector("[data-found]").textContent = `${left} of ${rows.length}`;
    document.querySelector("[data-none]").hidden = left > 0;
  };
  input.addEventListener("input", show);
  changed.addEventListener("change", show);
  show();
}
