// Keeps parts of the page true: one stream, taken up again by itself, parts put in place when they differ.

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

/** Elements with data-live name the view; there is one of them on a page. */
export function follow() {
  const page = document.querySelector("[data-live]");
  if (!page) return;
  let stream;
  // A server that answers with an error ends the stream for good; we ask again, if it still knows us.
  const again = async () => {
    const refused = await call("GET", "/session").catch((error) => error);
    if (refused.status === 401) toSignIn();
    else setTimeout(open, 3000);
  };
  const open = () => {
    stream = new EventSource(page.dataset.live);
    stream.addEventListener("open", () => { lost().hidden = true; });
    stream.addEventListener("parts", (event) => {
      for (const [id, html] of Object.entries(JSON.parse(event.data))) put(id, html);
    });
    stream.addEventListener("error", () => {
      lost().hidden = false;
      if (stream.readyState === EventSource.CLOSED) again();
    });
  };
  open();
  addEventListener("pagehide", () => stream.close());
  addEventListener("pageshow", (event) => { if (event.persisted) open(); });
}
