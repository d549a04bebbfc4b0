// What a page gets wrong for people who do not see it, see it badly or use no mouse; as sentences.
() => {
  const found = [];
  const say = (what, element) => found.push(`${what}: ${element.outerHTML.slice(0, 160)}`);
  const shown = (element) => element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });
  const all = (selector) => [...document.querySelectorAll(selector)];

  // Names
  const nameOf = (element) =>
    element.getAttribute("aria-label") || document.getElementById(element.getAttribute("aria-labelledby"))?.textContent
    || [...(element.labels ?? [])].map((each) => each.textContent).join(" ") || element.textContent || element.title || element.alt || "";
  for (const element of all("a[href], button, input:not([type=hidden]), select, textarea, summary, [role=button]"))
    if (shown(element) && !nameOf(element).trim()) say("has no name", element);
  for (const element of all("svg"))
    if (!element.closest("[aria-hidden=true]") && !(element.getAttribute("role") === "img" && (element.querySelector("title") || element.getAttribute("aria-label") || element.getAttribute("aria-labelledby"))))
      say("a picture without words", element);

  // Order
  if (!document.documentElement.lang) found.push("the page has no language");
  if (all("h1").filter(shown).length !== 1) found.push(`the page has ${all("h1").filter(shown).length} main headings`);
  let level = 0;
  for (const heading of all("main h1, main h2, main h3, main h4")) {
    const own = Number(heading.tagName[1]);
    if (own > level + 1) say("a heading skips a level", heading);
    level = own;
  }
  const ids = all("[id]").map((each) => each.id);
  for (const id of new Set(ids.filter((each, index) => ids.indexOf(each) !== index))) found.push(`the id ${id} is there twice`);
  for (const table of all("table"))
    if (!table.caption && !table.getAttribute("aria-label") && !table.getAttribute("aria-labelledby")) say("a table without a title", table);
  for (const heading of all("th:not([scope])")) say("a heading cell without its direction", heading);
  for (const element of all("[tabindex]")) if (element.tabIndex > 0) say("takes the focus out of turn", element);

  // Contrast
  const colour = (text) => {
    const parts = text.match(/[\d.]+/g).map(Number);
    return { rgb: parts.slice(0, 3), alpha: parts.length > 3 ? parts[3] : 1 };
  };
  const light = ([r, g, b]) => {
    const line = (value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * line(r) + 0.7152 * line(g) + 0.0722 * line(b);
  };
  const mixed = (over, under, alpha) => over.map((value, index) => value * alpha + under[index] * (1 - alpha));
  const behind = (element) => {
    if (!element) return [255, 255, 255];
    const { rgb, alpha } = colour(getComputedStyle(element).backgroundColor);
    return alpha === 1 ? rgb : mixed(rgb, behind(element.parentElement), alpha);
  };
  const faint = (element) => {
    for (let each = element; each; each = each.parentElement) if (Number(getComputedStyle(each).opacity) < 1) return true;
    return false;
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !shown(element) || element.closest("[disabled], .unseen, svg, option") || faint(element)) continue;
    const style = getComputedStyle(element);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const ground = behind(element);
    const { rgb, alpha } = colour(style.color);
    const [bright, dark] = [light(mixed(rgb, ground, alpha)), light(ground)].sort((a, b) => b - a);
    const ratio = (bright + 0.05) / (dark + 0.05);
    if (ratio < (large ? 3 : 4.5)) say(`contrast of ${ratio.toFixed(2)} in "${walker.currentNode.data.trim().slice(0, 40)}"`, element);
  }
  return [...new Set(found)];
}
