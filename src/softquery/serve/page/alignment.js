// Two sentences as words, the threads between them, and the weights as tables.
// All text is set as text: nothing that a user or a model wrote is ever parsed as markup.

import { say, sayNodes } from "./words.js";

const LEVELS = 24;
const EXPONENT = 0.65;
const SIDES = ["first", "second"];
const other = (side) => (side === "first" ? "second" : "first");
const prefix = (side) => (side === "first" ? "a" : "b");
const levelOf = (weight) => Math.round(LEVELS * Math.min(Math.max(weight, 0), 1) ** EXPONENT);

export function node(tag, { text, ...attributes } = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  made.append(...children);
  return made;
}

const shown = (token) => (token.trim() ? token.slice(0, 80) : "␣");

export class Board {
  constructor(place) {
    this.place = place;
    this.asks = true;
    this.pinned = null;
    this.found = null;
    this.build();
  }

  build() {
    this.threads = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    this.threads.setAttribute("class", "threads");
    this.threads.setAttribute("aria-hidden", "true");
    this.rows = Object.fromEntries(SIDES.map((side) => [side, node("div", { class: "chips", role: "group" })]));
    this.sentences = node(
      "div",
      { class: "sentences" },
      this.threads,
      ...SIDES.map((side) => node("div", { class: `sentence ${side}` }, this.rows[side])),
    );
    this.reading = node("p", { class: "reading quiet", role: "status" });
    this.tables = node("div", { class: "tables" });
    this.place.replaceChildren(this.controls(), this.sentences, this.reading, this.tables);
    this.place.classList.add("board");
    this.place.hidden = true;
    this.listen();
    new ResizeObserver(() => this.show(this.pinned)).observe(this.sentences);
  }

  controls() {
    const name = `shows-${this.place.id}`;
    const choice = (value, checked) => {
      const input = node("input", { type: "radio", name, value });
      input.checked = checked;
      return node("label", {}, input, node("span", { "data-word": value, text: say(value) }));
    };
    const legend = node("legend", { "data-word": "shows", text: say("shows") });
    const group = node("fieldset", { class: "switch" }, legend, choice("asks", true), choice("asked", false));
    group.addEventListener("change", (event) => {
      this.asks = event.target.value === "asks";
      this.show(this.pinned);
    });
    return node("div", { class: "head" }, node("h3", { "data-word": "whoAsked", text: say("whoAsked") }), group);
  }

  // Show another alignment; words that keep their places keep their nodes, so that colours change smoothly.
  draw(found) {
    this.found = found;
    this.pinned = null;
    this.place.hidden = false;
    this.tokens = { first: found.first_tokens, second: found.second_tokens };
    this.weights = { first: found.first_to_second, second: found.second_to_first };
    for (const side of SIDES) this.drawChips(side);
    this.tables.replaceChildren(this.table("first", "forth"), this.table("second", "back"));
    this.show(null);
  }

  clear() {
    this.found = null;
    this.place.hidden = true;
  }

  relabel() {
    if (!this.found) return;
    this.tables.replaceChildren(this.table("first", "forth"), this.table("second", "back"));
    for (const side of SIDES) this.rows[side].setAttribute("aria-label", say(side));
    this.show(this.pinned);
  }

  drawChips(side) {
    const row = this.rows[side];
    row.setAttribute("aria-label", say(side));
    while (row.children.length > this.tokens[side].length) row.lastChild.remove();
    this.tokens[side].forEach((token, index) => {
      let chip = row.children[index];
      if (!chip) {
        chip = node(
          "button",
          { type: "button", class: "chip", "data-side": side, "data-index": index },
          node("bdi", { class: "token" }),
          node("span", { class: "weight", "aria-hidden": "true" }),
        );
        row.append(chip);
      }
      chip.firstChild.textContent = shown(token);
      chip.tabIndex = index ? -1 : 0;
    });
  }

