// Sends a test event and waits for the result.

import { call } from "./api.js";
import { openDialog } from "./team.js";

const PATIENCE = 60_000;
const BETWEEN = 400;

const wait = (milliseconds) => new Promise((resolve) => { setTimeout(resolve, milliseconds); });

function say(dialog, sentence, tone = "") {
  const place = dialog.querySelector("[data-outcome]");
  place.className = `notice ${tone}`;
  place.textContent = sentence;
}

/** Message and tone; undefined while pending. */
function outcome({ status, attempts, response_status: answer, error }) {
  if (status === "delivered") return [`Delivered: HTTP ${answer}.`, "good"];
  if (status === "failed") return [`Not delivered. ${error ?? ""}`, "bad"];
  if (status === "skipped") return [`Not sent. ${error ?? ""}`, "poor"];
  if (status === "pending" && attempts && error) return [`First attempt failed; retrying automatically. ${error}`, "bad"];
  return null;
}

async function watched(dialog, id) {
  const until = Date.now() + PATIENCE;
  while (dialog.open && Date.now() < until) {
    const found = outcome(await call("GET", `/webhook-deliveries/${id}`));
    if (found) return found;
    await wait(BETWEEN);
  }
  return ["Still pending. Is a worker running?", "poor"];
}

export async function tryOut({ endpoint, url, description }) {
  const dialog = openDialog("trying", description || url);
  const link = dialog.querySelector("[data-delivery]");
  link.hidden = true;
  say(dialog, "Sending…");
  try {
    const { id } = await call("POST", `/webhooks/${endpoint}/test`);
    link.querySelector("a").href = `/webhook-deliveries/${id}`;
    const [sentence, tone] = await watched(dialog, id);
    say(dialog, sentence, tone);
    link.hidden = false;
  } catch (error) {
    say(dialog, error.message, "bad");
  }
}
