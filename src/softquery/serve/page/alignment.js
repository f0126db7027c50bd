// Two sentences as words, the threads between them, and on demand the weights as tables.
//
// Words stand in two rows where both fit in a line, in two columns where they do not, and long texts
// flow without threads at rest, so that threads never run across words or tangle.

import { node, percent, worded } from "./nodes.js";
import { relabel, say, sayNodes } from "./words.js";

const LEVELS = 24;
const EXPONENT = 0.65;
const SIDES = ["first", "second"];
const LONGEST_COLUMN = 26;
// The least weight of a thread of a word that is chosen, and of a thread at rest.
const LEAST = 0.03;
const LEAST_AT_REST = 0.3;
const SPECIAL = /^(<(bos|eos|s|\/s|cls|sep)>|\[(CLS|SEP)\])$/i;
const other = (side) => (side === "first" ? "second" : "first");
const prefix = (side) => (side === "first" ? "a" : "b");
const levelOf = (weight) => Math.round(LEVELS * Math.min(Math.max(weight, 0), 1) ** EXPONENT);

// The classes that colour an element by a weight from 0 to 1.
export const levelClass = (hue, weight) => `${hue}${levelOf(weight)} ink-${hue}${levelOf(weight)}`;

const shown = (token) => (token.trim() ? token.slice(0, 80) : "␣");

// The places of the tokens that stand in the sentence: marks of its beginning and end do not.
function wordPlaces(tokens) {
  const places = [...tokens.keys()];
  return places.filter((place) => !((place === 0 || place === tokens.length - 1) && SPECIAL.test(tokens[place])));
}

export class Board {
  // `names` are the words of the page for both sides.
  constructor(place, names) {
    Object.assign(this, { place, names, asks: true, pinned: null, found: null, width: 0 });
    this.build();
  }

  build() {
    this.threads = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    this.threads.setAttribute("class", "threads");
    this.threads.setAttribute("aria-hidden", "true");
    this.rows = Object.fromEntries(SIDES.map((side) => [side, node("div", { class: "chips", role: "group", "data-word-label": this.names[side] })]));
    this.sentences = node("div", { class: "sentences" }, this.threads, ...SIDES.map((side) => node("div", { class: `sentence ${side}` }, this.rows[side])));
    this.reading = node("p", { class: "reading quiet", role: "status" });
    this.tables = node("div", { class: "tables" });
    this.matrices = node("details", { class: "more" }, worded("summary", "matrices"), this.tables);
    this.matrices.addEventListener("toggle", () => this.matrices.open && this.drawTables());
    this.place.replaceChildren(this.controls(), this.sentences, this.reading, this.matrices);
    this.place.classList.add("board");
    relabel(this.place);
    this.listen();
    new ResizeObserver(() => this.place.clientWidth !== this.width && this.found && this.arrange()).observe(this.place);
  }

  controls() {
    const name = `shows-${Math.random().toString(36).slice(2)}`;
    const choice = (value, checked) => {
      const input = node("input", { type: "radio", name, value });
      input.checked = checked;
      return node("label", {}, input, worded("span", value));
    };
    const group = node("fieldset", { class: "switch" }, worded("legend", "shows"), choice("asks", true), choice("asked", false));
    group.addEventListener("change", (event) => {
      this.asks = event.target.value === "asks";
      this.show(this.pinned);
    });
    return node("div", { class: "head" }, worded("h3", "whoAsked"), group);
  }

  draw(found) {
    this.found = found;
    const tokens = { first: found.first_tokens, second: found.second_tokens };
    const places = { first: wordPlaces(tokens.first), second: wordPlaces(tokens.second) };
    const weights = { first: found.first_to_second, second: found.second_to_first };
    this.tokens = {};
    this.weights = {};
    this.rest = {}; // what a word asks outside of the other sentence's words
    for (const side of SIDES) {
      this.tokens[side] = places[side].map((place) => tokens[side][place]);
      this.weights[side] = places[side].map((place) => places[other(side)].map((column) => weights[side][place][column]));
      this.rest[side] = this.weights[side].map((row) => 1 - row.reduce((sum, weight) => sum + weight, 0));
      this.rows[side].replaceChildren(...this.tokens[side].map((token, index) => this.newChip(side, token, index)));
    }
    this.arrange();
  }

