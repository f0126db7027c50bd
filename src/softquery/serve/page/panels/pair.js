// Two sentences: what they are to each other, and which words asked which.

import { ask } from "../asking.js";
import { Board } from "../alignment.js";
import { area, button, headline, labelled, labelName, node, percent, shareList } from "../nodes.js";
import { reasonBoard } from "../reasons.js";
import { TaskPanel } from "../task_panel.js";
import { say } from "../words.js";

export class PairPanel extends TaskPanel {
  constructor(models, page) {
    super("pair", models, page, { live: 250 });
  }

  fields() {
    [this.one, this.other] = [area("first", 2), area("second", 2)];
    const swap = button("swapSign", () => this.swap(), { "data-word-label": "swap", "data-word-title": "swap", "aria-label": say("swap"), id: "swap" });
    return [node("div", { class: "pair" }, labelled("first", this.one, { class: "field first" }), swap, labelled("second", this.other, { class: "field second" }))];
  }

  exampleKind() {
    return this.model.labels?.includes("entailment") ? "nli" : super.exampleKind();
  }

  state() {
    return { a: this.one.value, b: this.other.value };
  }

  restore({ a = "", b = "" }) {
    [this.one.value, this.other.value] = [a, b];
  }

  isReady() {
    return Boolean(this.one.value.trim() && this.other.value.trim());
  }

  swap() {
    [this.one.value, this.other.value] = [this.other.value, this.one.value];
    this.again();
  }

  async ask(model, signal) {
    const pair = { sentence1: this.one.value, sentence2: this.other.value };
    if (model.can.includes("explain")) return ask("/v1/explain", { model: model.name, ...pair }, signal);
    return (await ask("/v1/match", { model: model.name, pairs: [pair] }, signal)).matches[0];
  }

  // The answer in a word, with its probability; of models that grade, the grade.
  answer({ label, score, probabilities }, model) {
    if (!Object.keys(probabilities).length) return [score.toFixed(2)];
    return label === null ? [say("unsure")] : [labelName(model, label), probabilities[label]];
  }

  say(found, model) {
    const [word, number] = this.answer(found, model);
    return number === undefined ? word : `${word}, ${percent(number)}`;
  }

  show(found, model) {
    const shares = Object.entries(found.probabilities);
    const answer = node("div", { class: "answer" }, headline(...this.answer(found, model)));
    if (shares.length) answer.append(shareList(shares, found.label, (name) => labelName(model, name)));
    const place = node("div");
    if (found.first_tokens) new Board(place, { first: "first", second: "second" }).draw(found);
    return node("div", { class: "found" }, answer, ...this.reasons(found, model), place);
  }

  reasons({ reasons }, model) {
    if (!reasons) return [];
    return [reasonBoard(reasons, reasons.answer ? labelName(model, reasons.answer) : undefined)];
  }
}
