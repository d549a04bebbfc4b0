// A decision about the row of this page, and taking it back.

import { call } from "./api.js";
import { renew } from "./detail-parts.js";
import { complain, toast } from "./messages.js";

let last = null;

export async function decideOn(button) {
  const { rows, row } = button.closest("[data-rows]").dataset;
  const status = button.dataset.decide;
  try {
    const answer = await call("POST", `/${rows}/curate`, { ids: [row], status });
    if (!answer.action_id) return toast(`It is ${status} already.`);
    last = answer.action_id;
    const queued = answer.queued_count ? "; its next stage begins" : "";
    const told = answer.message ? `Decided: ${status}. ${answer.message}` : `Decided: ${status}${queued}.`;
    toast(told, { act: "Undo", onAct: undo });
    await renew();
  } catch (error) {
    complain(error);
  }
}

export async function undo() {
  if (!last) return toast("There is no decision of this page to take back.", { tone: "bad" });
  const action = last;
  last = null;
  try {
    const answer = await call("POST", "/bulk-actions/undo", { action_id: action });
    toast(answer.restored_count ? "Taken back." : "It was changed meanwhile; nothing was taken back.");
    await renew();
  } catch (error) {
    complain(error);
  }
}