  newChip(side, token, index) {
    const chip = node(
      "button",
      { type: "button", class: "chip", "data-side": side, "data-index": index, tabindex: index ? "-1" : "0" },
      node("bdi", { class: "token", text: shown(token) }),
      node("span", { class: "weight", "aria-hidden": "true" }),
    );
    return chip;
  }

  // Rows where both sentences fit in a line; else columns; else a text without threads at rest.
  arrange() {
    this.width = this.place.clientWidth;
    this.setLayout("rows");
    const fits = SIDES.every((side) => this.rows[side].scrollWidth <= this.rows[side].clientWidth + 1);
    if (!fits) this.setLayout(SIDES.every((side) => this.tokens[side].length <= LONGEST_COLUMN) ? "columns" : "flow");
    this.show(this.pinned);
  }

  setLayout(layout) {
    this.layout = layout;
    this.sentences.className = `sentences ${layout}`;
  }

  drawTables() {
    this.tables.replaceChildren(this.table("first", "forth"), this.table("second", "back"));
  }

  table(side, title) {
    const [own, others] = [this.tokens[side], this.tokens[other(side)]];
    const head = node("tr", {}, node("td"), ...others.map((token) => node("th", { scope: "col" }, node("bdi", { text: shown(token) }))));
    const rows = own.map((token, index) =>
      node(
        "tr",
        { "data-side": side, "data-index": index },
        node("th", { scope: "row" }, node("bdi", { text: shown(token) })),
        ...this.weights[side][index].map((weight) => node("td", { class: levelClass(prefix(side), weight), text: weight >= 0.005 ? weight.toFixed(2) : "" })),
      ),
    );
    const made = node("table", { class: side }, worded("caption", title), node("thead", {}, head), node("tbody", {}, ...rows));
    return node("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": say(title) }, made);
  }

  weightsOf({ side, index }) {
    return this.asks ? this.weights[side][index] : this.weights[other(side)].map((row) => row[index]);
  }

  show(chosen) {
    if (!this.found) return;
    for (const chip of this.sentences.querySelectorAll(".chip")) {
      chip.className = "chip";
      chip.lastChild.textContent = "";
    }
    this.threads.replaceChildren();
    if (!chosen || !this.tokens[chosen.side][chosen.index]) return this.showRest();
    const weights = this.weightsOf(chosen);
    const hue = this.asks ? chosen.side : other(chosen.side);
    this.chip(chosen.side, chosen.index).classList.add("asking");
    weights.forEach((weight, index) => {
      const chip = this.chip(other(chosen.side), index);
      chip.classList.add("lit", ...levelClass(prefix(hue), weight).split(" "));
      chip.lastChild.textContent = weight >= 0.005 ? weight.toFixed(2) : "";
      if (weight >= LEAST && this.layout !== "flow") this.thread(chosen, index, weight, 0.35 + 0.6 * weight, hue);
    });
    this.tell(chosen, weights);
  }

  // With no word chosen, thin threads show the words that asked each other most.
  showRest() {
    this.reading.textContent = say("hint");
    if (this.layout === "flow") return;
    this.tokens.first.forEach((_, index) => {
      this.tokens.second.forEach((_, column) => {
        const [forth, back] = [this.weights.first[index][column], this.weights.second[column][index]];
        const isBest = forth === Math.max(...this.weights.first[index]) || back === Math.max(...this.weights.second[column]);
        const weight = Math.max(forth, back);
        const hue = forth >= back ? "first" : "second";
        if (isBest && weight >= LEAST_AT_REST) this.thread({ side: "first", index }, column, 0.4 * weight, 0.2 + 0.5 * weight, hue);
      });
    });
  }

  tell(chosen, weights) {
    const order = weights.map((_, index) => index).filter((index) => weights[index] >= 0.005);
    order.sort((one, two) => weights[two] - weights[one]);
    const word = (side, index) => node("bdi", { class: `${side}-ink`, text: `“${shown(this.tokens[side][index])}”` });
    const others = order.slice(0, 5).flatMap((index, place) => [...(place ? [say("comma")] : []), word(other(chosen.side), index), ` ${weights[index].toFixed(2)}`]);
    if (order.length > 5) others.push(`${say("comma")}${say("more", { count: order.length - 5 })}`);
    if (!order.length) others.push(say("nobody"));
    const parts = { word: [node("strong", {}, word(chosen.side, chosen.index))], others };
    const rest = this.asks ? this.rest[chosen.side][chosen.index] : 0;
    const more = rest >= 0.05 ? [" ", say("edges", { share: percent(rest) })] : [];
    this.reading.replaceChildren(...sayNodes(this.asks ? "saysAsks" : "saysAsked", parts), ...more);
  }

  chip(side, index) {
    return this.rows[side].children[index];
  }

  thread(from, toIndex, weight, opacity, hue) {
    const start = this.edge(this.chip(from.side, from.index), from.side, hue);
    const end = this.edge(this.chip(other(from.side), toIndex), other(from.side), hue);
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    const [halfX, halfY] = [(end.x - start.x) / 2, (end.y - start.y) / 2];
    const curve =
      this.layout === "columns"
        ? `C${start.x + halfX} ${start.y} ${end.x - halfX} ${end.y}`
        : `C${start.x} ${start.y + halfY} ${end.x} ${end.y - halfY}`;
    path.setAttribute("d", `M${start.x} ${start.y}${curve} ${end.x} ${end.y}`);
    path.setAttribute("class", hue);
    path.setAttribute("stroke-width", (1 + 6 * weight).toFixed(2));
    path.setAttribute("stroke-opacity", opacity.toFixed(2));
    this.threads.append(path);
  }

  // Where a thread meets a word: its inner edge, each direction a little to its own side.
  edge(chip, side, hue) {
    const around = this.sentences.getBoundingClientRect();
    const box = chip.getBoundingClientRect();
    const shift = hue === "first" ? -2 : 2;
    if (this.layout === "columns") {
      return { x: (side === "first" ? box.right : box.left) - around.left, y: box.top + box.height / 2 - around.top + shift };
    }
    return { x: box.left + box.width / 2 - around.left + shift, y: (side === "first" ? box.bottom : box.top) - around.top };
  }

  listen() {
    const placeOf = (element) => {
      const holder = element.closest("[data-side][data-index]");
      return holder && { side: holder.dataset.side, index: Number(holder.dataset.index) };
    };
    for (const area of [this.sentences, this.tables]) {
      area.addEventListener("pointerover", (event) => {
        const place = event.pointerType !== "touch" && placeOf(event.target);
        if (place) this.show(place);
      });
      area.addEventListener("pointerleave", () => this.show(this.pinned));
      area.addEventListener("click", (event) => {
        this.pinned = placeOf(event.target);
        this.show(this.pinned);
      });
    }
    this.sentences.addEventListener("focusin", (event) => {
      this.pinned = placeOf(event.target);
      this.show(this.pinned);
    });
    this.sentences.addEventListener("keydown", (event) => this.onKey(event, placeOf(event.target)));
  }

  // Arrows go along a sentence, and across to the word with the largest weight.
  onKey(event, place) {
    if (event.key === "Escape") {
      this.pinned = null;
      return this.show(null);
    }
    if (!place || event.ctrlKey || event.altKey || event.metaKey) return;
    const isColumn = this.layout === "columns";
    const forward = !isColumn && getComputedStyle(this.rows[place.side]).direction === "rtl" ? -1 : 1;
    const weights = this.weightsOf(place);
    const partner = [other(place.side), weights.indexOf(Math.max(...weights))];
    const [next, previous] = [[place.side, place.index + forward], [place.side, place.index - forward]];
    const ends = { Home: [place.side, 0], End: [place.side, this.tokens[place.side].length - 1] };
    const moves = isColumn
      ? { ...ends, ArrowDown: next, ArrowUp: previous, ArrowRight: partner, ArrowLeft: partner }
      : { ...ends, ArrowRight: next, ArrowLeft: previous, ArrowDown: partner, ArrowUp: partner };
    if (!moves[event.key]) return;
    event.preventDefault();
    const [side, index] = moves[event.key];
    const chip = this.chip(side, Math.min(Math.max(index, 0), this.tokens[side].length - 1));
    for (const each of this.rows[side].children) each.tabIndex = -1;
    chip.tabIndex = 0;
    chip.focus();
  }
}
