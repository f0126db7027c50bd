"""Chinese words for others: names, opposites and synonyms, negation, quantifiers, modality."""

import random
import re
from collections.abc import Iterator

from .edits import (
    CLASH,
    OTHER,
    SAME,
    Edit,
    Relation,
    any_of,
    both_ways,
    edit,
    read_lists,
    read_rows,
    replace_listed,
)

LISTS = read_lists("chinese.json")
NAMES = {
    name: any_of(LISTS[name], bounded=False)
    for name in ("persons", "cities", "countries", "companies", "districts")
}
IN_A_NAME = re.compile(r"[省市路街大酒店站西东南北人菜烤鸭奶馆寺银机场航]|众")
OPPOSITES = both_ways([row[:2] for row in read_rows("antonyms_zh.tsv")])
SYNONYMS = both_ways(LISTS["synonyms"])
OPPOSITE, SYNONYM = any_of(OPPOSITES, bounded=False), any_of(SYNONYMS, bounded=False)
Table = dict[str, list[tuple[str, Relation]]]
NEGATABLE: Table = {
    "是": [("不是", CLASH)],
    "会": [("不会", CLASH)],
    "能": [("不能", CLASH)],
    "可以": [("不可以", CLASH), ("不能", CLASH)],
    "想": [("不想", CLASH)],
    "喜欢": [("不喜欢", CLASH)],
    "需要": [("不需要", CLASH)],
    "希望": [("不希望", CLASH)],
    "知道": [("不知道", CLASH)],
    "应该": [("不应该", CLASH)],
    "打算": [("不打算", CLASH)],
    "愿意": [("不愿意", CLASH)],
    "有": [("没有", CLASH)],
    "必须": [("不必", CLASH)],
    "提供": [("不提供", CLASH)],
    "包含": [("不包含", CLASH)],
    "支持": [("不支持", CLASH)],
    "了解": [("不了解", CLASH)],
}
NEGATED: Table = {
    "不是": [("是", CLASH), ("并不是", SAME)],
    "不会": [("会", CLASH)],
    "不能": [("能", CLASH), ("无法", SAME)],
    "不可以": [("可以", CLASH)],
    "不想": [("想", CLASH), ("并不想", SAME)],
    "不喜欢": [("喜欢", CLASH), ("并不喜欢", SAME)],
    "不需要": [("需要", CLASH), ("不用", SAME), ("无需", SAME)],
    "不知道": [("知道", CLASH), ("不清楚", SAME)],
    "没有": [("有", CLASH), ("并没有", SAME)],
    "无法": [("能够", CLASH), ("没法", SAME), ("不能", SAME)],
    "不要": [("要", CLASH), ("别", SAME)],
    "不用": [("需要", CLASH), ("不需要", SAME)],
    "未": [("已", CLASH)],
    "不应该": [("应该", CLASH), ("不该", SAME)],
    "从来没有": [("曾经", CLASH), ("从没", SAME)],
    "不太": [("很", CLASH)],
}
QUANTIFIERS: Table = {
    "所有": [("部分", OTHER), ("少数", OTHER), ("全部", SAME)],
    "全部": [("部分", OTHER), ("所有", SAME)],
    "每个": [("某个", OTHER), ("每一个", SAME)],
    "每天": [("偶尔", OTHER), ("天天", SAME)],
    "每次": [("有一次", OTHER)],
    "一些": [("所有", OTHER), ("若干", SAME)],
    "大部分": [("所有", OTHER), ("大多数", SAME)],
    "大多数": [("所有", OTHER), ("大部分", SAME)],
    "很多": [("极少", CLASH), ("许多", SAME)],
    "许多": [("极少", CLASH), ("很多", SAME)],
    "至少": [("至多", OTHER), ("最少", SAME)],
    "最多": [("至多", SAME), ("至少", OTHER)],
    "只有": [("不只有", CLASH), ("仅有", SAME)],
    "大家": [("有的人", OTHER), ("大伙儿", SAME)],
    "任何": [("某个特定的", OTHER)],
    "总是": [("有时", OTHER), ("老是", SAME)],
    "有时候": [("总是", OTHER), ("有时", SAME)],
    "经常": [("从不", CLASH), ("时常", SAME)],
    "超过": [("少于", CLASH), ("多于", SAME)],
    "几乎": [("完全不", OTHER)],
    "以上": [("以下", CLASH)],
    "以内": [("以外", CLASH)],
}
MODALS: Table = {
    "必须": [("可以", OTHER), ("不必", CLASH), ("一定要", SAME), ("务必", SAME)],
    "可能": [("一定", OTHER), ("或许", SAME), ("也许", SAME)],
    "应该": [("必须", OTHER), ("应当", SAME)],
    "一定要": [("不一定要", CLASH), ("务必", SAME)],
    "也许": [("肯定", OTHER), ("或许", SAME)],
    "肯定": [("也许", OTHER), ("一定", SAME)],
    "打算": [("拒绝", CLASH), ("计划", SAME)],
    "允许": [("强制", OTHER), ("准许", SAME)],
}
YES_NO = re.compile(
    r"[吗吧么]|是否|能否|可否|有没有|(.)[不没]\1|是不是|能不能|可不可以|要不要|会不会"
)
BEFORE_NOT = re.compile(
    r"[不没未别无还所只具拥都可总算就要但于若却凡像老仅正倒硬也而或便即到真]$|"
    r"不太$|不怎么$|^(?:说|我)?$"
)
AFTER_NOT = re.compile(
    r"^[没不的点些时人名趣限效关可能着话个员议够力计机]|^什么|^多|^哪|^啥|^谁|"
    r"^几|^念|^法|^象|^到|^起"
)


