// What every word of a text is: coloured words, and a legend that counts them.

import { ask } from "../asking.js";
import { area, labelled, labelName, node, worded } from "../nodes.js";
import { TaskPanel } from "../task_panel.js";
import { say } from "../words.js";

const HUES = 12;
const COLOURLESS = ["O", "PUNCT", "SYM", "X"];

// What stands before each token: spaces or nothing, as in the text; spaces if tokens are not parts of it.
function gapsOf(text, tokens) {
  let end = 0;
  const gaps = tokens.map((token) => {
    const start = text.indexOf(token, end);
    const gap = text.slice(end, start);
    end = start + token.length;
    return start < 0 || gap.trim() ? null : gap;
  });
  return gaps.includes(null) ? tokens.map((_, place) => (place ? " " : "")) : gaps;
}

export class TagPanel extends TaskPanel {
  constructor(models, page) {
    super("tag", models, page);
  }

  fields() {
    this.text = area("tag-text");
    return [labelled("text", this.text)];
  }

  state() {
    return { text: this.text.value };
  }

  restore({ text = "" }) {
    this.text.value = text;
  }

  isReady() {
    return Boolean(this.text.value.trim());
  }

  async ask(model, signal) {
    return (await ask("/v1/tag", { model: model.name, texts: [this.text.value] }, signal)).answers[0];
  }

  // Pieces of the text with their labels: spans where tags stand for spans, else words. What stands
  // before a piece is as in the text.
  pieces({ text, tokens, tags, spans }) {
    const gaps = gapsOf(text, tokens);
    const isSpan = (tag) => /^[BIESLU]-/.test(tag);
    if (!spans.length && !tags.some(isSpan) && !tags.every((tag) => tag === "O")) return tokens.map((token, place) => ({ text: token, label: tags[place], gap: gaps[place] }));
    const found = [];
    for (let place = 0; place < tokens.length; ) {
      const span = spans.find((each) => each.start === place);
      const [end, label] = span ? [span.end, span.label] : [place + 1, "O"];
      const words = tokens.slice(place, end).map((token, number) => (number ? gaps[place + number] : "") + token);
      found.push({ text: words.join(""), label, gap: gaps[place] });
      place = end;
    }
    return found;
  }

  hue(label, model) {
    if (COLOURLESS.includes(label)) return "plain-tag";
    const place = (model.labels ?? []).filter((each) => !COLOURLESS.includes(each)).indexOf(label);
    return `hue${Math.max(place, 0) % HUES}`;
  }

  counts(found) {
    const counts = new Map();
    for (const { label } of this.pieces(found)) if (label !== "O") counts.set(label, (counts.get(label) ?? 0) + 1);
    return [...counts].sort((one, other) => other[1] - one[1]);
  }

  say(found, model) {
    const counted = this.counts(found).map(([label, count]) => `${labelName(model, label)} ${count}`);
    return counted.length ? counted.join(say("comma")) : say("noTags");
  }

  show(found, model) {
    const words = this.pieces(found).flatMap(({ text, label, gap }) => [gap, this.word(text, label, model)]);
    const counts = this.counts(found);
    if (!counts.length) return node("div", { class: "found" }, node("p", { class: "tagged", dir: "auto" }, ...words), worded("p", "noTags", { class: "hint" }));
    const legend = counts.map(([label, count]) => this.entry(label, count, model));
    const title = worded("h3", "legend");
    return node("div", { class: "found" }, node("p", { class: "tagged", dir: "auto" }, ...words), title, node("ul", { class: "legend" }, ...legend));
  }

  word(text, label, model) {
    if (label === "O") return node("bdi", { text });
    const small = node("small", { title: labelName(model, label), text: label });
    return node("span", { class: `tagged-word ${this.hue(label, model)}`, "data-label": label }, node("bdi", { text }), small);
  }

  // An entry of the legend, which shows its words alone while it is pressed.
  entry(label, count, model) {
    const name = labelName(model, label);
    const made = node("button", { type: "button", class: `key ${this.hue(label, model)}`, "aria-pressed": "false" }, node("b", { text: label }), name === label ? "" : ` ${name}`, node("span", { class: "count", text: ` ${count}` }));
    made.addEventListener("click", () => {
      const pressed = made.getAttribute("aria-pressed") !== "true";
      const result = made.closest(".result");
      for (const other of result.querySelectorAll(".key")) other.setAttribute("aria-pressed", "false");
      made.setAttribute("aria-pressed", String(pressed));
      for (const word of result.querySelectorAll(".tagged-word")) word.classList.toggle("faded", pressed && word.dataset.label !== label);
    });
    return node("li", {}, made);
  }
}
