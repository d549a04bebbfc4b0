// Estimate of a search: requests, cost, free quota and remaining budget.

const at = (name) => document.querySelector(`[data-estimate="${name}"]`);
const count = (number) => Number(number).toLocaleString("en");
const dollars = (usd) => `${Number(usd).toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 3 })} USD`;
const range = (least, most, said) => (said(least) === said(most) ? said(least) : `${said(least)} to ${said(most)}`);

function show(name, text) {
  const place = at(name);
  if (place.textContent !== text) place.textContent = text;
  place.hidden = !text;
}

export function tellNothing(sentence) {
  show("sentence", sentence);
  show("refusal", "");
  at("figures").hidden = true;
}

export function tellEstimate(told) {
  show("sentence", told.fits ? told.sentence : "");
  show("refusal", told.fits ? "" : told.sentence);
  at("figures").hidden = !told.requests_max;
  show("requests", range(told.requests_min, told.requests_max, count));
  show("usd", Number(told.usd_max) ? range(told.usd_min, told.usd_max, dollars) : "free");
  show("free", `${count(told.free_left)} requests`);
  show("left", `${dollars(Math.max(told.cap_usd - told.spent_usd, 0))} of ${dollars(told.cap_usd)}`);
}