def changed_name(text: str, chance: random.Random) -> Iterator[Edit]:
    """去苏州 → 去桂林."""
    for kind, pattern in NAMES.items():
        for found in pattern.finditer(text):
            inside = IN_A_NAME.match(text[found.end() : found.end() + 1]) or (
                kind in {"cities", "companies"}
                and re.search(r"[(（的一-龥]{0,1}[(（·]$", text[: found.start()])
            )
            if not inside:
                others = [name for name in LISTS[kind] if name != found.group()]
                yield edit(text, found, chance.choice(others), CLASH)


def opposite(text: str, chance: random.Random) -> Iterator[Edit]:
    """安静的房间 → 吵闹的房间."""
    for found in OPPOSITE.finditer(text):
        before = text[: found.start()]
        if re.search(r"[不没无未非别]$", before) or is_within(found.group(), before):
            continue
        for new in OPPOSITES[found.group()]:
            yield edit(text, found, new, CLASH)


def is_within(word: str, before: str) -> bool:
    """Whether a word ends another one and starts the next, as 以上 in 可以上网."""
    return word.startswith("以") and before.endswith(tuple("可所难足得予加"))


def synonym(text: str, chance: random.Random) -> Iterator[Edit]:
    """周边 = 附近."""
    yield from replace_listed(text, SYNONYM, SYNONYMS, SAME)


def from_table(
    text: str, table: Table, pattern: re.Pattern[str]
) -> Iterator[tuple[Edit, re.Match[str]]]:
    """Every replacement that a table of words and relations allows, with where it stands."""
    for found in pattern.finditer(text):
        for new, relation in table[found.group()]:
            yield edit(text, found, new, relation), found


PATTERNS = {
    name: any_of(table, bounded=False)
    for name, table in (
        ("add", NEGATABLE),
        ("drop", NEGATED),
        ("quantity", QUANTIFIERS),
        ("modal", MODALS),
    )
}


def add_not(text: str, chance: random.Random) -> Iterator[Edit]:
    """我想去 → 我不想去; a question for yes or no asks the same with 不 in it."""
    if YES_NO.search(text) or re.search(r"[不没无未别]", text):
        return
    for each, found in from_table(text, NEGATABLE, PATTERNS["add"]):
        before, after = text[: found.start()], text[found.end() :]
        if (
            not before
            or BEFORE_NOT.search(before)
            or AFTER_NOT.match(after)
            or not after.strip("。！!.，,")
        ):
            continue
        said = re.search(
            r"(?:我|你|您|他|她|它|我们|这|那|谁|家|店|人|酒店|景点|电影|餐馆|里|中|上|们)$", before
        )
        asked = re.search(r"[？?]|什么|哪|谁|几|怎|多少", text)
        if said and (
            not asked
            or found.group() in {"可以", "能", "支持", "应该", "提供"}
            and re.search(r"哪|什么", before)
        ):
            yield each


def drop_not(text: str, chance: random.Random) -> Iterator[Edit]:
    """我不需要 → 我需要; = 我不用."""
    # "知不知道" asks; its 不 is no negation.
    asks = bool(YES_NO.search(text) or re.search(r"[？?]", text))
    for each, found in from_table(text, NEGATED, PATTERNS["drop"]):
        before, after = text[: found.start()], text[found.end() :]
        if re.search(r"[是要有能会可从尚并]$|差$|只好$", before) or not after.strip(
            "。！!.，,？?的了"
        ):
            continue
        if re.match(r"[是有能会想过]|关系|问题|错|任何|什么|意思|客气|谢|好意思", after) or (
            asks and each.relation is CLASH
        ):
            continue
        if before[-1:] == found.group()[1:2] or (
            found.group() == "不要" and re.match("钱|紧", after)
        ):
            continue
        if found.group() == "未" and re.match(r"[来必知婚成]", after):
            continue
        yield each


def quantifier(text: str, chance: random.Random) -> Iterator[Edit]:
    """所有景点 → 部分景点."""
    for each, found in from_table(text, QUANTIFIERS, PATTERNS["quantity"]):
        before = text[: found.start()]
        if not re.search(r"[不没]$", before) and not is_within(found.group(), before):
            yield each


def modality(text: str, chance: random.Random) -> Iterator[Edit]:
    """必须预约 → 可以预约."""
    for each, found in from_table(text, MODALS, PATTERNS["modal"]):
        safe = not re.search(r"[不没无还只很]$", text[: found.start()]) and not YES_NO.search(text)
        after = text[found.end() :]
        if safe and after.strip("。！!.，,？?的") and not re.match(r"[性的不]|什么", after):
            yield each


NAME_RULES = (changed_name,)
ANTONYMS = (opposite, synonym)
NEGATIONS = (add_not, drop_not)
QUANTIFIED = (quantifier,)
MODALITY = (modality,)
