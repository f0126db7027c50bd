// A panel for one task: what is asked, which model answers, and which second one beside it.
//
// A panel has `id`, and defines
//   fields()              the elements of its form, without the buttons
//   state(), restore(it)  what its fields hold, as texts by name
//   asked()               the texts that a model is to read
//   isReady()             whether there is anything to ask
//   ask(model, signal)    what the server answers
//   show(found, model)    the answer as an element
//   say(found, model)     the answer as a sentence, for those who listen

import { Newest, Refused } from "./asking.js";
import { isForeign, languageName } from "./languages.js";
import { button, choice, faultNodes, fillOptions, node, worded } from "./nodes.js";
import { addressOf, offer } from "./share.js";
import { currentLanguage, examplesOf, relabel, say } from "./words.js";

const NONE = "";

// Whether a refusal concerns one model alone, so that the other's answer is shown beside it.
const isItsOwn = (reason) => reason instanceof Refused && [400, 404, 413, 422].includes(reason.status);

export class TaskPanel {
  constructor(id, models, page, { live = 0 } = {}) {
    Object.assign(this, { id, models, page, answers: [], filled: null });
    this.newest = new Newest((signal) => this.run(signal), { wait: live });
    this.build();
    if (live) for (const kind of ["input", "compositionend"]) this.form.addEventListener(kind, (event) => this.typed(event));
    this.fillExample();
  }

  // ---- what panels may define otherwise

  fields() {
    return [];
  }

  get modelWord() {
    return "model";
  }

  get runWord() {
    return `${this.id}Run`;
  }

  exampleKind() {
    return this.model.language === "zh" ? "zh" : "en";
  }

  isSameTask() {
    return true;
  }

  asked() {
    const { a, b, q, text } = this.state();
    return [a, b, q, text].filter(Boolean);
  }

  // What is missing before anything can be asked: a text of the page, and the field that lacks it.
  missing() {
    const fields = [...this.form.querySelectorAll("textarea, input[type=text], input[type=search]")];
    return ["fillIn", fields.find((field) => !field.value.trim()) ?? fields[0]];
  }

  modelChanged() {}

  // ---- the page around the fields

  build() {
    const { id } = this;
    this.first = node("select", { id: `${id}-model` });
    this.second = node("select", { id: `${id}-second` });
    this.secondChoice = choice("compareWith", this.second);
    const choices = node("div", { class: "choices" }, choice(this.modelWord, this.first), this.secondChoice);
    this.title = worded("h2", `${id}Title`, { id: `${id}-title`, tabindex: "-1" });
    this.submit = worded("button", this.runWord, { type: "submit" });
    this.shared = node("span", { class: "quiet", role: "status" });
    const link = node("div", { class: "row link" }, button("copyLink", () => this.share()), this.shared);
    this.actions = node("div", { class: "row actions" }, this.submit, link);
    this.form = node("form", { class: "form", id: `${id}-form` }, ...this.fields(), this.actions);
    this.status = node("p", { class: "unseen", role: "status" });
    this.fault = node("p", { class: "fault", role: "alert", hidden: "" });
    this.results = node("div", { class: "results", id: `${id}-results` });
    this.section = node(
      "section",
      { class: "panel", id, "aria-labelledby": `${id}-title`, hidden: "" },
      node("div", { class: "head" }, node("div", { class: "about" }, this.title, worded("p", `${id}About`, { class: "quiet" })), choices),
      this.form, this.status, this.fault, this.results,
    );
    this.listModels();
    this.preferLanguage();
    this.listen();
  }

  listModels() {
    fillOptions(this.first, this.models.map((model) => model.name));
    this.listSecond();
  }

  // Begins with a model of the page's language, until the user chooses one or asks something.
  preferLanguage() {
    if (this.isChosen || this.answers.length) return false;
    const fitting = this.models.find((model) => model.language === currentLanguage()) ?? this.models[0];
    const changed = this.first.value !== fitting.name;
    this.first.value = fitting.name;
    this.listSecond();
    return changed;
  }

  listSecond() {
    const others = this.models.filter((model) => model.name !== this.first.value && this.isSameTask(model, this.model));
    fillOptions(this.second, [NONE, ...others.map((model) => model.name)], (name) => name || say("nothing"));
    this.secondChoice.hidden = !others.length;
  }

