// What an answer owes to each word: green where it speaks for the answer, red where it speaks
// against it, with the number below.

import { levelClass } from "./alignment.js";
import { node, percent } from "./nodes.js";
import { say } from "./words.js";

// The change with the full colour where no word changes more, and the least that has a number.
const LEAST_SCALE = 0.5;
const LEAST_NUMBER = 0.05;
const SIDES = ["first", "second"];

const signed = (change) => `${change > 0 ? "+" : "−"}${Math.abs(change).toFixed(2)}`;

function word(text, change, scale, probability) {
  const level = levelClass(change >= 0 ? "p" : "c", Math.abs(change) / scale);
  const title = probability === undefined ? undefined : say("withoutIt", { share: percent(probability) });
  const small = node("small", { text: Math.abs(change) >= LEAST_NUMBER ? signed(change) : "" });
  return node("span", { class: "reason", title }, node("bdi", { class: level, text: text.trim() || "␣" }), small);
}

// The sentences as lines of words; those of a pair are marked as its two sides.
export function reasonLines({ words, changes, probabilities }, { isPair = false } = {}) {
  const scale = Math.max(LEAST_SCALE, ...changes.flat().map(Math.abs));
  return words.map((sentence, row) => {
    const made = sentence.map((text, place) => word(text, changes[row][place], scale, probabilities[row]?.[place]));
    return node("p", { class: `reasons ${isPair ? SIDES[row] : ""}`, dir: "auto" }, ...made);
  });
}

// The reasons of a pair below a title. `answer` is what the label is called; without it, it is a match.
export function reasonBoard(reasons, answer) {
  const title = answer === undefined ? say("owesMatch") : say("owes", { answer });
  return node(
    "div",
    { class: "owed" },
    node("h3", { dir: "auto", text: title }),
    ...reasonLines(reasons, { isPair: true }),
    node("p", { class: "quiet", text: say("owesAbout") }),
  );
}

// Several ways to show the words of one text, of which one is chosen. Each has a name, and what it shows.
export function views(choices) {
  const place = node("div", { class: "view" });
  const name = `view-${Math.random().toString(36).slice(2)}`;
  const group = node("fieldset", { class: "switch" }, node("legend", { text: say("wordsShow") }));
  choices.forEach(({ word: key, show }, index) => {
    const input = node("input", { type: "radio", name, value: key });
    input.checked = !index;
    input.addEventListener("change", () => place.replaceChildren(...show()));
    group.append(node("label", {}, input, node("span", { text: say(key) })));
  });
  place.replaceChildren(...choices[0].show());
  return [group, place];
}
