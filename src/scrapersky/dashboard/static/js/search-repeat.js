// Dialog that repeats a search every N days.

import { call } from "./api.js";
import { renew } from "./detail-parts.js";
import { complain, toast } from "./messages.js";
import { submitting } from "./team.js";

document.addEventListener("submit", async (event) => {
  const form = event.target;
  const { repeat } = form.dataset;
  if (!repeat) return;
  event.preventDefault();
  const days = Number(form.elements.days.value);
  const isDone = await submitting(form, () => call("POST", `/places/search/${repeat}/repeat`, { every_days: days }));
  if (!isDone) return;
  form.elements.days.defaultValue = String(days);
  form.closest("dialog").close();
  toast(`Repeats every ${days === 1 ? "day" : `${days} days`}`);
  await renew().catch(complain);
});
