// Users enter local times; the URL contains UTC, so that it can be shared.

const form = document.getElementById("narrowing");
const two = (number) => String(number).padStart(2, "0");

function here(at) {
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${two(at.getHours())}:${two(at.getMinutes())}`;
}

for (const field of form.querySelectorAll("[data-moment-of]")) {
  const moment = form.elements[field.dataset.momentOf];
  const at = new Date(moment.value);
  if (moment.value && !Number.isNaN(at.getTime())) field.value = here(at);
  field.addEventListener("change", () => {
    moment.value = field.value ? new Date(field.value).toISOString() : "";
  });
}
