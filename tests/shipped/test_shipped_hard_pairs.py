import json
import random
from collections import Counter
from dataclasses import asdict

import hard_pairs
import pytest
from draw_probes import FOLDER, all_probes
from hard import (
    chinese_numbers,
    chinese_phrases,
    chinese_words,
    english_dates,
    english_degrees,
    english_harmless,
    english_negation,
    english_numbers,
    english_roles,
    english_words,
)
from hard.check import check, is_contradicted
from hard.edits import BROADER, CLASH, NARROWER, OTHER, SAME, Edit, read_rows
from hard.guard import ProbeGuard, change, difference
from hard.make import HARMLESS, RULES, Maker, is_statement, most_of_each
from hypothesis import given, settings
from hypothesis import strategies as st

ENGLISH = [
    "I need a table for 11 people at 5 pm.",
    "Three dogs run across the field.",
    "We want to leave on March 22nd.",
    "The museum opens on Friday.",
    "Book a flight from Leeds to Norwich.",
    "The woman is feeding the horse in the barn.",
    "All of the shops are open today.",
    "You must pay at least two days before.",
    "The president of the club is smiling.",
    "A girl is sleeping on a sofa.",
    "A large dog is barking at a tree in the park.",
    "She does not have any money.",
    "A man in a red shirt is reading.",
    "We are going to visit Denver.",
    "Angela is looking for a comfortable hotel with free parking.",
    "I do not like the large room, so I want a small one.",
]
CHINESE = [
    "我们有17个人，想在14:15之后出发。",
    "星期五我要去桂林玩三天。",
    "他是1970年3月17日出生的。",
    "我需要从伊利到诺里奇的火车。",
    "请推荐一家安静的酒店，评分至少4分。",
    "我不需要停车场，你能帮我找到吗？",
    "他必须提供所有的电话和地址。",
    "我喜欢很多周边的景点。",
    "他从来没有去过那里，我也没有看过这部电影。",
    "他获得了最佳演员奖，公司的总统是谁？",
    "我差点忘了，他看过这部电影。",
    "我想去香港，也许明天就走。",
]
TEXTS = {"en": ENGLISH, "zh": CHINESE}
ALL_RULES = [
    rule
    for language, families in RULES.items()
    for rules in (*families.values(), HARMLESS[language])
    for rule in rules
]


@pytest.fixture(scope="module")
def guard():
    return ProbeGuard()


def seconds(rule, text, relation=None):
    """What a rule makes of a text, over a few draws."""
    return {
        edit.second
        for seed in range(20)
        for edit in rule(text, random.Random(seed))
        if relation in {None, edit.relation}
    }


@pytest.mark.parametrize(
    ("rule", "first", "second", "relation"),
    [
        (english_numbers.money, "It costs $40.", "It costs 40 dollars.", SAME),
        (english_numbers.times, "Come at 5 pm.", "Come at 17:00.", SAME),
        (english_numbers.times, "Come at 5 pm.", "Come at 5 am.", CLASH),
        (english_numbers.some_of_them, "Three dogs run.", "Some dogs run.", BROADER),
        (english_dates.reordered_date, "On March 22nd.", "On the 22nd of March.", SAME),
        (english_dates.changed_weekday, "See you on Friday.", "See you on Sunday.", CLASH),
        (english_words.alias, "We met in San Francisco.", "We met in SF.", SAME),
        (english_words.opposite, "An honest man.", "A dishonest man.", CLASH),
        (english_words.synonym, "A new sofa.", "A new couch.", SAME),
        (english_words.kind_of, "A dog is here.", "An animal is here.", BROADER),
        (english_words.less_detail, "A red car stops.", "A car stops.", BROADER),
        (english_negation.add_not, "She is here.", "She is not here.", CLASH),
        (english_negation.add_do_not, "I need a room.", "I do not need a room.", CLASH),
        (english_negation.drop_not, "It is not open.", "It is open.", CLASH),
        (english_negation.no_such_thing, "There is a pool.", "There is no pool.", CLASH),
        (english_negation.contracted, "I do not know.", "I don't know.", SAME),
        (english_degrees.quantifier, "All of us sang.", "Some of us sang.", BROADER),
        (english_degrees.quantifier, "Some of us sang.", "All of us sang.", NARROWER),
        (english_degrees.quantifier, "Everyone sang.", "No one sang.", CLASH),
        (english_degrees.modality, "You must pay now.", "You may pay now.", BROADER),
        (english_roles.which_way, "From Leeds to York.", "From York to Leeds.", CLASH),
        (english_roles.which_way, "From Leeds to York.", "To York from Leeds.", SAME),
        (
            english_roles.who_does_it,
            "A boy is pushing a girl.",
            "A girl is being pushed by a boy.",
            SAME,
        ),
        (
            english_roles.who_does_it,
            "A boy is pushing a girl.",
            "A girl is pushing a boy.",
            CLASH,
        ),
        (
            english_roles.whose,
            "I met my friend's brother.",
            "I met my brother's friend.",
            CLASH,
        ),
        (english_harmless.no_longer, "Then he fell.", "Then he almost fell.", CLASH),
        (english_harmless.please, "Find a hotel.", "Please find a hotel.", SAME),
        (chinese_numbers.weekdays, "星期五见。", "周五见。", SAME),
        (chinese_numbers.times, "18:15出发", "晚上6:15出发", SAME),
        (chinese_words.opposite, "安静的房间", "吵闹的房间", CLASH),
        (chinese_words.synonym, "周边有酒店", "附近有酒店", SAME),
        (chinese_words.drop_not, "我不需要停车。", "我需要停车。", CLASH),
        (chinese_words.drop_not, "我不需要停车。", "我不用停车。", SAME),
        (chinese_words.quantifier, "看过所有电影", "看过部分电影", OTHER),
        (chinese_words.modality, "必须预约", "可以预约", OTHER),
        (chinese_phrases.which_way, "从伊利到剑桥的火车", "从剑桥到伊利的火车", CLASH),
        (chinese_phrases.by_whom, "他把钱包拿走了。", "钱包被他拿走了。", SAME),
        (chinese_phrases.either_order, "电话和地址", "地址和电话", SAME),
    ],
)
def test_a_rule_says_what_its_edit_does(rule, first, second, relation):
    assert second in seconds(rule, first, relation)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (english_negation.add_not, "Is the pool open?"),
        (english_words.opposite, "Is parking available?"),
        (english_words.opposite, "Good morning to you."),
        (english_words.kind_of, "He did not see a dog."),
        (english_numbers.changed_amount, "It was built in 1984."),
        (chinese_words.add_not, "你会游泳吗？"),
        (chinese_words.drop_not, "你知不知道我的职业"),
        (chinese_numbers.changed_amount, "十分感谢你的帮助"),
    ],
)
def test_a_rule_leaves_alone_what_would_not_change_as_it_says(rule, text):
    assert not seconds(rule, text)


