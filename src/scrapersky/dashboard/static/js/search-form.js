// Search form: fetches the estimate while typing and shows errors at their fields.

import { call } from "./api.js";
import { tellEstimate, tellNothing } from "./search-estimate.js";

const ESTIMATE_AFTER_MS = 400;
/** Fields for API errors that name no field. */
const MEANT = [
  [/^No location/, ["location"]],
  [/business_type/, ["business_type"]],
  [/Google API key/, ["provider"]],
  [/latitude/i, ["center.latitude", "area"]],
  [/longitude/i, ["center.longitude", "area"]],
  [/radius/i, ["radius_km"]],
  [/\barea\b|globe/i, ["area"]],
];

const form = document.getElementById("search");
const start = form.querySelector("button.main");
const touched = new Set();
let asked = 0;
let timer;

/** Hides and disables the fields of the other area types. */
function showWay() {
  const { value } = form.elements.way;
  for (const each of form.querySelectorAll("[data-way]")) {
    each.hidden = each.dataset.way !== value;
    for (const field of each.querySelectorAll("input")) field.disabled = each.hidden;
  }
}

/** Sends invalid numbers unchanged, so that the API reports the error. */
function numberOf(text) {
  const read = Number(text.replace(",", "."));
  return Number.isFinite(read) ? read : text;
}

function valueOf(field) {
  if (field.type === "checkbox") return field.checked;
  const text = field.value.trim();
  if (!text) return null;
  if (field.dataset.kind === "boolean") return text === "true";
  return field.dataset.kind === "number" ? numberOf(text) : text;
}

/** Field names are paths in the request: `center.latitude`. */
function put(body, name, value) {
  const [outer, inner] = name.split(".");
  if (inner) (body[outer] ??= {})[inner] = value;
  else body[outer] = value;
}

const isSent = (field) => field.name && field.name !== "way" && !field.disabled && (field.type !== "radio" || field.checked);

function bodyOf() {
  const body = {};
  for (const field of [...form.elements].filter(isSent)) {
    const value = valueOf(field);
    if (value !== null) put(body, field.name, value);
  }
  return body;
}

const fieldsOf = (name) => [...form.elements].filter((each) => !each.disabled && name && (each.name === name || each.name.startsWith(`${name}.`)));
const placesOf = (name) => [...form.querySelectorAll("[data-wrong]")].filter((each) => each.dataset.wrong === name && !each.closest("[data-way][hidden]"));

function sayAt(name, sentence) {
  const places = placesOf(name);
  for (const place of places) {
    place.textContent = sentence;
    place.hidden = !sentence;
  }
  for (const field of fieldsOf(name)) field.setAttribute("aria-invalid", String(Boolean(sentence)));
  return places.length > 0;
}

function clear() {
  for (const place of form.querySelectorAll("[data-wrong]")) {
    place.textContent = "";
    place.hidden = true;
  }
  for (const field of form.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
}

/** The form field of an API error; "" if there is none. */
function nameOf(where) {
  if (placesOf(where).length) return where;
  const outer = where.split(".")[0];
  return placesOf(outer).length ? outer : "";
}

const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;

function meantBy(text) {
  const [, names] = MEANT.find(([words]) => words.test(text)) ?? [null, []];
  return names.find((name) => placesOf(name).length) ?? "";
}

function wrongsIn(error) {
  const told = error.problem?.errors ?? [];
  if (!told.length) return [[meantBy(error.message), error.message]];
  return told.map(({ where, what }) => [nameOf(where), sentence(what.replace(/^Value error, /, ""))]);
}

/** Errors for empty required fields, as the API would report them. */
function missing() {
  const needed = [...form.elements].filter((each) => each.required && !each.disabled && !each.value.trim());
  return needed.map((each) => [each.name, "Required."]);
}

function tellWrongs(wrongs) {
  clear();
  const told = wrongs.filter(([name, text]) => sayAt(name, text));
  const first = told.map(([name]) => fieldsOf(name)[0]).find(Boolean);
  return { told, first };
}

/** Untouched fields show no error. */
const isTouched = (name) => !name || [...touched].some((each) => each === name || each.startsWith(`${name}.`));

async function estimate() {
  const number = ++asked;
  if (missing().length) {
    clear();
    return tellNothing("Enter a business type and an area to see the cost.");
  }
  try {
    const answer = await call("POST", "/places/search", { ...bodyOf(), dry_run: true });
    if (number !== asked) return;
    clear();
    tellEstimate(answer.estimate);
  } catch (error) {
    if (number !== asked) return;
    const wrongs = wrongsIn(error).filter(([name]) => isTouched(name));
    tellWrongs(wrongs);
    tellNothing("Fix the errors to see the cost.");
  }
}

function estimateSoon() {
  clearTimeout(timer);
  timer = setTimeout(estimate, ESTIMATE_AFTER_MS);
}

async function begin(event) {
  event.preventDefault();
  if (start.disabled) return;
  clearTimeout(timer);
  asked += 1;
  const empty = missing();
  if (empty.length) return tellWrongs(empty).first?.focus();
  start.disabled = true;
  try {
    const answer = await call("POST", "/places/search", bodyOf());
    location.assign(`/searches/${answer.search_id}`);
  } catch (error) {
    start.disabled = false;
    tellWrongs(wrongsIn(error)).first?.focus();
  }
}

form.addEventListener("submit", begin);
form.addEventListener("input", (event) => {
  touched.add(event.target.name);
  if (event.target.name === "way") showWay();
  estimateSoon();
});
addEventListener("pageshow", () => { start.disabled = false; });
showWay();
estimateSoon();
