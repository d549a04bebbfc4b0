// Asks the API as the person who is signed in, and tells in a sentence what went wrong.

export class Refused extends Error {
  constructor(status, sentence, problem) {
    super(sentence);
    this.status = status;
    this.problem = problem;
  }
}

const csrf = () => document.querySelector('meta[name="csrf"]')?.content ?? "";

function headersFor(method, body, type) {
  const headers = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = type ?? "application/json";
  if (method !== "GET" && csrf()) headers["X-CSRF-Token"] = csrf();
  return headers;
}

async function sentenceOf(answer) {
  const problem = await answer.json().catch(() => null);
  return [problem?.detail ?? `The server answered ${answer.status}.`, problem];
}

/** For those whose session is over; they come back to where they are. */
export function toSignIn() {
  const here = encodeURIComponent(location.pathname + location.search);
  location.assign(`/sign-in?next=${here}&expired=1`);
}

/** `path` is below /api/v3; a body that is not text is sent as JSON. */
export async function call(method, path, body, { type, headers } = {}) {
  const text = body === undefined || typeof body === "string" || body instanceof Blob ? body : JSON.stringify(body);
  let answer;
  try {
    answer = await fetch(`/api/v3${path}`, {
      method, body: text, headers: { ...headersFor(method, body, type), ...headers }, credentials: "same-origin",
    });
  } catch {
    throw new Refused(0, "The server cannot be reached; nothing was changed. Try again in a moment.", null);
  }
  if (answer.status === 401 && !path.startsWith("/session")) toSignIn();
  if (!answer.ok) throw new Refused(answer.status, ...(await sentenceOf(answer)));
  return answer.status === 204 ? null : answer.json();
}

/** A part of a page of ours, as HTML that the server escaped. */
export async function part(address) {
  const answer = await fetch(address, { headers: { Accept: "text/html" }, credentials: "same-origin" });
  if (!answer.ok || answer.redirected) throw new Refused(answer.status, "This could not be shown anew; reload the page.", null);
  return answer.text();
}
