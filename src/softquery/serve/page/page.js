// The page at `/`: a panel for every task that this server has a model for, one of them shown.

import { ask, Refused, useKey } from "./asking.js";
import { faultNodes, node, worded } from "./nodes.js";
import { AskPanel } from "./panels/ask.js";
import { ClassifyPanel } from "./panels/classify.js";
import { FillPanel } from "./panels/fill.js";
import { GeneratePanel } from "./panels/generate.js";
import { PairPanel } from "./panels/pair.js";
import { RankPanel } from "./panels/rank.js";
import { ReadPanel } from "./panels/read.js";
import { SimilarityPanel } from "./panels/similarity.js";
import { TagPanel } from "./panels/tag.js";
import { readAddress } from "./share.js";
import { UploadBox } from "./upload.js";
import { currentLanguage, say, speak } from "./words.js";

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

// The panels in their order, each with the verb that its models can do.
const PANELS = [
  [AskPanel, "search"],
  [PairPanel, "match"],
  [RankPanel, "match"],
  [SimilarityPanel, "embed"],
  [ClassifyPanel, "classify"],
  [TagPanel, "tag"],
  [ReadPanel, "read"],
  [GeneratePanel, "generate"],
  [FillPanel, "fill"],
];

const panels = new Map();
let shown = null;

const page = {
  limits: {},
  // Asks for a key; `again` is done once there is one.
  needKey(again = null) {
    this.again = again;
    byId("key-form").hidden = false;
    byId("key-fault").textContent = byId("key").value ? say("keyWrong") : "";
    byId("key").focus();
  },
};

function build(info) {
  page.limits = info.limits ?? {};
  for (const [Panel, verb] of PANELS) {
    const models = verb === "search" ? info.indexes : info.models.filter((model) => model.can.includes(verb));
    if (models.length) add(new Panel(models, page));
  }
  if (info.uploads) addUploads(info);
}

function add(panel) {
  panels.set(panel.id, panel);
  byId("panels").append(panel.section);
  const link = worded("a", `${panel.id}Nav`, { href: `#${panel.id}` });
  const item = node("li", {}, link);
  // The panel of questions may come last, and stands first all the same.
  if (panel.id === "ask") byId("tasks").prepend(item);
  else byId("tasks").append(item);
}

// The box for files stands below the questions, whose panel may begin with the first file.
function addUploads(info) {
  const added = (index) => {
    if (panels.has("ask")) panels.get("ask").add(index);
    else add(new AskPanel([index], page));
    show("ask");
    byId("question").focus();
  };
  const upload = new UploadBox(info.limits, added, page);
  byId("panels").append(upload.box);
  // A file may be dropped anywhere; beside the box, the browser would leave the page for it.
  const hasFile = (event) => event.dataTransfer?.types.includes("Files");
  addEventListener("dragover", (event) => hasFile(event) && event.preventDefault());
  addEventListener("drop", (event) => {
    if (!hasFile(event)) return;
    event.preventDefault();
    location.hash = "ask";
    show("ask");
    upload.open(event.dataTransfer.files[0]);
  });
  upload.box.dataset.panel = panels.has("ask") ? "ask" : "";
}

function show(id) {
  shown = panels.has(id) ? id : panels.keys().next().value;
  for (const [name, panel] of panels) panel.section.hidden = name !== shown;
  const upload = byId("upload");
  if (upload) upload.hidden = shown !== "ask" && panels.has("ask");
  for (const link of byId("tasks").querySelectorAll("a")) {
    const isShown = link.hash === `#${shown}`;
    if (isShown) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
    if (isShown) link.parentElement.parentElement.scrollTo({ left: link.offsetLeft - 40 });
  }
}

// What the address says: a panel, and what its fields hold, which nobody has asked for yet.
function follow({ focuses }) {
  const { panel, fields } = readAddress();
  if (!panels.has(panel)) return shown === null && show("");
  show(panel);
  panels.get(panel).open(fields);
  if (focuses) panels.get(panel).title.focus({ preventScroll: true });
}

async function start() {
  const fault = byId("fault");
  const late = setTimeout(() => (byId("loading").hidden = false), 500);
  let info;
  try {
    info = await ask("/info");
  } catch (reason) {
    if (reason instanceof Refused && reason.status === 401) return page.needKey(page.again);
    fault.replaceChildren(...faultNodes(reason));
    return (fault.hidden = false);
  } finally {
    clearTimeout(late);
    byId("loading").hidden = true;
  }
  byId("key-form").hidden = true;
  fault.hidden = true;
  byId("version").textContent = ` · softquery ${info.version}`;
  if (!panels.size) build(info);
  byId("nav").hidden = panels.size < 2;
  fault.textContent = say("nothingServed");
  fault.hidden = panels.size > 0 || info.uploads;
  follow({ focuses: false });
}

// With a key: what was refused is asked again, and the focus goes to where the user was.
async function enter() {
  await start();
  if (!byId("key-form").hidden || !panels.has(shown)) return;
  panels.get(shown).title.focus({ preventScroll: true });
  page.again?.();
}

function chooseLanguage(language) {
  speak(language);
  for (const panel of panels.values()) panel.relabel();
}

byId("languages").addEventListener("change", (event) => {
  chooseLanguage(event.target.value);
  remembered.set("language", currentLanguage());
});
byId("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  useKey(byId("key").value);
  enter();
});
addEventListener("hashchange", () => follow({ focuses: true }));
const preferred = (navigator.languages ?? [navigator.language]).find((each) => /^(en|zh)\b/i.test(each)) ?? "en";
chooseLanguage(remembered.get("language") ?? preferred.slice(0, 2).toLowerCase());
document.querySelector(`#languages input[value="${currentLanguage()}"]`).checked = true;
start();