def test_an_edit_reads_both_ways():
    turned = Edit("a", "b", BROADER, ("x", "y")).turned()
    assert turned == Edit("b", "a", NARROWER, ("y", "x"))
    assert turned.turned().relation is BROADER


@settings(max_examples=60, deadline=None)
@given(text=st.text(max_size=60), seed=st.integers(0, 3))
def test_no_rule_fails_on_any_text(text, seed):
    for rule in ALL_RULES:
        assert all(isinstance(edit, Edit) for edit in rule(text, random.Random(seed)))


WORDS = st.sampled_from(" ".join(ENGLISH).split() + list("".join(CHINESE)) + ["$7", "12:75", "."])


@settings(max_examples=60, deadline=None)
@given(words=st.lists(WORDS, max_size=12), joint=st.sampled_from(["", " "]))
def test_no_rule_fails_on_its_own_words_in_any_order(words, joint):
    for rule in ALL_RULES:
        assert all(isinstance(edit, Edit) for edit in rule(joint.join(words), random.Random(1)))


@pytest.mark.parametrize(("language", "task"), [("en", "match"), ("en", "nli"), ("zh", "match")])
class TestMaker:
    def pairs(self, language, task, guard, **more):
        maker = Maker(language=language, task=task, guard=guard, **more)
        return maker.pairs(TEXTS[language])

    def test_equal_seeds_give_equal_pairs(self, language, task, guard):
        made = self.pairs(language, task, guard)
        assert made == self.pairs(language, task, guard)
        assert made != self.pairs(language, task, guard, seed=2)

    def test_no_pair_is_unchanged_or_stands_twice(self, language, task, guard):
        made = self.pairs(language, task, guard)
        assert all(pair.sentence1.strip() != pair.sentence2.strip() for pair in made)
        both = Counter(frozenset((pair.sentence1, pair.sentence2)) for pair in made)
        assert max(both.values()) == 1

    def test_labels_are_in_balance(self, language, task, guard):
        made = self.pairs(language, task, guard)
        for rule in {pair.rule for pair in made}:
            counts = Counter(pair.label for pair in made if pair.rule == rule)
            assert len(counts) > 1
            assert max(counts.values()) <= (1 if len(counts) == 2 else 2) * min(counts.values())


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_family_gives_both_kinds(language, guard):
    maker = Maker(language=language, task="match", guard=guard)
    wanted = set(RULES[language]) - {"kinds", "details"} | {"long"}
    given_by = Counter()
    for seed in range(5):
        maker.seed = seed
        given_by.update((pair.rule, pair.label) for pair in maker.pairs(TEXTS[language]))
    assert {(rule, label) for rule in wanted for label in "01"} <= set(given_by)


def test_inference_has_details_and_kinds(guard):
    made = Maker(language="en", task="nli", guard=guard).pairs(ENGLISH)
    assert {"kinds", "details"} <= {pair.rule for pair in made}
    assert {pair.label for pair in made} == {"entailment", "neutral", "contradiction"}
    assert all(is_statement(pair.source) for pair in made)


def test_a_label_that_hardly_comes_up_does_not_hold_the_others_back():
    assert most_of_each([900, 600, 8]) == 600
    assert most_of_each([900, 600, 200]) == 400
    assert most_of_each([900, 5]) == 5


