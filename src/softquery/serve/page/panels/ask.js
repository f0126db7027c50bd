// The FAQ: a question, the stored answers, and why on demand.

import { ask } from "../asking.js";
import { Board } from "../alignment.js";
import { isForeign } from "../languages.js";
import { choice, exampleButtons, faultNodes, fillOptions, likelihood, node, percent, scoreLine, worded } from "../nodes.js";
import { reasonBoard } from "../reasons.js";
import { TaskPanel } from "../task_panel.js";
import { currentLanguage, say } from "../words.js";

const OWN = ["id", "question", "answer", "score", "alignment", "phrasings", "weight", "matched"];

// A text of a row; the passage by which the row was found is marked. Places count characters.
function marked(tag, name, row, column) {
  const text = Array.from(String(row[column] ?? "")), found = row.matched;
  const made = node(tag, { class: name, dir: "auto" });
  if (found?.column !== column || found.start === undefined) return made.append(text.join("")), made;
  const part = (start, end) => text.slice(start, end).join("");
  made.append(part(0, found.start), node("mark", { text: part(found.start, found.end) }), part(found.end));
  return made;
}

// The phrasing, or the text of another column, by which a row was found.
function foundAs(row) {
  const found = row.matched;
  if (!found || (found.start !== undefined && ["question", "answer"].includes(found.column))) return [];
  return [node("p", { class: "quiet" }, worded("span", "foundAs"), " ", node("mark", { dir: "auto", text: found.text }))];
}
const NUM_HITS = 5;
const ANY = "";

export class AskPanel extends TaskPanel {
  constructor(indexes, page) {
    super("ask", indexes, page, { live: 350 });
    this.search.append(this.submit);
    this.actions.prepend(this.filters);
    this.summaries = {};
    this.modelChanged();
  }

  get modelWord() {
    return "index";
  }

  fields() {
    this.question = node("input", { id: "question", type: "search", dir: "auto", autocomplete: "off", enterkeyhint: "search", "data-word-placeholder": "question" });
    this.examples = node("div");
    this.filters = node("div", { class: "choices", role: "group", "data-word-label": "filters" });
    this.search = node("div", { class: "row search" }, this.question);
    return [worded("label", "question", { for: "question" }), this.search, this.examples];
  }

  state() {
    const filters = Object.entries(this.where()).map(([name, value]) => [`where.${name}`, value]);
    return { q: this.question.value, ...Object.fromEntries(filters) };
  }

  restore(fields) {
    this.question.value = fields.q ?? "";
    this.wanted = fields;
    this.chooseFilters();
  }

  // Of a question in another language the server says so itself, in English.
  foreignNote({ model, found }) {
    if (!found?.note || currentLanguage() === "en") return found?.note ?? "";
    return isForeign(model, [found.query]) ? super.foreignNote({ model, texts: [found.query] }) : "";
  }

  isReady() {
    return Boolean(this.question.value.trim());
  }

  // What is known of the chosen index; reading it asks no model.
  async modelChanged() {
    const { name } = this.model;
    if (!this.summaries) return;
    try {
      this.summaries[name] ??= await ask(`/v1/indexes/${encodeURIComponent(name)}`);
    } catch {
      this.summaries[name] = { examples: [], filters: {} };
    }
    if (this.model.name === name) this.showSummary();
  }

  showSummary() {
    const { examples = [], filters = {} } = this.summaries?.[this.model.name] ?? {};
    this.examples.replaceChildren(exampleButtons(examples, (text) => this.askFor(text)));
    const made = Object.entries(filters).map(([name, values]) => {
      const select = node("select", { "data-column": name });
      fillOptions(select, [ANY, ...values], (value) => value || say("any"));
      select.addEventListener("change", () => this.again());
      return node("label", { class: "choice" }, node("bdi", { text: name }), " ", select);
    });
    this.filters.replaceChildren(...made);
    this.filters.hidden = !made.length;
    this.chooseFilters();
  }

  chooseFilters() {
    for (const select of this.filters.querySelectorAll("select")) {
      const value = this.wanted?.[`where.${select.dataset.column}`];
      if (value !== undefined && [...select.options].some((each) => each.value === value)) select.value = value;
    }
  }

  askFor(text) {
    this.question.value = text;
    this.newest.later(0);
  }

  where() {
    const chosen = [...this.filters.querySelectorAll("select")].filter((select) => select.value !== ANY);
    return Object.fromEntries(chosen.map((select) => [select.dataset.column, select.value]));
  }

  body(index, explain) {
    const where = this.where();
    return { index: index.name, query: this.question.value, top_k: NUM_HITS, explain, ...(Object.keys(where).length ? { where } : {}) };
  }

