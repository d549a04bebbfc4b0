// Shows times in the user's time zone, with the exact time on hover.

const moment = { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" };
const thisYear = new Intl.DateTimeFormat(undefined, moment);
const otherYear = new Intl.DateTimeFormat(undefined, { ...moment, year: "numeric" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });

export function localise(root = document) {
  for (const each of root.querySelectorAll("time[data-moment]")) {
    const at = new Date(each.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    const isRecent = at.getFullYear() === new Date().getFullYear();
    each.textContent = (isRecent ? thisYear : otherYear).format(at);
    each.title = exact.format(at);
    each.removeAttribute("data-moment");
  }
}
