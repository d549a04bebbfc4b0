// The form that changes a stage's pace. An empty field means: as the settings say.

const fields = (form) => [...form.querySelectorAll('input[type="number"]')];

/** Every field, so that what was emptied is taken back. */
export const paceIn = (form) =>
  Object.fromEntries(fields(form).map((each) => [each.name, each.value === "" ? null : Number(each.value)]));

export const takeBack = (form) => Object.fromEntries(fields(form).map((each) => [each.name, null]));

function shownBeside(form) {
  const shown = form.closest("[data-stage]").querySelectorAll("[data-pace-name]");
  return Object.fromEntries([...shown].map((each) => [each.dataset.paceName, each.dataset.paceChanged]));
}

/** With these changes, or with those that the figures beside it tell. */
export function fillPace(form, changes = shownBeside(form)) {
  for (const each of fields(form)) each.value = changes[each.name] ?? "";
}
