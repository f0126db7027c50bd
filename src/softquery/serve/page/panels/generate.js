// A text made from a text: the best ones, and couplets by their rules.

import { ask } from "../asking.js";
import { area, choice, fillOptions, labelled, node, worded } from "../nodes.js";
import { TaskPanel } from "../task_panel.js";
import { say } from "../words.js";

const RULES = ["form", "repeats", "tones"];
const USUAL = ["form", "repeats"];

export class GeneratePanel extends TaskPanel {
  constructor(models, page) {
    super("generate", models, page);
    this.modelChanged();
  }

  fields() {
    this.source = area("generate-source", 2);
    this.count = node("select", { id: "generate-count" });
    fillOptions(this.count, ["1", "2", "3", "4", "5"]);
    this.count.value = "3";
    this.count.addEventListener("change", () => this.again());
    const boxes = RULES.map((rule) => {
      const box = node("input", { type: "checkbox", value: rule });
      box.checked = USUAL.includes(rule);
      return node("label", { class: "check" }, box, " ", worded("span", `rule_${rule}`));
    });
    this.rules = node("fieldset", { class: "checks" }, worded("legend", "rules"), ...boxes);
    this.rules.addEventListener("change", () => this.again());
    this.label = labelled("source", this.source);
    return [this.label, node("div", { class: "choices" }, choice("howMany", this.count)), this.rules];
  }

  isSameTask(model, other) {
    return model.form === other.form && model.language === other.language;
  }

  exampleKind() {
    if (this.model.form === "couplet") return "couplet";
    return this.model.language === "de" ? "de" : super.exampleKind();
  }

  modelChanged() {
    const isCouplet = this.model.form === "couplet";
    this.rules.hidden = !isCouplet;
    const label = this.label.firstChild;
    label.dataset.word = isCouplet ? "upper" : "source";
    label.textContent = say(label.dataset.word);
    this.clear();
  }

  chosenRules() {
    return [...this.rules.querySelectorAll("input:checked")].map((box) => box.value);
  }

  state() {
    const rules = this.model.form === "couplet" ? { rules: this.chosenRules().join(" ") || "none" } : {};
    return { text: this.source.value, n: this.count.value, ...rules };
  }

  restore({ text = "", n, rules }) {
    this.source.value = text;
    if (n !== undefined && [...this.count.options].some((each) => each.value === n)) this.count.value = n;
    if (rules !== undefined) for (const box of this.rules.querySelectorAll("input")) box.checked = rules.split(" ").includes(box.value);
  }

  isReady() {
    return Boolean(this.source.value.trim());
  }

  async ask(model, signal) {
    const body = { model: model.name, texts: [this.source.value.trim()], n_best: Number(this.count.value) };
    if (model.form === "couplet") body.rules = this.chosenRules();
    const [answer] = (await ask("/v1/generate", body, signal)).answers;
    return { source: answer.source, candidates: answer.candidates ?? (answer.text === null ? [] : [answer]) };
  }

  say({ candidates }) {
    return candidates[0]?.text ?? say("nothingWritten");
  }

  show({ source, candidates: [best, ...others] }, model) {
    if (!best) return worded("p", "nothingWritten", { class: "hint" });
    const isCouplet = model.form === "couplet";
    const lang = isCouplet ? "zh" : undefined;
    const first = isCouplet
      ? node("p", { class: "couplet", lang }, node("bdi", { text: source }), node("bdi", { text: best.text }))
      : node("p", { class: "headline", dir: "auto", text: best.text });
    const rest = others.map(({ text, score }) => node("li", {}, node("bdi", { text, lang }), " ", this.score(score)));
    const more = rest.length ? [worded("h3", "others"), node("ol", { class: `others${isCouplet ? " lines" : ""}`, start: "2" }, ...rest)] : [];
    return node("div", { class: "found" }, first, node("p", { class: "quiet" }, this.score(best.score)), ...more);
  }

  score(score) {
    return node("span", { class: "quiet value", title: say("scoreAbout"), text: `${say("score")} ${score.toFixed(2).replace("-", "−")}` });
  }
}
