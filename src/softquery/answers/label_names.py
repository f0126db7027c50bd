"""What labels are called in front of people, in English and Chinese; on disk they keep their names.

A bundle may name its own labels in `task.label_names` of its `config.json`. The usual label sets
have names here, so that bundles without any are shown in words, too.
"""

from collections.abc import Mapping, Sequence
from typing import Any

LANGUAGES = ("en", "zh")
LONGEST_NAME = 80
Names = dict[str, dict[str, str]]
"""The names of labels by label, then by language."""

_SAME_OR_NOT = {"0": ("different meaning", "意思不同"), "1": ("same meaning", "意思相同")}
_INFERENCE = {
    "entailment": ("follows from it", "蕴含"),
    "neutral": ("neither follows nor contradicts", "中立"),
    "contradiction": ("contradicts it", "矛盾"),
}
_OPINION = {"negative": ("negative", "负面"), "positive": ("positive", "正面")}
_TOPICS = {
    "agriculture": ("agriculture", "农业"),
    "car": ("cars", "汽车"),
    "culture": ("culture", "文化"),
    "edu": ("education", "教育"),
    "entertainment": ("entertainment", "娱乐"),
    "finance": ("finance", "财经"),
    "game": ("games", "游戏"),
    "house": ("housing", "房产"),
    "military": ("military", "军事"),
    "sports": ("sports", "体育"),
    "stock": ("stocks", "股票"),
    "story": ("stories", "故事"),
    "tech": ("technology", "科技"),
    "travel": ("travel", "旅游"),
    "world": ("world news", "国际"),
}
_PARTS_OF_SPEECH = {
    "ADJ": ("adjective", "形容词"),
    "ADP": ("preposition", "介词"),
    "ADV": ("adverb", "副词"),
    "AUX": ("auxiliary verb", "助动词"),
    "CCONJ": ("coordinating conjunction", "并列连词"),
    "DET": ("determiner", "限定词"),
    "INTJ": ("interjection", "感叹词"),
    "NOUN": ("noun", "名词"),
    "NUM": ("number", "数词"),
    "PART": ("particle", "小品词"),
    "PRON": ("pronoun", "代词"),
    "PROPN": ("proper name", "专有名词"),
    "PUNCT": ("punctuation", "标点"),
    "SCONJ": ("subordinating conjunction", "从属连词"),
    "SYM": ("symbol", "符号"),
    "VERB": ("verb", "动词"),
    "X": ("other", "其他"),
}
_ENTITIES = {
    "PER": ("person", "人名"),
    "PERSON": ("person", "人名"),
    "ORG": ("organisation", "机构名"),
    "LOC": ("place", "地名"),
    "GPE": ("country or city", "行政区"),
    "MISC": ("other name", "其他名称"),
}
_BY_TASK: Mapping[str, Sequence[Mapping[str, tuple[str, str]]]] = {
    "match": (_SAME_OR_NOT, _INFERENCE),
    "classify": (_OPINION, _TOPICS),
    "tag": (_PARTS_OF_SPEECH, _ENTITIES),
}


def label_names(task: Mapping[str, Any], labels: Sequence[str]) -> Names:
    """The names of labels, as far as the task's settings or the usual label sets give any.

    Args:
        task: `task` of a bundle's `config.json`. Names in its `label_names` win; what is no short
            text under a known label and a known language is ignored, because names change nothing.
        labels: Those that the model may answer; of spans, without `B-` and the like.

    >>> label_names({"name": "match"}, ["0", "1"])["1"]
    {'en': 'same meaning', 'zh': '意思相同'}
    >>> own = {"a": {"en": "about pay", "fr": "paie"}, "b": 3}
    >>> label_names({"name": "classify", "label_names": own}, ["a", "b"])
    {'a': {'en': 'about pay'}}
    """
    found: Names = {}
    for usual in _BY_TASK.get(str(task.get("name")), ()):
        # Numbers mean this only where they are all the labels.
        if usual is not _SAME_OR_NOT or set(labels) == set(usual):
            found |= {
                label: dict(zip(LANGUAGES, usual[label], strict=True))
                for label in labels
                if label in usual
            }
    for label, own in _own_names(task).items():
        if label in labels:
            found[label] = {**found.get(label, {}), **own}
    return found


def _own_names(task: Mapping[str, Any]) -> Names:
    given = task.get("label_names")
    if not isinstance(given, Mapping):
        return {}
    found = {
        str(label): {code: str(name) for code, name in names.items() if _is_name(code, name)}
        for label, names in given.items()
        if isinstance(names, Mapping)
    }
    return {label: names for label, names in found.items() if names}


def _is_name(code: object, name: object) -> bool:
    return code in LANGUAGES and isinstance(name, str) and 0 < len(name.strip()) <= LONGEST_NAME
