// Form for a stage's pace. An empty field means that the setting applies.

const fields = (form) => [...form.querySelectorAll('input[type="number"]')];

/** All fields, so that emptied ones are reset. */
export const paceIn = (form) =>
  Object.fromEntries(fields(form).map((each) => [each.name, each.value === "" ? null : Number(each.value)]));

export const takeBack = (form) => Object.fromEntries(fields(form).map((each) => [each.name, null]));

function shownBeside(form) {
  const shown = form.closest("[data-stage]").querySelectorAll("[data-pace-name]");
  return Object.fromEntries([...shown].map((each) => [each.dataset.paceName, each.dataset.paceChanged]));
}

/** Fills the form with these overrides, or with those shown in the figures. */
export function fillPace(form, changes = shownBeside(form)) {
  for (const each of fields(form)) each.value = changes[each.name] ?? "";
}