  async ask(index, signal) {
    const body = this.body(index, false);
    const found = await ask("/v1/search", body, signal);
    // Alignments cost time and are wanted seldom: they are asked for once, and only on demand.
    let explained = null;
    const why = () => (explained ??= ask("/v1/search", { ...body, explain: true }).catch((fault) => ((explained = null), Promise.reject(fault))));
    return { ...found, why };
  }

  say(found) {
    const count = found.hits.length;
    if (count) return `${say("found", { count })} ${found.hits[0].question ?? ""}: ${likelihood(Number(found.hits[0].score))}`;
    return say(found.nearest.length ? "nearest" : "noAnswer");
  }

  show(found, index) {
    const parts = [];
    if (found.note && !this.foreignNote({ model: index, found })) parts.push(node("p", { class: "note" }, worded("b", "note"), " ", node("span", { lang: "en", text: found.note })));
    if (found.hits.length) {
      parts.push(node("ol", { class: "hits" }, ...found.hits.map((hit) => this.hit(hit, index, found))));
    } else {
      parts.push(node("p", { class: "hint", text: say(found.nearest.length ? "nearest" : "noAnswer") }));
      parts.push(node("ol", { class: "hits nearest" }, ...found.nearest.map((row) => this.near(row))));
    }
    return node("div", { class: "found" }, ...parts);
  }

  hit(hit, index, found) {
    const parts = [
      marked("h3", "asked", hit, "question"),
      ...foundAs(hit),
      marked("p", "told", hit, "answer"),
      node("div", { class: "facts" }, scoreLine(Number(hit.score)), ...this.tags(hit)),
    ];
    if (index.explains !== false) parts.push(this.why(hit, found));
    const others = this.others(hit);
    if (others) parts.push(others);
    return node("li", {}, ...parts);
  }

  // A question that is not good enough; whoever meant it opens its answer.
  near(row) {
    const asked = marked("summary", "asked", row, "question");
    return node("li", {}, node("details", {}, asked, ...foundAs(row), marked("p", "told", row, "answer")), scoreLine(Number(row.score)));
  }

  tags(row) {
    const names = Object.keys(this.summaries[this.model.name]?.filters ?? {});
    return names.filter((name) => row[name]).map((name) => node("span", { class: "tag" }, node("span", { class: "unseen", text: `${name}: ` }), node("bdi", { text: String(row[name]) })));
  }

  // The further columns of a row, on demand.
  others(row) {
    const shown = [...OWN, ...Object.keys(this.summaries[this.model.name]?.filters ?? {})];
    const names = Object.keys(row).filter((name) => !shown.includes(name) && typeof row[name] === "string" && row[name]);
    if (!names.length) return null;
    const pairs = names.flatMap((name) => [node("dt", {}, node("bdi", { text: name })), node("dd", { dir: "auto", text: row[name] })]);
    return node("details", { class: "more" }, worded("summary", "columns"), node("dl", {}, ...pairs));
  }

  why(hit, found) {
    const place = node("div", { class: "why" });
    const made = node("details", { class: "more" }, worded("summary", "why"), place);
    made.addEventListener("toggle", () => made.open && !place.childElementCount && this.explain(hit, found, place));
    return made;
  }

  async explain(hit, found, place) {
    place.replaceChildren(node("p", { class: "quiet", role: "status", text: say("working") }));
    try {
      const { hits } = await found.why();
      const same = hits.find((each) => (hit.id === undefined ? each.question === hit.question : each.id === hit.id));
      if (!same?.alignment) return place.replaceChildren(node("p", { class: "quiet", role: "status" }, say("noWhy")));
      const { reasons } = same.alignment;
      const inside = node("div");
      place.replaceChildren(...(reasons ? [reasonBoard(reasons)] : []), inside);
      new Board(inside, { first: "question", second: "stored" }).draw(same.alignment);
    } catch (fault) {
      place.replaceChildren(node("p", { class: "fault", role: "alert" }, ...faultNodes(fault)));
    }
  }

  // An index that was just made of a file.
  add(index) {
    const { examples, filters, ...facts } = index;
    this.summaries[index.name] = { examples, filters };
    this.models = [...this.models.filter((each) => each.name !== index.name), facts];
    this.listModels();
    this.first.value = index.name;
    this.isChosen = true;
    this.listSecond();
    this.question.value = "";
    this.clear();
    this.showSummary();
    this.question.focus();
  }

  relabel() {
    super.relabel();
    if (this.summaries) {
      this.wanted = Object.fromEntries(Object.entries(this.where()).map(([name, value]) => [`where.${name}`, value]));
      this.showSummary();
    }
  }
}
