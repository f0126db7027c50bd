// A file of one's own as an index, where the server takes files.

import { ask, Refused } from "./asking.js";
import { choice, faultNodes, fillOptions, node, worded } from "./nodes.js";
import { say } from "./words.js";

const GUESSES = {
  question: /^(question|frage|title|query|q|问题|提问|标题)/i,
  answer: /^(answer|antwort|reply|response|a$|body|text|回答|答案|答复)/i,
};
const NONE = "";

// The first row of a CSV or TSV, or the names in the first line of JSONL.
export function columnsOf(name, content) {
  if (/\.jsonl$/i.test(name)) {
    try {
      const first = JSON.parse(content.split("\n", 1)[0]);
      return first && typeof first === "object" ? Object.keys(first) : [];
    } catch {
      return [];
    }
  }
  if (/\.tsv$/i.test(name)) return content.split(/\r?\n/, 1)[0].split("\t");
  const cells = [];
  const pattern = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/y;
  for (let match; (match = pattern.exec(content)); ) {
    cells.push(match[1]?.replaceAll('""', '"') ?? match[2]);
    if (match[3] !== ",") break;
  }
  return cells.filter((cell) => cell !== "");
}

export class UploadBox {
  constructor(limits, added, page) {
    Object.assign(this, { limits, added, page, file: null });
    this.input = node("input", { id: "upload-file", type: "file", accept: ".csv,.tsv,.jsonl,text/csv" });
    const drop = node("div", { class: "drop" }, worded("label", "uploadFile", { for: "upload-file" }), this.input);
    this.columns = { question: node("select", { id: "upload-question" }), answer: node("select", { id: "upload-answer" }) };
    this.send = worded("button", "uploadSend", { type: "submit" });
    this.chosen = node("div", { class: "choices", hidden: "" }, choice("questionColumn", this.columns.question), choice("answerColumn", this.columns.answer), this.send);
    this.status = node("p", { class: "quiet", role: "status" });
    this.fault = node("p", { class: "fault", role: "alert", hidden: "" });
    const form = node("form", { class: "form", id: "upload-form" }, worded("p", "uploadAbout", { class: "quiet" }), drop, this.chosen, this.status, this.fault);
    this.box = node("details", { class: "panel upload", id: "upload" }, worded("summary", "uploadTitle"), form);
    this.listen(form, drop);
  }

  listen(form, drop) {
    this.input.addEventListener("change", () => this.take(this.input.files[0]));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.index();
    });
    for (const kind of ["dragover", "dragleave", "drop"]) {
      drop.addEventListener(kind, (event) => {
        event.preventDefault();
        drop.classList.toggle("over", kind === "dragover");
      });
    }
  }

  open(file) {
    this.box.open = true;
    this.take(file);
    this.box.scrollIntoView({ block: "nearest" });
  }

  // Reads a file and guesses its columns.
  async take(file) {
    this.tell();
    this.status.textContent = "";
    this.chosen.hidden = true;
    this.file = null;
    if (!file) return;
    if (file.size > this.limits.max_body) return this.tell(say("uploadLarge", { most: this.limits.max_body.toLocaleString() }));
    let content;
    try {
      content = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    } catch {
      return this.tell(say("uploadNotText"));
    }
    const names = columnsOf(file.name, content);
    this.file = { name: file.name, content };
    fillOptions(this.columns.question, names);
    fillOptions(this.columns.answer, [NONE, ...names], (name) => name || say("nothing"));
    this.columns.question.value = names.find((name) => GUESSES.question.test(name)) ?? names[0] ?? "";
    this.columns.answer.value = names.find((name) => GUESSES.answer.test(name)) ?? NONE;
    this.chosen.hidden = false;
    this.status.textContent = say("uploadChosen", { name: file.name });
  }

  async index() {
    if (!this.file || this.send.disabled) return;
    const columns = { question: this.columns.question.value, answer: this.columns.answer.value };
    for (const name of Object.keys(columns)) if (!columns[name]) delete columns[name];
    this.tell();
    this.status.textContent = say("uploadWorking");
    this.send.disabled = true;
    try {
      const index = await ask("/v1/indexes", { ...this.file, columns });
      this.status.textContent = say("uploadDone", { count: index.rows.toLocaleString(), name: index.name });
      this.chosen.hidden = true;
      this.input.value = "";
      this.added(index);
    } catch (fault) {
      this.status.textContent = "";
      if (fault instanceof Refused && fault.status === 401) this.page.needKey(() => this.index());
      else this.tell(...faultNodes(fault));
    } finally {
      this.send.disabled = false;
    }
  }

  tell(...nodes) {
    this.fault.replaceChildren(...nodes);
    this.fault.hidden = !nodes.length;
  }
}
