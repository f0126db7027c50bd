// Several texts, one per line, and the cosine of every two.

import { ask } from "../asking.js";
import { levelClass } from "../alignment.js";
import { area, labelled, node } from "../nodes.js";
import { TaskPanel } from "../task_panel.js";
import { say } from "../words.js";

const MOST = 10;
const dot = (one, other) => one.reduce((sum, value, place) => sum + value * other[place], 0);

export class SimilarityPanel extends TaskPanel {
  constructor(models, page) {
    // What compares vectors by itself comes first, as it does where a request names no model.
    const place = ({ kind, pooling }) => (kind === "sentence-encoder" ? 0 : pooling === "own" ? 1 : 2);
    super("similarity", [...models].sort((one, other) => place(one) - place(other)), page);
  }

  fields() {
    this.texts_ = area("similarity-texts", 5);
    return [labelled("texts", this.texts_)];
  }

  state() {
    return { texts: this.texts_.value };
  }

  restore({ texts = "" }) {
    this.texts_.value = texts;
  }

  lines() {
    return this.texts_.value.split("\n").map((text) => text.trim()).filter(Boolean).slice(0, MOST);
  }

  isReady() {
    return this.lines().length > 1;
  }

  asked() {
    return this.lines();
  }

  missing() {
    return ["twoTexts", this.texts_];
  }

  async ask(model, signal) {
    const texts = this.lines();
    const vectors = await ask("/embed", { model: model.name, inputs: texts }, signal);
    return { texts, cosines: vectors.map((one) => vectors.map((other) => dot(one, other))) };
  }

  nearest({ texts, cosines }) {
    let best = { score: -2 };
    texts.forEach((first, row) => texts.slice(row + 1).forEach((second, place) => {
      const score = cosines[row][row + 1 + place];
      if (score > best.score) best = { first, second, score };
    }));
    return say("closest", { ...best, score: best.score.toFixed(2) });
  }

  say(found) {
    return this.nearest(found);
  }

  show(found) {
    const { texts, cosines } = found;
    const head = node("tr", {}, node("td"), ...texts.map((text, place) => node("th", { scope: "col", title: text }, node("span", { "aria-hidden": "true", text: String(place + 1) }), node("span", { class: "unseen", text }))));
    const rows = texts.map((text, row) => {
      const cells = cosines[row].map((cosine, column) => {
        const level = row === column ? "self" : levelClass("a", cosine);
        return node("td", { class: level, text: cosine.toFixed(2) });
      });
      return node("tr", {}, node("th", { scope: "row" }, node("span", { class: "place", "aria-hidden": "true", text: `${row + 1}` }), " ", node("bdi", { text })), ...cells);
    });
    const table = node("table", { class: "cosines" }, node("caption", { text: say("cosines") }), node("thead", {}, head), node("tbody", {}, ...rows));
    const scroll = node("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": say("cosines") }, table);
    return node("div", { class: "found" }, node("p", { dir: "auto", text: this.nearest(found) }), scroll);
  }
}
