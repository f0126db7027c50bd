// The texts of the page, in each of its languages.

const WORDS = {
  en: {
    skip: "Skip to the content",
    tagline: "Who asks, who is asked, and what comes back?",
    language: "Language",
    key: "This server needs a key",
    use: "Use it",
    keyWrong: "The server does not know this key.",
    pairTitle: "Try a pair",
    model: "Model",
    first: "First sentence",
    second: "Second sentence",
    swap: "Swap the sentences",
    same: "same meaning",
    different: "not the same",
    unsure: "not sure enough to answer",
    probabilities: "Probabilities",
    whoAsked: "Who asked whom?",
    shows: "A chosen word shows",
    asks: "whom it asks",
    asked: "who asks it",
    hint: "Point at a word, tap it, or move with Tab and the arrow keys: the words it asks light up by how much it asks them.",
    saysAsks: "{word} asks {others}",
    saysAsked: "{word} is asked by {others}",
    nobody: "nobody",
    more: "and {count} more",
    forth: "The first sentence asks the second",
    back: "The second sentence asks the first",
    askTitle: "Ask the FAQ",
    index: "Index",
    question: "Your question",
    send: "Ask",
    why: "Why the first answer won",
    noAnswer: "No good answer.",
    nearest: "No good answer. The nearest questions:",
    found: "{count} found.",
    coupletTitle: "Answer a line",
    line: "The upper line",
    textTitle: "Write",
    text: "The text",
    write: "Write",
    working: "…",
    docs: "All addresses",
    busy: "The server is busy; trying again in {seconds} s.",
    unreachable: "The server does not answer.",
  },
  zh: {
    skip: "跳到正文",
    tagline: "谁在问，问了谁，得到什么？",
    language: "语言",
    key: "此服务器需要密钥",
    use: "使用",
    keyWrong: "服务器不认识这个密钥。",
    pairTitle: "试一对句子",
    model: "模型",
    first: "第一句",
    second: "第二句",
    swap: "交换两句",
    same: "意思相同",
    different: "意思不同",
    unsure: "把握不足，不作回答",
    probabilities: "概率",
    whoAsked: "谁问了谁？",
    shows: "选中一个词时显示",
    asks: "它问了谁",
    asked: "谁问了它",
    hint: "指向、点按一个词，或用 Tab 键与方向键移动：它所问的词会按权重亮起。",
    saysAsks: "{word} 问 {others}",
    saysAsked: "问 {word} 的有 {others}",
    nobody: "无",
    more: "另有 {count} 个",
    forth: "第一句问第二句",
    back: "第二句问第一句",
    askTitle: "问一问",
    index: "索引",
    question: "您的问题",
    send: "提问",
    why: "第一个答案为何胜出",
    noAnswer: "没有合适的答案。",
    nearest: "没有合适的答案。最接近的问题：",
    found: "找到 {count} 条。",
    coupletTitle: "对下联",
    line: "上联",
    textTitle: "写作",
    text: "原文",
    write: "对",
    working: "……",
    docs: "全部接口",
    busy: "服务器已满，{seconds} 秒后重试。",
    unreachable: "服务器没有回应。",
  },
};

// A pair to begin with, by the model's language, or for models of inference.
const EXAMPLES = {
  en: ["How can I learn to play the guitar?", "What is the best way to start playing guitar?"],
  nli: ["Two dogs are running through a field.", "Some animals are outdoors."],
  zh: ["花呗怎么提额", "如何提高花呗额度"],
};

let language = "en";

export const currentLanguage = () => language;

export const say = (key, values = {}) =>
  WORDS[language][key].replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);

export const examplesOf = (kind) => EXAMPLES[kind];

// A text of the page as a list of strings and nodes, which stand in place of {names}.
export function sayNodes(key, nodes) {
  return WORDS[language][key].split(/\{(\w+)\}/).flatMap((part, place) => (place % 2 ? nodes[part] : part ? [part] : []));
}

export function speak(chosen) {
  language = chosen in WORDS ? chosen : "en";
  document.documentElement.lang = language;
  for (const each of document.querySelectorAll("[data-word]")) each.textContent = say(each.dataset.word);
  for (const [data, attribute] of [["wordPlaceholder", "placeholder"], ["wordLabel", "aria-label"], ["wordTitle", "title"]]) {
    for (const each of document.querySelectorAll(`[data-${data.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}]`)) {
      each.setAttribute(attribute, say(each.dataset[data]));
    }
  }
}
