// The month's cap, changed in a dialog.

import { call } from "./api.js";
import { renew } from "./detail-parts.js";
import { complain, toast } from "./messages.js";
import { submitting } from "./team.js";

const inDollars = (usd) => `${Number(usd).toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 6 })} USD`;

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (form.dataset.form !== "cap") return;
  event.preventDefault();
  let changed;
  const isDone = await submitting(form, async ({ cap }) => {
    changed = await call("PUT", "/budget", { monthly_cap_usd: cap });
  });
  if (!isDone) return;
  form.elements.cap.defaultValue = form.elements.cap.value;
  form.closest("dialog").close();
  toast(`${inDollars(changed.monthly_cap_usd)} may be spent in a month now.`);
  await renew().catch(complain);
});
