// What languages are called, and whether a text is in the script of a model's language.

import { currentLanguage } from "./words.js";

const countOf = (text, pattern) => text.match(pattern)?.length ?? 0;

export const languageName = (code) => new Intl.DisplayNames([currentLanguage()], { type: "language" }).of(code);

// The script of a language, or nothing where its code is unknown.
function scriptOf(language) {
  try {
    return new Intl.Locale(language).maximize().script;
  } catch {
    return undefined;
  }
}

// Whether a model of a language in Latin letters is asked in others, or one of Chinese in Latin ones.
export function isForeign({ language }, texts) {
  const text = texts.join(" ");
  const letters = countOf(text, /\p{Letter}/gu);
  if (!letters) return false;
  if (scriptOf(language) === "Latn") return countOf(text, /\p{Script=Latin}/gu) < letters / 2;
  return language === "zh" && countOf(text, /\p{Script=Han}/gu) === 0;
}
