// The page at `/`: a pair to match, an FAQ to search, a line to answer, if the server has models for them.

import { Board, node } from "./alignment.js";
import { ask, Newest, Refused, useKey } from "./asking.js";
import { currentLanguage, examplesOf, say, speak } from "./words.js";

const byId = (id) => document.getElementById(id);
const remembered = {
  get: (name) => {
    try {
      return localStorage.getItem(`softquery-${name}`);
    } catch {
      return null;
    }
  },
  set: (name, value) => {
    try {
      localStorage.setItem(`softquery-${name}`, value);
    } catch {
      // A browser that remembers nothing still works.
    }
  },
};

const able = (info, skill) => info.models.filter((model) => model.can.includes(skill));
const options = (select, names) => select.replaceChildren(...names.map((name) => node("option", { value: name, text: name })));
// How many lower lines are shown for an upper one.
const CANDIDATES = 3;
const percent = (share) => `${(100 * share).toFixed(1)} %`;

// Shows what went wrong in one line at the foot of the page; after a full queue it tries again by itself.
function tell(fault, again) {
  const line = byId("fault");
  if (fault instanceof Refused && fault.status === 401) return needKey(true);
  const seconds = fault instanceof Refused ? fault.retryAfter : 0;
  if (seconds) {
    line.textContent = say("busy", { seconds });
    setTimeout(() => again.now().catch(() => {}), 1000 * seconds);
  } else {
    line.textContent = fault instanceof Refused ? fault.message : say("unreachable");
  }
  line.hidden = false;
}

const fine = () => (byId("fault").hidden = true);

function needKey(wrong) {
  byId("key-form").hidden = false;
  byId("key-fault").textContent = wrong && byId("key").value ? say("keyWrong") : "";
  byId("key").focus();
}

class Pair {
  constructor(models) {
    this.models = models;
    this.board = new Board(byId("pair-board"));
    this.newest = new Newest((signal) => this.match(signal), { wait: 180 });
    options(byId("pair-model"), models.map((model) => model.name));
    byId("pair").hidden = false;
    for (const id of ["first", "second"]) byId(id).addEventListener("input", () => this.newest.later());
    byId("pair-model").addEventListener("change", () => this.fill());
    byId("swap").addEventListener("click", () => this.swap());
    this.fill();
  }

  get model() {
    return this.models.find((model) => model.name === byId("pair-model").value);
  }

  // An example in the model's own language, unless the user has typed something.
  fill() {
    const kind = this.model.labels.includes("entailment") ? "nli" : this.model.language;
    const texts = [byId("first").value, byId("second").value];
    if (!texts.some(Boolean) || this.filled?.every((text, place) => text === texts[place])) {
      this.filled = examplesOf(kind);
      [byId("first").value, byId("second").value] = this.filled;
    }
    this.newest.later(0);
  }

  swap() {
    const [first, second] = [byId("first"), byId("second")];
    [first.value, second.value] = [second.value, first.value];
    this.newest.later(0);
  }

  async match(signal) {
    const body = { model: this.model.name, sentence1: byId("first").value, sentence2: byId("second").value };
    if (!body.sentence1.trim() || !body.sentence2.trim()) {
      this.found = null;
      byId("pair-answer").hidden = true;
      return this.board.clear();
    }
    try {
      const found = await ask("/v1/explain", body, signal);
      fine();
      this.found = found;
      this.answer();
      this.board.draw(found);
    } catch (fault) {
      if (!signal.aborted) tell(fault, this.newest);
    }
  }

  named(label) {
    const plain = this.model.labels.length === 2 && this.model.labels[0] === "0" && this.model.labels[1] === "1";
    return plain ? say(label === "1" ? "same" : "different") : label;
  }

  answer() {
    const { label, score, probabilities } = this.found;
    const shares = Object.entries(probabilities);
    const word = shares.length ? (label === null ? say("unsure") : this.named(label)) : score.toFixed(2);
    const bars = shares.map(([name, share]) => {
      const bar = node("span", { class: "bar", "aria-hidden": "true" });
      bar.style.setProperty("--share", `${Math.max(100 * share, 1)}%`);
      const row = node("li", {}, node("bdi", { text: this.named(name) }), bar, node("span", { class: "value", text: percent(share) }));
      row.classList.toggle("chosen", name === label);
      return row;
    });
    byId("chances").replaceChildren(...bars);
    byId("pair-answer").hidden = false;
    if (byId("headline").textContent !== word) byId("headline").textContent = word; // else it would be read out again
  }

  relabel() {
    if (this.found) this.answer();
    this.board.relabel();
  }
}