  table(side, title) {
    const [own, others] = [this.tokens[side], this.tokens[other(side)]];
    const head = node("tr", {}, node("td"), ...others.map((token) => node("th", { scope: "col" }, node("bdi", { text: shown(token) }))));
    const rows = own.map((token, index) =>
      node(
        "tr",
        { "data-side": side, "data-index": index },
        node("th", { scope: "row" }, node("bdi", { text: shown(token) })),
        ...this.weights[side][index].map((weight) => {
          const level = `${prefix(side)}${levelOf(weight)}`;
          return node("td", { class: `${level} ink-${level}`, text: weight >= 0.005 ? weight.toFixed(2) : "" });
        }),
      ),
    );
    const caption = node("caption", { "data-word": title, text: say(title) });
    const made = node("table", { class: side }, caption, node("thead", {}, head), node("tbody", {}, ...rows));
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
    if (!chosen || !this.tokens[chosen.side][chosen.index]) return this.rest();
    const weights = this.weightsOf(chosen);
    const hue = this.asks ? chosen.side : other(chosen.side);
    this.chip(chosen.side, chosen.index).classList.add("asking");
    weights.forEach((weight, index) => {
      const level = `${prefix(hue)}${levelOf(weight)}`;
      const chip = this.chip(other(chosen.side), index);
      chip.classList.add("lit", level, `ink-${level}`);
      chip.lastChild.textContent = weight.toFixed(2);
      if (weight >= 0.03) this.thread(chosen, index, weight, 0.25 + 0.6 * weight, hue);
    });
    this.tell(chosen, weights);
  }

  // With no word chosen, thin threads show whom each word asked most.
  rest() {
    this.reading.textContent = say("hint");
    for (const side of SIDES) {
      this.weights[side].forEach((row, index) => {
        const best = row.indexOf(Math.max(...row));
        if (row[best] >= 0.2) this.thread({ side, index }, best, 0.5 * row[best], 0.2 + 0.4 * row[best], side);
      });
    }
  }

  tell(chosen, weights) {
    const order = weights.map((_, index) => index).filter((index) => weights[index] >= 0.005);
    order.sort((one, two) => weights[two] - weights[one]);
    const word = (side, index) => node("bdi", { class: `${side}-ink`, text: `“${shown(this.tokens[side][index])}”` });
    const others = order.slice(0, 5).flatMap((index, place) => [
      ...(place ? [", "] : []),
      word(other(chosen.side), index),
      ` ${weights[index].toFixed(2)}`,
    ]);
    if (order.length > 5) others.push(`, ${say("more", { count: order.length - 5 })}`);
    if (!order.length) others.push(say("nobody"));
    const parts = { word: [node("strong", {}, word(chosen.side, chosen.index))], others };
    this.reading.replaceChildren(...sayNodes(this.asks ? "saysAsks" : "saysAsked", parts));
  }

  chip(side, index) {
    return this.rows[side].children[index];
  }

  thread(from, toIndex, weight, opacity, hue) {
    const start = this.edge(this.chip(from.side, from.index), from.side, hue);
    const end = this.edge(this.chip(other(from.side), toIndex), other(from.side), hue);
    const bend = (end.y - start.y) / 2;
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("d", `M${start.x} ${start.y}C${start.x} ${start.y + bend} ${end.x} ${end.y - bend} ${end.x} ${end.y}`);
    path.setAttribute("class", hue);
    path.setAttribute("stroke-width", (1 + 6 * weight).toFixed(2));
    path.setAttribute("stroke-opacity", opacity.toFixed(2));
    this.threads.append(path);
  }

  edge(chip, side, hue) {
    const around = this.sentences.getBoundingClientRect();
    const box = chip.getBoundingClientRect();
    const list = chip.parentElement.getBoundingClientRect();
    const y = side === "first" ? box.bottom : box.top;
    return {
      x: box.left + box.width / 2 - around.left + (hue === "first" ? -3 : 3),
      y: Math.min(Math.max(y, list.top), list.bottom) - around.top,
    };
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
    for (const side of SIDES) this.rows[side].addEventListener("scroll", () => this.show(this.pinned), { passive: true });
  }

  onKey(event, place) {
    if (event.key === "Escape") {
      this.pinned = null;
      return this.show(null);
    }
    if (!place || event.ctrlKey || event.altKey || event.metaKey) return;
    const forward = getComputedStyle(this.rows[place.side]).direction === "rtl" ? -1 : 1;
    const weights = this.weightsOf(place);
    const partner = weights.indexOf(Math.max(...weights));
    const moves = {
      ArrowRight: [place.side, place.index + forward],
      ArrowLeft: [place.side, place.index - forward],
      Home: [place.side, 0],
      End: [place.side, this.tokens[place.side].length - 1],
      ArrowDown: [other(place.side), partner],
      ArrowUp: [other(place.side), partner],
    };
    if (!moves[event.key]) return;
    event.preventDefault();
    const [side, index] = moves[event.key];
    const chip = this.chip(side, Math.min(Math.max(index, 0), this.tokens[side].length - 1));
    for (const each of this.rows[side].children) each.tabIndex = -1;
    chip.tabIndex = 0;
    chip.focus();
  }
}
