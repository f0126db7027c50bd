"use strict";
(() => {
  const data = JSON.parse(document.getElementById("weights").textContent);
  const board = document.querySelector(".sentences");
  const threads = document.querySelector(".threads");
  const reading = document.querySelector(".reading");
  const maps = document.querySelector(".maps");
  const words = data.words;
  const hint = reading.textContent;
  const sides = ["first", "second"];
  const chips = Object.fromEntries(
    sides.map((side) => [side, [...document.querySelectorAll(`.sentence.${side} .chip`)]]),
  );
  const other = (side) => (side === "first" ? "second" : "first");
  let pinned = null; // the word that was clicked or focused: {side, index}
  let shown = null; // the word that is lit now, as the pointer may be over another one
  let asks = true;

  // Rows of data[side] are what the tokens of that side asked; a column is who asked one token.
  // A text that asks nothing has no rows: then its words show who asks them, whatever is chosen.
  const asksOf = (side) => !data[other(side)] || (asks && Boolean(data[side]));
  const weightsOf = ({ side, index }) =>
    asksOf(side) ? data[side][index] : data[other(side)].map((row) => row[index]);

  // The same bend as in the pictures, so that one colour means one weight everywhere.
  const levelOf = (weight) =>
    Math.round(data.levels * Math.min(Math.max(weight, 0), 1) ** data.exponent);

  function clear() {
    for (const chip of board.querySelectorAll(".chip")) {
      chip.classList.remove(...[...chip.classList].filter((each) => !["chip", "found"].includes(each)));
      chip.querySelector(".weight").textContent = "";
    }
    for (const row of maps.querySelectorAll(".on")) row.classList.remove("on");
    maps.classList.remove("focused");
    threads.replaceChildren();
  }

  // Marks of a sentence's beginning and end are no words of it, so that no thread leads to them.
  const drawable = (side, index, toIndex) => !chips[side][index].hidden && !chips[other(side)][toIndex].hidden;

  // With no word chosen, thin threads show whom each word asked most.
  function rest() {
    clear();
    reading.textContent = hint;
    const drawn = sides.flatMap((side) =>
      (data[side] ?? []).map((row, index) => {
        const best = row.indexOf(Math.max(...row));
        return row[best] >= 0.2 && drawable(side, index, best) && thread({ side, index }, best, 0.5 * row[best], 0.2 + 0.4 * row[best]);
      }),
    );
    threads.append(...drawn.filter(Boolean));
  }

  function show(chosen) {
    shown = chosen;
    if (!chosen) return rest();
    clear();
    const weights = weightsOf(chosen);
    // The hue is that of the asking sentence, whichever way it is looked at.
    const hue = asksOf(chosen.side) ? chosen.side : other(chosen.side);
    const prefix = hue === "first" ? "a" : "b";
    chips[chosen.side][chosen.index].classList.add("asking");
    weights.forEach((weight, index) => {
      const chip = chips[other(chosen.side)][index];
      const level = `${prefix}${levelOf(weight)}`;
      chip.classList.add("lit", level, `ink-${level}`);
      chip.querySelector(".weight").textContent = weight.toFixed(2);
    });
    const drawn = weights.map(
      (weight, index) => weight >= 0.03 && drawable(chosen.side, chosen.index, index) && thread(chosen, index, weight, 0.25 + 0.6 * weight, hue),
    );
    threads.append(...drawn.filter(Boolean));
    mark(chosen);
    say(chosen, weights);
  }

  function mark({ side, index }) {
    if (!asksOf(side)) return;
    const row = maps.querySelector(`.row[data-side="${side}"][data-index="${index}"]`);
    if (!row) return;
    maps.querySelectorAll(`.row[data-side="${other(side)}"]`).forEach((each) => each.classList.add("on"));
    row.classList.add("on");
    maps.classList.add("focused");
  }

  function wordOf(side, index) {
    const word = document.createElement("bdi");
    word.textContent = chips[side][index].querySelector(".token").textContent;
    word.className = `${side}-ink`;
    return ["“", word, "”"];
  }

  function say(chosen, weights) {
    const order = weights.map((_, index) => index).filter((index) => weights[index] >= 0.005 && !chips[other(chosen.side)][index].hidden);
    order.sort((one, two) => weights[two] - weights[one]);
    const head = document.createElement("strong");
    head.append(...wordOf(chosen.side, chosen.index));
    const parts = [head, asksOf(chosen.side) ? words.asks : words.asked];
    order.slice(0, 5).forEach((index, place) => {
      if (place) parts.push(", ");
      parts.push(...wordOf(other(chosen.side), index), ` ${weights[index].toFixed(2)}`);
    });
    if (!order.length) parts.push(words.nobody);
    if (order.length > 5) parts.push(words.more.replace("{count}", order.length - 5));
    reading.replaceChildren(...parts);
  }

  function thread(from, toIndex, weight, opacity, hue = from.side) {
    const start = edge(chips[from.side][from.index], from.side, hue);
    const end = edge(chips[other(from.side)][toIndex], other(from.side), hue);
    const bend = (end.y - start.y) / 2;
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute(
      "d",
      `M${start.x} ${start.y}C${start.x} ${start.y + bend} ${end.x} ${end.y - bend} ${end.x} ${end.y}`,
    );
    path.setAttribute("class", hue);
    path.setAttribute("stroke-width", (1 + 6 * weight).toFixed(2));
    path.setAttribute("stroke-opacity", opacity.toFixed(2));
    return path;
  }

  // Where a thread meets a chip: the middle of the edge that faces the other sentence, a little to
  // one side, so that two words that ask each other are seen to do so.
  function edge(chip, side, hue) {
    const around = board.getBoundingClientRect();
    const box = chip.getBoundingClientRect();
    const list = chip.parentElement.getBoundingClientRect();
    const y = side === "first" ? box.bottom : box.top;
    return {
      x: box.left + box.width / 2 - around.left + (hue === "first" ? -3 : 3),
      y: Math.min(Math.max(y, list.top), list.bottom) - around.top,
    };
  }

  const placeOf = (element) => {
    const holder = element.closest("[data-side][data-index]");
    return holder && { side: holder.dataset.side, index: Number(holder.dataset.index) };
  };

  const wordsOf = (side) => [...chips[side].keys()].filter((index) => !chips[side][index].hidden);

  function focus(side, index) {
    const places = wordsOf(side);
    const chip = chips[side][Math.min(Math.max(index, places[0]), places.at(-1))];
    if (!chip) return;
    for (const each of chips[side]) each.tabIndex = -1;
    chip.tabIndex = 0;
    chip.focus();
  }

  function onKey(event) {
    const place = placeOf(event.target);
    if (event.key === "Escape") {
      pinned = null;
      return show(null);
    }
    if (!place || event.ctrlKey || event.altKey || event.metaKey) return;
    const forward = getComputedStyle(event.target.parentElement).direction === "rtl" ? -1 : 1;
    const count = chips[place.side].length;
    const moves = {
      ArrowRight: () => focus(place.side, place.index + forward),
      ArrowLeft: () => focus(place.side, place.index - forward),
      Home: () => focus(place.side, 0),
      End: () => focus(place.side, count - 1),
      ArrowDown: () => focus(other(place.side), partnerOf(place)),
      ArrowUp: () => focus(other(place.side), partnerOf(place)),
    };
    if (!moves[event.key]) return;
    event.preventDefault();
    moves[event.key]();
  }

  // Up and down lead to the strongest partner in the other sentence.
  function partnerOf(place) {
    const weights = weightsOf(place);
    return weights.indexOf(Math.max(...weights));
  }

  for (const area of [board, maps]) {
    area.addEventListener("pointerover", (event) => {
      const place = event.pointerType !== "touch" && placeOf(event.target);
      if (place) show(place);
    });
    area.addEventListener("pointerleave", () => show(pinned));
    area.addEventListener("click", (event) => {
      pinned = placeOf(event.target);
      show(pinned);
    });
  }
  board.addEventListener("focusin", (event) => {
    pinned = placeOf(event.target);
    show(pinned);
  });
  board.addEventListener("keydown", onKey);
  document.querySelector(".switch").addEventListener("change", (event) => {
    asks = event.target.value === "asks";
    show(pinned);
  });
  for (const list of document.querySelectorAll(".chips")) {
    list.addEventListener("scroll", () => show(shown), { passive: true });
  }
  new ResizeObserver(() => show(shown)).observe(board);
  for (const side of sides) chips[side].forEach((chip, index) => (chip.tabIndex = index === wordsOf(side)[0] ? 0 : -1));
})();