class Questions {
  constructor(indexes) {
    this.indexes = indexes;
    this.board = new Board(byId("ask-board"));
    this.newest = new Newest((signal) => this.search(signal), { wait: 300 });
    options(byId("ask-index"), indexes.map((index) => index.name));
    byId("ask").hidden = false;
    byId("question").addEventListener("input", () => this.newest.later());
    byId("ask-index").addEventListener("change", () => this.newest.later(0));
    byId("ask-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.newest.later(0);
    });
  }

  async search(signal) {
    const query = byId("question").value;
    if (!query.trim()) return this.show([], [], null, "");
    try {
      const index = byId("ask-index").value;
      const explain = this.indexes.find((each) => each.name === index)?.explains !== false; // a Siamese one cannot
      const found = await ask("/v1/search", { index, query, top_k: 5, explain }, signal);
      fine();
      const count = found.hits.length;
      const status = count ? say("found", { count }) : say(found.nearest.length ? "nearest" : "noAnswer");
      this.show(found.hits, found.nearest, found.hits[0]?.alignment, found.note ? `${status} (${found.note})` : status);
    } catch (fault) {
      if (!signal.aborted) tell(fault, this.newest);
    }
  }

  show(hits, nearest, why, status) {
    byId("ask-status").textContent = status;
    byId("hits").replaceChildren(...hits.map((hit) => this.hit(hit)));
    byId("nearest").replaceChildren(...nearest.map((row) => this.near(row)));
    byId("why").hidden = !why;
    if (why) this.board.draw(why);
  }

  hit(hit) {
    return node(
      "li",
      {},
      node("p", { class: "asked", dir: "auto", text: String(hit.question ?? hit.text ?? "") }),
      node("p", { dir: "auto", text: String(hit.answer ?? "") }),
      this.score(hit),
    );
  }

  // A question that is not good enough; whoever meant it opens its answer.
  near(row) {
    const asked = node("summary", { class: "asked", dir: "auto", text: String(row.question ?? "") });
    return node("li", {}, node("details", {}, asked, node("p", { dir: "auto", text: String(row.answer ?? "") })), this.score(row));
  }

  score(row) {
    const bar = node("span", { class: "bar", "aria-hidden": "true" });
    const score = Number(row.score);
    bar.style.setProperty("--share", `${Math.max(100 * Math.min(score, 1), 1)}%`);
    return node("p", { class: "score quiet" }, bar, node("span", { class: "value", text: percent(score) }));
  }

  relabel() {
    this.board.relabel();
  }
}

class Couplet {
  constructor(models) {
    this.models = models;
    this.newest = new Newest((signal) => this.write(signal));
    options(byId("couplet-model"), models.map((model) => model.name));
    byId("couplet-model").addEventListener("change", () => {
      this.show("", []);
      this.relabel();
    });
    byId("couplet").hidden = false;
    this.relabel();
    byId("couplet-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.newest.later(0);
    });
  }

  async write(signal) {
    const line = byId("line").value.trim();
    if (!line) return;
    byId("couplet-status").textContent = say("working");
    try {
      const body = { model: byId("couplet-model").value, texts: [line], n_best: this.isCouplet() ? CANDIDATES : 1 };
      const [answer] = (await ask("/v1/generate", body, signal)).answers;
      fine();
      this.show(line, answer.candidates ?? [answer]);
    } catch (fault) {
      if (!signal.aborted) tell(fault, this.newest);
    } finally {
      byId("couplet-status").textContent = "";
    }
  }

  show(line, candidates) {
    const [best, ...others] = candidates.map((each) => each.text);
    byId("upper").textContent = line;
    byId("lower").textContent = best ?? "";
    byId("others").replaceChildren(...others.map((text) => node("li", { dir: "auto", text })));
  }

  isCouplet() {
    return this.models.find((model) => model.name === byId("couplet-model").value)?.form === "couplet";
  }

  relabel() {
    const [title, line] = this.isCouplet() ? ["coupletTitle", "line"] : ["textTitle", "text"];
    byId("couplet-title").textContent = say(title);
    byId("line-label").textContent = say(line);
    byId("line").placeholder = say(line);
  }
}

const parts = [];

async function start() {
  let info;
  try {
    info = await ask("/info");
  } catch (fault) {
    return fault instanceof Refused && fault.status === 401 ? needKey(true) : tell(fault, { now: start });
  }
  byId("key-form").hidden = true;
  byId("version").textContent = `softquery ${info.version}`;
  const explaining = able(info, "explain");
  const writing = able(info, "generate");
  if (explaining.length) parts.push(new Pair(explaining));
  if (info.indexes.length) parts.push(new Questions(info.indexes));
  if (writing.length) parts.push(new Couplet(writing));
}

function chooseLanguage(language) {
  speak(language);
  for (const part of parts) part.relabel();
}

byId("languages").addEventListener("change", (event) => {
  chooseLanguage(event.target.value);
  remembered.set("language", currentLanguage());
});
byId("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  useKey(byId("key").value);
  start();
});
const language = remembered.get("language") ?? (navigator.language.startsWith("zh") ? "zh" : "en");
chooseLanguage(language);
document.querySelector(`#languages input[value="${currentLanguage()}"]`).checked = true;
start();
