// The language of the page: its texts, its examples, and how they reach the elements.

import { EXAMPLES as EXAMPLES_EN, WORDS as WORDS_EN } from "./words_en.js";
import { EXAMPLES as EXAMPLES_ZH, WORDS as WORDS_ZH } from "./words_zh.js";

const WORDS = { en: WORDS_EN, zh: WORDS_ZH };
const EXAMPLES = { ...EXAMPLES_ZH, ...EXAMPLES_EN };

let language = "en";

export const currentLanguage = () => language;

export const say = (key, values = {}) => WORDS[language][key].replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);

// What a panel shows before anybody types, for models of a language or a form.
export const examplesOf = (panel, kind) => EXAMPLES[`${panel}_${kind}`];

// A text of the page as a list of strings and nodes, which stand in place of {names}.
export function sayNodes(key, nodes) {
  return WORDS[language][key].split(/\{(\w+)\}/).flatMap((part, place) => (place % 2 ? nodes[part] : part ? [part] : []));
}

const ATTRIBUTES = { "data-word-placeholder": "placeholder", "data-word-label": "aria-label", "data-word-title": "title" };

// Says all texts below an element in the language of the page.
export function relabel(place) {
  for (const each of place.querySelectorAll("[data-word]")) each.textContent = say(each.dataset.word);
  for (const [data, attribute] of Object.entries(ATTRIBUTES)) {
    for (const each of place.querySelectorAll(`[${data}]`)) each.setAttribute(attribute, say(each.getAttribute(data)));
  }
}

export function speak(chosen) {
  language = chosen in WORDS ? chosen : "en";
  document.documentElement.lang = language === "zh" ? "zh-Hans" : "en";
  relabel(document);
}
