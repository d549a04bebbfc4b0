// The live stream shared by all tabs: tabs join with the address of their view and get its parts. With HTTP/1.1 a
// browser opens six connections to a server; a stream for each tab would leave none for the seventh.

const MAX_VIEWS = 50; // limit of the server
const JOIN_MS = 50; // tabs opened together share one connection
const LEAVE_MS = 5000; // switching tabs does not close the stream

const tabs = new Map(); // port to address
const latest = new Map(); // address to its parts, for tabs that join later
let stream = null;
let opened = "";
let timer;

const tellAll = (message) => { for (const port of tabs.keys()) port.postMessage(message); };
const wantedViews = () => [...new Set(tabs.values())].slice(-MAX_VIEWS).sort();

function close() {
  stream?.close();
  stream = null;
  opened = "";
}

function deliver(named) {
  const news = new Map();
  for (const [name, html] of Object.entries(named)) {
    const at = name.lastIndexOf("#");
    const address = name.slice(0, at);
    news.set(address, { ...news.get(address), [name.slice(at + 1)]: html });
  }
  for (const [address, parts] of news) latest.set(address, { ...latest.get(address), ...parts });
  for (const [port, address] of tabs) if (news.has(address)) port.postMessage({ parts: news.get(address) });
}

function open() {
  const views = wantedViews();
  const address = `/live?${new URLSearchParams(views.map((view) => ["view", view]))}`;
  if (stream && address === opened) return;
  close();
  for (const known of latest.keys()) if (!views.includes(known)) latest.delete(known);
  if (!views.length) return;
  opened = address;
  stream = new EventSource(address);
  stream.addEventListener("open", () => tellAll({ open: true }));
  stream.addEventListener("parts", (event) => deliver(JSON.parse(event.data)));
  stream.addEventListener("error", () => {
    const refused = stream.readyState === EventSource.CLOSED;
    if (refused) close();
    tellAll({ lost: true, refused });
  });
}

let openAt = Infinity;

/** Schedules the earlier of the planned and this time. */
function plan(delay) {
  const at = Date.now() + delay;
  if (at >= openAt) return;
  openAt = at;
  clearTimeout(timer);
  timer = setTimeout(() => { openAt = Infinity; open(); }, delay);
}

addEventListener("connect", ({ ports: [port] }) => {
  port.addEventListener("message", ({ data: { join, leave } }) => {
    if (leave) {
      tabs.delete(port);
      plan(LEAVE_MS);
      return;
    }
    tabs.set(port, join);
    if (stream?.readyState === EventSource.OPEN) port.postMessage({ open: true });
    if (latest.has(join)) port.postMessage({ parts: latest.get(join) });
    plan(JOIN_MS);
  });
  port.start();
});