def test_as_many_pairs_as_asked_for_at_most(guard):
    assert len(Maker(language="en", task="match", guard=guard).pairs(ENGLISH, 10)) == 10


class TestGuard:
    def test_every_probe_is_refused(self, guard):
        for probes in all_probes().values():
            for probe in probes:
                edit = Edit(probe.sentence1, probe.sentence2, SAME)
                assert guard.refuses(edit), edit

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("hot", "cold"), ("hotter", "colder"), ("opening", "closing"),
            ("2", "two"), ("before", "after"), ("增加", "减少"), ("最高", "最低"), ("两", "2"),
        ],
    )  # fmt: skip
    def test_words_that_a_probe_sets_against_each_other_are_refused(self, guard, one, other):
        assert guard.refuses(Edit(f"x {one} y", f"x {other} y", CLASH, (one, other))) == "words"

    @pytest.mark.parametrize(
        "text",
        [
            "The ticket costs 99 dollars.", "What is the weather like in Ulm?",
            "教室里有99个学生。", "Hello. The ticket costs 1 dollars.",
        ],
    )  # fmt: skip
    def test_frames_are_refused_whatever_fills_them(self, guard, text):
        assert guard.refuses_text(text) == "frame"

    def test_a_frame_of_function_words_is_refused_with_its_own_words_only(self, guard):
        assert guard.refuses_text("The man is riding a bicycle.") in {"frame", "sentence"}
        assert guard.refuses_text("The man is painting a bicycle.") is None

    def test_other_words_are_let_through(self, guard):
        assert guard.refuses(Edit("a b", "a c", CLASH, ("large", "small"))) is None
        assert guard.refuses(Edit("我们有17个人", "我们有19个人", CLASH, ("17", "19"))) is None

    def test_no_name_of_the_lists_is_a_name_of_the_probes(self):
        shared = json.loads((FOLDER / "words-en.json").read_text(encoding="utf-8"))
        for kind in ("people", "cities", "countries", "companies"):
            own = {name for names in english_words.PLACES for name in english_words.LISTS[names]}
            assert not (own | set(english_words.LISTS["persons"])) & set(shared[kind])
        probes = json.loads((FOLDER / "match-zh.json").read_text(encoding="utf-8"))["words"]
        for kind in ("people", "cities", "countries", "companies", "apps"):
            own = {name for names in chinese_words.NAMES for name in chinese_words.LISTS[names]}
            assert not own & set(probes[kind])

    def test_difference_is_what_is_not_shared(self):
        assert difference("We met at 5.", "We met at 7.") == ("5", "7")
        assert change("is reading", "is not reading") is None


class TestCheck:
    ROWS = (
        ("numbers", "0", {"0": 0.01, "1": 0.99}),
        ("numbers", "0", {"0": 0.30, "1": 0.70}),
        ("numbers", "1", {"0": 0.01, "1": 0.99}),
        ("roles", "0", {"0": 0.99, "1": 0.01}),
    )

    def test_what_a_sure_teacher_contradicts_goes(self):
        rows = [
            {"rule": rule, "label": label, "probabilities": told} for rule, label, told in self.ROWS
        ]
        checked = check(rows)
        assert checked.kept == rows[1:]
        assert checked.shares() == {"numbers": pytest.approx(1 / 3), "roles": 0}
        assert is_contradicted(rows[1], sure=0.6)


def test_lists_have_no_pair_twice():
    for name in ("antonyms_zh.tsv", "antonyms_en.tsv", "synonyms_en.tsv"):
        rows = [(frozenset(row[:2]), row[2]) for row in read_rows(name)]
        assert len(set(rows)) == len(rows)
        assert all(len(words) == 2 for words, _ in rows)
    assert len(read_rows("antonyms_zh.tsv")) >= 300


def test_the_commands_write_and_check(tmp_path, monkeypatch, capsys):
    texts, pairs, kept = (tmp_path / name for name in ("texts.txt", "pairs.jsonl", "kept.jsonl"))
    texts.write_text("\n".join(ENGLISH), encoding="utf-8")
    run(monkeypatch, "en", "--texts", texts, "--task", "nli", "--output", pairs)
    rows = [json.loads(line) for line in pairs.read_text(encoding="utf-8").splitlines()]
    assert set(rows[0]) == {"sentence1", "sentence2", "label", "rule", "how", "source"}
    assert "kept out by the probes" in capsys.readouterr().out
    scored = [{**row, "probabilities": {row["label"]: 0.0, "": 1.0}} for row in rows[:3]]
    pairs.write_text("".join(json.dumps(row) + "\n" for row in scored), encoding="utf-8")
    run(monkeypatch, "check", "--pairs", pairs, "--output", kept)
    assert kept.read_text(encoding="utf-8") == ""
    assert "100.0% of" in capsys.readouterr().out


def run(monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["hard_pairs.py", *map(str, arguments)])
    hard_pairs.main()


def test_a_pair_is_a_plain_row(guard):
    pair = Maker(language="zh", task="match", guard=guard).pairs(CHINESE)[0]
    assert json.loads(json.dumps(asdict(pair)))["rule"] == pair.rule
