// Keeps parts of the page true: one stream for all tabs, taken up again by itself, parts put in place when they differ.

import { call, toSignIn } from "./api.js";
import { localise } from "./moments.js";

const lost = () => document.getElementById("connection");

/** Replaces what is inside an element and leaves the focus where it was. */
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

/** The stream that all tabs of this browser share; a tab that nobody sees leaves it. */
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

/** A stream of this tab's own, where browsers have no shared workers (Android). */
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

/** Elements with data-live name the view; there is one of them on a page. */
export function follow() {
  const page = document.querySelector("[data-live]");
  if (!page) return;
  const address = page.dataset.live;
  const shown = new Map();
  let stream;
  // A server that answers with an error ends the stream for good; we ask again, if it still knows us.
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
      if (shown.get(id) === html) continue; // sent once more after a break
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
