// Small pieces that every panel is made of. All text is set as text: nothing that a user or a model
// wrote is ever parsed as markup.

import { Refused } from "./asking.js";
import { currentLanguage, say } from "./words.js";

export function node(tag, { text, ...attributes } = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  made.append(...children);
  return made;
}

// An element whose text follows the language of the page.
export const worded = (tag, word, attributes = {}) => node(tag, { "data-word": word, text: say(word), ...attributes });

export const button = (word, act, attributes = {}) => {
  const made = worded("button", word, { type: "button", class: "plain", ...attributes });
  made.addEventListener("click", act);
  return made;
};

// A field below its label.
export function labelled(word, field, attributes = {}) {
  return node("div", { class: "field", ...attributes }, worded("label", word, { for: field.id }), field);
}

export const area = (id, rows = 3) => node("textarea", { id, rows, dir: "auto", spellcheck: "false" });
export const line = (id) => node("input", { id, type: "text", dir: "auto", autocomplete: "off", spellcheck: "false" });

export function choice(word, select) {
  return node("label", { class: "choice" }, worded("span", word), " ", select);
}

export function fillOptions(select, values, shown = (value) => value) {
  const before = select.value;
  select.replaceChildren(...values.map((value) => node("option", { value, text: shown(value) })));
  if (values.includes(before)) select.value = before;
}

export function percent(share) {
  const space = currentLanguage() === "zh" ? "" : "\u2009";
  if (share > 0.994 && share < 1) return `> 99${space}%`;
  if (share > 0 && share < 0.005) return `< 1${space}%`;
  return `${Math.round(100 * share)}${space}%`;
}

// How likely something is, in words.
export function likelihood(share) {
  const levels = [[0.9, "veryLikely"], [0.7, "likely"], [0.4, "possible"]];
  return say((levels.find(([least]) => share >= least) ?? [0, "unlikely"])[1]);
}

export function bar(share) {
  const made = node("span", { class: "bar", "aria-hidden": "true" });
  made.style.setProperty("--share", `${Math.max(100 * Math.min(share, 1), 1)}%`);
  return made;
}

// A probability as words, a number and a bar.
export function scoreLine(score) {
  const said = node("span", { class: "said" }, node("b", { text: likelihood(score) }), ` · ${percent(score)}`);
  return node("p", { class: "score" }, said, bar(score));
}

// Names with probabilities, the chosen one in bold.
export function shareList(shares, chosen, named) {
  const rows = shares.map(([name, share]) => {
    const row = node("li", {}, node("bdi", { text: named(name) }), bar(share), node("span", { class: "value", text: percent(share) }));
    row.classList.toggle("chosen", name === chosen);
    return row;
  });
  return node("ul", { class: "shares", "aria-label": say("probabilities") }, ...rows);
}

export function headline(text, number) {
  const value = number === undefined ? [] : [node("span", { class: "number", text: percent(number) })];
  return node("p", { class: "headline" }, node("bdi", { text }), ...value);
}

// What a label is called in the language of the page.
export function labelName(model, label) {
  const names = model.label_names?.[label];
  return names?.[currentLanguage()] ?? names?.en ?? label;
}

// Buttons that fill in an example.
export function exampleButtons(texts, act) {
  const made = texts.map((text) => {
    const each = node("button", { type: "button", class: "example", dir: "auto", text });
    each.addEventListener("click", () => act(text));
    return each;
  });
  return node("div", { class: "examples", hidden: texts.length ? undefined : "" }, worded("span", "examples", { class: "quiet" }), ...made);
}

// What went wrong, as a list of nodes. What servers say is in English on every page.
export function faultNodes(fault) {
  if (!(fault instanceof Refused)) return [say("unreachable")];
  if (!fault.message) return [say("status", { status: fault.status })];
  const said = node("span", { lang: "en", text: fault.message });
  return currentLanguage() === "en" ? [said] : [say("refused"), said];
}
