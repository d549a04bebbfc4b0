// Live updates: one stream for all tabs, with automatic reconnect; changed parts are replaced.

import { call, toSignIn } from "./api.js";
import { localise } from "./moments.js";

const lost = () => document.getElementById("connection");

/** Replaces the content of an element and keeps the focus. */
export function put(id, html) {
  const place = document.getElementById(id);
  if (!place) return;
  const held = place.contains(document.activeElement) ? document.activeElement.id : "";
  const fresh = document.createElement("template");
  fresh.innerHTML = html;
  localise(fresh.content);
  place.replaceChildren(fresh.content);
  if (held) document.getElementById(held)?.focus({ preventScroll: true });
  place.dispatchEvent(new CustomEvent("renewed", { bubbles: true }));
}

/** The stream shared by all tabs of this browser; hidden tabs leave it. */
function joinShared(address, hear, failed) {
  const worker = new SharedWorker(new URL("./live_worker.js", import.meta.url), { name: "live" });
  worker.addEventListener("error", failed);
  worker.port.addEventListener("message", (event) => hear(event.data));
  worker.port.start();
  return {
    join: () => worker.port.postMessage({ join: address }),
    leave: () => worker.port.postMessage({ leave: true }),
  };
}

/** A separate stream for this tab, for browsers without shared workers (Android). */
function joinAlone(address, hear) {
  let stream;
  const leave = () => stream?.close();
  const join = () => {
    leave();
    stream = new EventSource(address);
    stream.addEventListener("open", () => hear({ open: true }));
    stream.addEventListener("parts", (event) => hear({ parts: JSON.parse(event.data) }));
    stream.addEventListener("error", () => hear({ lost: true, refused: stream.readyState === EventSource.CLOSED }));
  };
  return { join, leave };
}

/** The element with data-live names the view; there is at most one per page. */
export function follow() {
  const page = document.querySelector("[data-live]");
  if (!page) return;
  const address = page.dataset.live;
  const shown = new Map();
  let stream;
  // An error response closes an EventSource permanently, so reconnect unless the session expired.
  const again = async () => {
    const refused = await call("GET", "/session").catch((error) => error);
    if (refused.status === 401) toSignIn();
    else setTimeout(() => { if (!document.hidden) stream.join(); }, 3000);
  };
  const hear = ({ open, parts, lost: broken, refused }) => {
    if (open) lost().hidden = true;
    if (broken) lost().hidden = false;
    if (refused) again();
    for (const [id, html] of Object.entries(parts ?? {})) {
      if (shown.get(id) === html) continue; // sent again after a reconnect
      shown.set(id, html);
      put(id, html);
    }
  };
  const alone = () => {
    stream = joinAlone(address, hear);
    if (!document.hidden) stream.join();
  };
  if (window.SharedWorker) stream = joinShared(address, hear, alone);
  else stream = joinAlone(address, hear);
  if (!document.hidden) stream.join();
  document.addEventListener("visibilitychange", () => { if (document.hidden) stream.leave(); else stream.join(); });
  addEventListener("pagehide", () => stream.leave());
  addEventListener("pageshow", (event) => { if (event.persisted) stream.join(); });
}