  listen() {
    this.first.addEventListener("change", () => {
      this.isChosen = true;
      this.changeModel();
      this.again();
    });
    this.second.addEventListener("change", () => this.again());
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.press();
    });
    this.form.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      this.press();
    });
  }

  press() {
    this.isPressed = true;
    this.newest.later(0);
  }

  // Letters that an input method has yet to turn into words are no question.
  typed(event) {
    if (!event.target.matches("textarea, input[type=search]")) return;
    if (event.isComposing) this.newest.hold();
    else this.newest.later();
  }

  changeModel() {
    this.listSecond();
    this.fillExample();
    this.modelChanged();
  }

  get model() {
    return this.models.find((model) => model.name === this.first.value) ?? this.models[0];
  }

  get chosen() {
    const second = this.models.find((model) => model.name === this.second.value);
    return second && second !== this.model ? [this.model, second] : [this.model];
  }

  // An example in the model's own language, unless the user has typed something.
  fillExample() {
    const example = examplesOf(this.id, this.exampleKind());
    const state = this.texts();
    const untouched = Object.values(state).every((text) => !text) || JSON.stringify(state) === this.filled;
    if (!example || !untouched) return;
    this.restore(example);
    this.filled = JSON.stringify(this.texts());
  }

  // The fields that an example fills in.
  texts() {
    const example = examplesOf(this.id, this.exampleKind()) ?? {};
    const state = this.state();
    return Object.fromEntries(Object.keys(example).map((name) => [name, state[name] ?? ""]));
  }

  open(fields) {
    if (!Object.keys(fields).length) return;
    this.isChosen = true;
    if (this.models.some((model) => model.name === fields.model)) this.first.value = fields.model;
    this.listSecond();
    this.modelChanged();
    if ([...this.second.options].some((each) => each.value === fields.with)) this.second.value = fields.with;
    this.restore(fields);
    this.filled = null;
    this.clear();
    this.results.replaceChildren(worded("p", "fromLink", { class: "hint" }));
  }

  async share() {
    const fields = { ...this.state(), model: this.model.name, with: this.second.value };
    const copied = await offer(addressOf(this.id, fields));
    this.shared.textContent = say(copied ? "copied" : "inAddress");
    setTimeout(() => (this.shared.textContent = ""), 6000);
  }

  // ---- asking and showing

  again() {
    if (this.answers.length) this.newest.later(0);
  }

  clear() {
    this.answers = [];
    this.fault.hidden = true;
    this.status.textContent = "";
    this.results.replaceChildren();
  }

  async run(signal) {
    const isPressed = this.isPressed;
    this.isPressed = false;
    if (!this.isReady()) {
      this.clear();
      return isPressed && this.askForMore();
    }
    const texts = this.asked();
    const most = this.page.limits?.max_text ?? Infinity;
    if (texts.some((text) => text.length > most && [...text].length > most)) return this.showFault(say("tooLong", { most: most.toLocaleString() }));
    const late = setTimeout(() => (this.status.textContent = say("working")), 700);
    this.setWaiting(true);
    try {
      const models = this.chosen;
      const settled = await Promise.allSettled(models.map((model) => this.ask(model, signal)));
      if (signal.aborted) return;
      const failed = settled.find((each) => each.status === "rejected" && (models.length === 1 || !isItsOwn(each.reason)));
      if (failed) return this.tell(failed.reason);
      this.answers = settled.map((each, place) => ({ model: models[place], texts, found: each.value, reason: each.reason }));
      this.fault.hidden = true;
      this.draw();
    } finally {
      clearTimeout(late);
      if (!signal.aborted) this.setWaiting(false);
    }
  }

  setWaiting(waits) {
    this.section.classList.toggle("waiting", waits);
    this.results.setAttribute("aria-busy", String(waits));
  }

  askForMore() {
    const [word, field] = this.missing();
    this.showFault(say(word));
    field.focus();
  }

  // An older answer does not stay beside what went wrong with a newer question.
  showFault(...nodes) {
    this.clear();
    this.fault.replaceChildren(...nodes);
    this.fault.hidden = false;
  }

  // A model answers texts in other languages, too, but its answers mean nothing.
  foreignNote({ model, texts }) {
    return isForeign(model, texts) ? say("foreign", { model: model.name, language: languageName(model.language) }) : "";
  }

  draw() {
    const beside = this.answers.length > 1;
    this.results.classList.toggle("beside", beside);
    const shown = this.answers.map((answer) => {
      const { model, found, reason } = answer;
      const title = beside ? [node("h3", { class: "by", text: model.name })] : [];
      const note = this.foreignNote(answer);
      const notes = note ? [node("p", { class: "note" }, worded("b", "note"), " ", note)] : [];
      const inside = found === undefined ? node("p", { class: "fault" }, ...faultNodes(reason)) : this.show(found, model);
      return node("article", { class: "result" }, ...title, ...notes, inside);
    });
    this.results.replaceChildren(...shown);
    const said = this.answers.map((answer) => {
      const { model, found, reason } = answer;
      const sentence = found === undefined ? reason.message : this.say(found, model);
      return [beside ? `${model.name}: ${sentence}` : sentence, this.foreignNote(answer)].filter(Boolean).join(say("pause"));
    });
    this.status.textContent = said.join(say("pause"));
  }

  // What went wrong in one line; after a full queue it tries again by itself.
  tell(fault) {
    if (fault instanceof Refused && fault.status === 401) return this.page.needKey(() => this.press());
    const seconds = fault instanceof Refused ? fault.retryAfter : 0;
    this.showFault(...(seconds ? [say("busy", { seconds })] : faultNodes(fault)));
    if (!(fault instanceof Refused || fault instanceof TypeError)) console.error(fault);
    if (seconds) setTimeout(() => this.newest.now(), 1000 * seconds);
  }

  relabel() {
    relabel(this.section);
    this.fault.hidden = true; // said in the other language
    this.listSecond();
    if (this.answers.length) this.draw();
    else if (this.preferLanguage()) this.changeModel();
  }
}
