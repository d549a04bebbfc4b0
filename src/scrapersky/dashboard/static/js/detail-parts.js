// Shows the page's parts anew after something was changed, without leaving it.

import { part } from "./api.js";
import { put } from "./live.js";

const written = "input:not([type=hidden]), textarea";
const isBeingWritten = (place) => [...place.querySelectorAll(written)].some((each) => each.value !== each.defaultValue);

/** What somebody is writing stays; only what the form knows of the row is brought up to date. */
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
