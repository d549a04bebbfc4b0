// Shows times in the person's own zone, with the exact moment when one points at it.

const short = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });

export function localise(root = document) {
  for (const each of root.querySelectorAll("time[data-moment]")) {
    const at = new Date(each.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    each.textContent = short.format(at);
    each.title = exact.format(at);
    each.removeAttribute("data-moment");
  }
}
