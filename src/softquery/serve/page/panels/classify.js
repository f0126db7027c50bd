// What a text is, and what the answer owes to each of its words.

import { ask } from "../asking.js";
import { levelClass } from "../alignment.js";
import { area, headline, labelled, labelName, node, percent, shareList, worded } from "../nodes.js";
import { reasonLines, views } from "../reasons.js";
import { TaskPanel } from "../task_panel.js";
import { say } from "../words.js";

export class ClassifyPanel extends TaskPanel {
  constructor(models, page) {
    super("classify", models, page);
  }

  fields() {
    this.text = area("classify-text");
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
    const explain = model.can.includes("weigh");
    return (await ask("/v1/classify", { model: model.name, texts: [this.text.value], explain }, signal)).answers[0];
  }

  answer({ label, score }, model) {
    return label === null ? [say("unsure")] : [labelName(model, label), score];
  }

  say(found, model) {
    const [word, number] = this.answer(found, model);
    return number === undefined ? word : `${word}, ${percent(number)}`;
  }

  show(found, model) {
    const shares = Object.entries(found.probabilities).sort((one, other) => other[1] - one[1]);
    const named = (name) => labelName(model, name);
    const answer = node("div", { class: "answer" }, headline(...this.answer(found, model)), shareList(shares, found.label, named));
    return node("div", { class: "found" }, answer, ...(found.word_weights ? [this.why(found)] : []));
  }

  // What the answer owes to each word, what its state adds, and where the model looked.
  why(found) {
    const { reasons, contributions } = found;
    const choices = [{ word: "looked", show: () => this.weights(found) }];
    if (contributions) {
      const values = { base: contributions.base.toFixed(2), score: contributions.score.toFixed(2) };
      choices.unshift({ word: "addsUp", show: () => [...reasonLines(contributions), node("p", { class: "quiet", text: say("addsAbout", values) })] });
    }
    if (reasons) choices.unshift({ word: "leftOut", show: () => [...reasonLines(reasons), node("p", { class: "quiet", text: say("owesAbout") })] });
    const [group, place] = views(choices);
    return node("div", { class: "owed" }, node("div", { class: "head" }, worded("h3", "why"), group), place);
  }

  // Every word on the colour of its weight in the whole text, with the weight below it.
  weights({ sentences, word_weights: weights, sentence_weights: shares }) {
    const all = sentences.map((words, row) => words.map((_, place) => weights[row][place] * (shares?.[row] ?? 1)));
    const most = Math.max(...all.flat(), 1e-9);
    const lines = sentences.map((words, row) => node("p", { class: "weighed", dir: "auto" }, ...words.flatMap((word, place) => [this.word(word, all[row][place], most), " "])));
    const scale = node("p", { class: "quiet" }, worded("span", "weightsAbout"));
    return [...lines, scale];
  }

  word(word, weight, most) {
    const small = node("small", { text: weight >= 0.005 ? percent(weight) : "" });
    return node("span", { class: `weighted ${levelClass("a", weight / most)}` }, node("bdi", { text: word }), small);
  }
}
