// Sets the status of the current row, and undoes it.

import { call } from "./api.js";
import { renew } from "./detail-parts.js";
import { complain, toast } from "./messages.js";

let last = null;

export async function decideOn(button) {
  const { rows, row } = button.closest("[data-rows]").dataset;
  const status = button.dataset.decide;
  try {
    const answer = await call("POST", `/${rows}/curate`, { ids: [row], status });
    if (!answer.action_id) return toast(`Already ${status}`);
    last = answer.action_id;
    const queued = answer.queued_count ? "; next stage queued" : "";
    const told = answer.message ? `Marked ${status}. ${answer.message}` : `Marked ${status}${queued}`;
    toast(told, { act: "Undo", onAct: undo });
    await renew();
  } catch (error) {
    complain(error);
  }
}

export async function undo() {
  if (!last) return toast("Nothing to undo on this page.", { tone: "bad" });
  const action = last;
  last = null;
  try {
    const answer = await call("POST", "/bulk-actions/undo", { action_id: action });
    toast(answer.restored_count ? "Undone" : "Not undone: the row was changed since.");
    await renew();
  } catch (error) {
    complain(error);
  }
}
