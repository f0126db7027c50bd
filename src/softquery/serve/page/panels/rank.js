// A query and candidates, one per line: the candidates in order.

import { ask } from "../asking.js";
import { area, labelled, likelihood, line, node, scoreLine } from "../nodes.js";
import { TaskPanel } from "../task_panel.js";

export class RankPanel extends TaskPanel {
  constructor(models, page) {
    super("rank", models, page);
  }

  fields() {
    [this.query, this.candidates] = [line("rank-query"), area("rank-candidates", 5)];
    return [labelled("query", this.query), labelled("candidates", this.candidates)];
  }

  state() {
    return { q: this.query.value, texts: this.candidates.value };
  }

  restore({ q = "", texts = "" }) {
    [this.query.value, this.candidates.value] = [q, texts];
  }

  lines() {
    return this.candidates.value.split("\n").map((text) => text.trim()).filter(Boolean);
  }

  asked() {
    return [this.query.value, ...this.lines()];
  }

  isReady() {
    return Boolean(this.query.value.trim() && this.lines().length);
  }

  async ask(model, signal) {
    const texts = this.lines();
    const ranks = await ask("/rerank", { model: model.name, query: this.query.value, texts }, signal);
    return ranks.map(({ index, score }) => ({ text: texts[index], score }));
  }

  say([best]) {
    return `${best.text}: ${likelihood(best.score)}`;
  }

  show(ranks) {
    const rows = ranks.map(({ text, score }) => node("li", {}, node("p", { class: "asked", dir: "auto", text }), scoreLine(score)));
    return node("ol", { class: "hits numbered" }, ...rows);
  }
}
