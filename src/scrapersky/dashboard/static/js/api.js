// Calls the API with the current session and turns errors into messages.

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
  return [problem?.detail ?? `Server error ${answer.status}.`, problem];
}

/** Redirects to sign-in after the session expired, and back afterwards. */
export function toSignIn() {
  const here = encodeURIComponent(location.pathname + location.search);
  location.assign(`/sign-in?next=${here}&expired=1`);
}

/** `path` is relative to /api/v3; a body that is not a string is sent as JSON. */
export async function call(method, path, body, { type, headers } = {}) {
  const text = body === undefined || typeof body === "string" || body instanceof Blob ? body : JSON.stringify(body);
  let answer;
  try {
    answer = await fetch(`/api/v3${path}`, {
      method, body: text, headers: { ...headersFor(method, body, type), ...headers }, credentials: "same-origin",
    });
  } catch {
    throw new Refused(0, "The server is unreachable. Nothing was changed. Try again.", null);
  }
  if (answer.status === 401 && !path.startsWith("/session")) toSignIn();
  if (!answer.ok) throw new Refused(answer.status, ...(await sentenceOf(answer)));
  return answer.status === 204 ? null : answer.json();
}

/** Fetches a part of a page as HTML rendered by the server. */
export async function part(address) {
  const answer = await fetch(address, { headers: { Accept: "text/html" }, credentials: "same-origin" });
  if (!answer.ok || answer.redirected) throw new Refused(answer.status, "Could not refresh. Reload the page.", null);
  return answer.text();
}
