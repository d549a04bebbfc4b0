// Refreshes the page's parts after a change.

import { part } from "./api.js";
import { put } from "./live.js";

const written = "input:not([type=hidden]), textarea";
const isBeingWritten = (place) => [...place.querySelectorAll(written)].some((each) => each.value !== each.defaultValue);

/** Keeps text being typed; only the hidden fields of the form are updated. */
function bringUpToDate(place, fresh) {
  for (const each of fresh.querySelectorAll("input[type=hidden]")) {
    const kept = place.querySelector(`input[type=hidden][name="${CSS.escape(each.name)}"]`);
    if (kept) kept.value = each.value;
  }
}

export async function renew() {
  const fresh = new DOMParser().parseFromString(await part(location.href), "text/html");
  for (const each of fresh.querySelectorAll("[data-part]")) {
    const place = document.getElementById(each.id);
    if (!place) continue;
    if (isBeingWritten(place)) {
      bringUpToDate(place, each);
      continue;
    }
    place.className = each.className;
    put(each.id, each.innerHTML);
  }
}
