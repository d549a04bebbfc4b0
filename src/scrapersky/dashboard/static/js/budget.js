// Dialogs for the monthly caps: the own tenant's, and for operators any tenant's and the installation's.

import { call } from "./api.js";
import { renew } from "./detail-parts.js";
import { complain, toast } from "./messages.js";
import { submitting } from "./team.js";

const inDollars = (usd) => `${Number(usd).toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 6 })} USD`;

const orSetting = (cap) => (cap === "" ? null : cap);

const FORMS = {
  cap: async ({ cap }) => {
    const changed = await call("PUT", "/budget", { monthly_cap_usd: cap });
    return `Monthly cap set to ${inDollars(changed.monthly_cap_usd)}`;
  },
  "installation-cap": async ({ cap }) => {
    await call("PUT", "/budget/installation", { monthly_cap_usd: orSetting(cap) });
    return "Installation cap saved";
  },
  "tenant-cap": async ({ tenant, cap }) => {
    await call("PUT", `/budget/tenants/${tenant}`, { monthly_cap_usd: orSetting(cap) });
    return "Tenant cap saved";
  },
};

document.addEventListener("submit", async (event) => {
  const form = event.target;
  const save = FORMS[form.dataset.form];
  if (!save) return;
  event.preventDefault();
  let sentence;
  const isDone = await submitting(form, async (values) => {
    sentence = await save(values);
  });
  if (!isDone) return;
  form.elements.cap.defaultValue = form.elements.cap.value;
  form.closest("dialog").close();
  toast(sentence);
  await renew().catch(complain);
});
