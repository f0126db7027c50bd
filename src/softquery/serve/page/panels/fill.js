// A text with hidden words, and what may stand in their place.

import { ask } from "../asking.js";
import { area, bar, button, labelled, line, node } from "../nodes.js";
import { TaskPanel } from "../task_panel.js";
import { say } from "../words.js";

const MASK = "[MASK]";

export class FillPanel extends TaskPanel {
  constructor(models, page) {
    super("fill", models, page);
  }

  fields() {
    [this.text, this.words] = [area("fill-text", 2), line("fill-words")];
    return [labelled("masked", this.text), node("div", { class: "row" }, button("insertMask", () => this.insert())), labelled("fillWords", this.words)];
  }

  insert() {
    const { selectionStart, selectionEnd, value } = this.text;
    this.text.value = value.slice(0, selectionStart) + MASK + value.slice(selectionEnd);
    this.text.focus();
    this.text.setSelectionRange(selectionStart + MASK.length, selectionStart + MASK.length);
  }

  state() {
    return { text: this.text.value, words: this.words.value };
  }

  restore({ text = "", words = "" }) {
    [this.text.value, this.words.value] = [text, words];
  }

  isReady() {
    return this.text.value.includes(MASK);
  }

  missing() {
    return this.text.value.trim() ? ["noMask", this.text] : super.missing();
  }

  async ask(model, signal) {
    const candidates = this.words.value.split(/[,，、]/).map((word) => word.trim()).filter(Boolean);
    const body = { model: model.name, texts: [this.text.value], top_k: 5, ...(candidates.length ? { candidates } : {}) };
    return (await ask("/v1/fill", body, signal)).answers[0];
  }

  say({ masks }) {
    return masks.map((words) => words.map(({ word }) => word).join(say("comma"))).join(say("pause"));
  }

  show({ masks }) {
    const lists = masks.flatMap((words, place) => {
      const most = Math.max(...words.map(({ score }) => score), 1e-12);
      const rows = words.map(({ word, score, sentence }) =>
        node("li", {}, node("bdi", { text: word }), bar(score / most), node("span", { class: "value", text: this.percentage(score) }), node("span", { class: "sentence quiet", dir: "auto", text: sentence })));
      const title = masks.length > 1 ? [node("h3", { text: say("maskNumber", { number: place + 1 }) })] : [];
      return [...title, node("ol", { class: "shares filled" }, ...rows)];
    });
    return node("div", { class: "found" }, ...lists);
  }

  percentage(score) {
    return score >= 0.001 ? `${(100 * score).toFixed(1)}\u2009%` : score.toExponential(0);
  }
}
