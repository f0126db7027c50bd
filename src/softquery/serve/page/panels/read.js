// A question about a text, and the slice of the text that answers it.

import { ask } from "../asking.js";
import { area, labelled, line, node, percent, scoreLine } from "../nodes.js";
import { TaskPanel } from "../task_panel.js";
import { say } from "../words.js";

// Characters as the server counts them: code points, not UTF-16 units.
const slice = (text, start, end) => [...text].slice(start, end).join("");

export class ReadPanel extends TaskPanel {
  constructor(models, page) {
    super("read", models, page);
  }

  fields() {
    [this.context, this.question] = [area("read-context", 6), line("read-question")];
    return [labelled("context", this.context), labelled("readQuestion", this.question)];
  }

  state() {
    return { text: this.context.value, q: this.question.value };
  }

  restore({ text = "", q = "" }) {
    [this.context.value, this.question.value] = [text, q];
  }

  isReady() {
    return Boolean(this.context.value.trim() && this.question.value.trim());
  }

  async ask(model, signal) {
    const questions = [{ question: this.question.value, context: this.context.value }];
    return (await ask("/v1/read", { model: model.name, questions }, signal)).answers[0];
  }

  say({ answer, score }) {
    return answer === null ? say("notThere") : `${answer}, ${percent(score)}`;
  }

  show({ context, answer, start, end, score }) {
    if (answer === null) return node("div", { class: "found" }, node("p", { class: "headline", text: say("notThere") }), node("p", { class: "passage", dir: "auto", text: context }));
    const marked = node("mark", { text: slice(context, start, end) });
    const passage = node("p", { class: "passage", dir: "auto" }, slice(context, 0, start), marked, slice(context, end));
    return node("div", { class: "found" }, node("p", { class: "headline" }, node("bdi", { text: answer })), node("div", { class: "passage-score" }, scoreLine(score)), passage);
  }
}
