"""Texts of the sentence encoders: free files only, each text once, none that is measured with."""

import json
import lzma
from random import Random

import chinese_texts
import english_texts
import gather_texts
import pytest
import text_sources
from clauses_en import ask, find_clause
from hypothesis import given
from hypothesis import strategies as st
from questions_en import about_article, as_typed, find_acts
from questions_zh import ask as ask_chinese
from questions_zh import find_acts as find_chinese_acts
from split_sentences import is_sentence, split_chinese, split_english
from text_collection import Collection, bare_key
from text_sources import FREE, HELD_OUT, Library
from word_classes import WordClasses

from softquery.errors import InputError

PAIRS = "sentence1\tsentence2\tlabel\n"
ARTICLE = """= Tim Berners-Lee =
Tim Berners-Lee is an English engineer who is known for a network. In 1989, Tim Berners-Lee \
invented the World Wide Web. He was born in London in 1955. The network can carry long messages.
History and further development.
A later standard described the network in detail. The committee published a report in 1994, and \
many people read it.
"""
CHINESE_ARTICLE = """= 泰勒大学 =
泰勒大学是一所私立大学，位于北京。泰勒大学于1990年成立。泰勒大学共有12个学院。由于经费不足，学校停办了三年。\
泰勒大学的图书馆可以借阅很多书本，学生都很喜欢。
"""
CONLLU = """1\tinvented\tinvent\tVERB\tVBD
2\tpublished\tpublish\tVERB\tVBD
3\treset\treset\tVERB\tVB
4\tborn\tbear\tVERB\tVBN
5\tthe\tthe\tDET\tDT
6\tcommittee\tcommittee\tNOUN\tNN
7\tnetwork\tnetwork\tNOUN\tNN
8\tmy\tmy\tPRON\tPRP$
9\tcarry\tcarry\tVERB\tVB
"""
CONTENTS = {
    "requests_en": "How do I reset my password?\nhow do i reset MY  password?\n"
    "Where is my order?\nhi",
    "requests_zh": "怎么修改密码\n我的订单在哪里？\n",
    "parallel": "Where is my ticket?\t我的车票在哪里？\nCancel the order now.\t现在取消订单。\n",
    "faq_en": "question\tanswer\tsource\nIs there a fee?\tNo, it is free. Ask us.\tx\n",
    "faq_zh": "question\tanswer\tsource\nQ. 需要付费吗？\tA. 不需要付费。谢谢。\tx\n",
    "boolq": f"{PAIRS}is tea a drink\tTea is a drink.\t1\n",
    "fever": f"{PAIRS}Some evidence .\tTea is a drink.\tSUPPORTS\n",
    "snli_100k": f"{PAIRS}A man sleeps here.\tA man is asleep.\tentailment\n",
    "snli_cad": f"{PAIRS}A man sleeps here.\tA man is awake now.\tcontradiction\n",
    "pawsx_zh": f"{PAIRS}他住在北京。\t北京住着他。\t1\n",
    "tatoeba_deu_eng": "Tom can swim.\tTom kann schwimmen.\tCC BY\n",
    "tatoeba_cmn_eng": "I can swim well.\t我很会游泳。\tCC BY\n",
    "ud_english_ewt": CONLLU,
}


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    with lzma.open(path, "wt", encoding="utf-8") as file:
        file.write(text)


@pytest.fixture
def folder(tmp_path):
    for name, source in FREE.items():
        article = ARTICLE if name.startswith("enwiki") else CHINESE_ARTICLE
        asked = {"id": "1", "question": "谁在北京？" if name == "cmrc2018" else "Who is in Rome?"}
        paragraph = {"context": "他在北京。", "qas": [{**asked, "answers": []}]}
        squad = json.dumps({"data": [{"paragraphs": [paragraph]}]})
        other = squad if source.path.startswith("qa/") else article
        write(tmp_path / source.path, CONTENTS.get(name, other))
    for name in ("stsb_en", "qqp_20k", "lcqmc", "bq", "afqmc", "chinese_stsb"):
        write(
            tmp_path / "pairs" / name / "dev.tsv.xz", f"{PAIRS}where is my order ?\t我很会游泳\t1\n"
        )
        write(tmp_path / "pairs" / name / "train.tsv.xz", "never read")
    write(tmp_path / "intents/shop/test.tsv.xz", "text\tlabel\nTom can swim\tx\n")
    write(tmp_path / "intents/shop/train.tsv.xz", "never read")
    write(tmp_path / "requests/requests_en_measure.txt.xz", "never read")
    return tmp_path


@pytest.fixture(autouse=True)
def few_services(monkeypatch):
    for module in (english_texts, chinese_texts):
        monkeypatch.setattr(module, "NUM_SERVICES", 20)


def run(folder, what, monkeypatch, **settings):
    output = folder / "out" / f"{what}.txt.xz"
    given = ["gather_texts.py", what, "--data", str(folder), "--output", str(output)]
    given += [part for name, value in settings.items() for part in (f"--{name}", str(value))]
    monkeypatch.setattr("sys.argv", given)
    gather_texts.main()
    with lzma.open(output, "rt", encoding="utf-8") as file:
        return file.read().splitlines(), json.loads(output.with_name(f"{what}.json").read_text())


def test_questions_made_by_rule_may_go_to_a_file_of_their_own(folder, monkeypatch):
    every, _ = run(folder, "en", monkeypatch)
    asked = folder / "out" / "asked.txt.xz"
    texts, _ = run(folder, "en", monkeypatch, asked=asked)
    with lzma.open(asked, "rt", encoding="utf-8") as file:
        made = file.read().splitlines()
    assert made
    assert sorted([*texts, *made]) == sorted(every)
    assert "I can swim well." in texts


@pytest.mark.parametrize("what", ["en", "zh", "parallel"])
def test_only_free_files_are_opened_and_those_held_out(folder, monkeypatch, what):
    opened = set()
    for name in ("open_text", "read_rows", "read_questions"):
        real = getattr(text_sources, name)

        def noting(path, *rest, _real=real, **named):
            opened.add(path.relative_to(folder).as_posix())
            return _real(path, *rest, **named)

        monkeypatch.setattr(text_sources, name, noting)
    run(folder, what, monkeypatch)
    free = {source.path for source in FREE.values()}
    held_out = {path.relative_to(folder).as_posix() for each in HELD_OUT.values()
                for pattern in each for path in folder.glob(pattern)}  # fmt: skip
    assert opened & free
    assert opened <= free | held_out
    assert not any("train" in path for path in opened - free)


def test_a_file_that_is_not_free_is_refused(folder):
    with pytest.raises(InputError, match="not among the files that may be trained on"):
        Library(folder).path("requests_en_measure")


def test_every_free_file_has_a_licence():
    for name, source in FREE.items():
        assert source.licence or all(licence for _, _, licence in source.parts), name
        assert "measure" not in source.path


def test_english_texts_stand_once_and_none_is_measured_with(folder, monkeypatch):
    lines, report = run(folder, "en", monkeypatch)
    lowered = [line.casefold() for line in lines]
    assert len(set(lowered)) == len(lines) == report["texts"]
    assert "how do i reset my password?" in lowered
    assert not {"where is my order?", "tom can swim.", "hi"} & set(lowered)
    assert "No, it is free." in lines
    assert "Ask us." not in lines
    rows = {row["name"]: row for row in report["data"]}
    assert rows["tatoeba_deu_eng"]["left_out"] == {"held out": 1}
    requests = rows["requests_en: Schema-Guided Dialogue, user turns"]
    assert requests["left_out"] == {"repeated": 1, "held out": 1, "too short or long": 1}
    assert requests["licence"] == "CC BY-SA 4.0"
    assert report["held_out_dropped"] == 2
    assert sum(row["rows"] for row in report["data"]) == len(lines)


def test_chinese_texts_and_pairs_leave_out_what_is_measured_with(folder, monkeypatch):
    lines, _ = run(folder, "zh", monkeypatch)
    assert {"怎么修改密码", "需要付费吗？", "泰勒大学于1990年成立。"} <= set(lines)
    assert "我很会游泳。" not in lines
    table, _ = run(folder, "parallel", monkeypatch)
    assert table[0] == "text\ttaught"
    assert sorted(table[1:]) == sorted(
        ["我的车票在哪里？\tWhere is my ticket?", "现在取消订单。\tCancel the order now."]
    )


def test_a_seed_decides_all_and_the_limit_holds(folder, monkeypatch):
    one, two, other = (run(folder, "en", monkeypatch, seed=seed)[0] for seed in (1, 1, 2))
    assert one == two
    assert one != other
    few, _ = run(folder, "zh", monkeypatch, limit=1)
    assert "学校停办了三年。" not in few


def test_lengths_are_counted_in_words_or_characters():
    collection = Collection(frozenset({bare_key("What's up, Tom?")}))
    texts = ["two words", "今天好", "今天", "What 's up , Tom ?", "1 2 3 4", "word " * 61]
    assert [collection.add("x", text) for text in texts] == [False, True, *[False] * 4]


PROSE = st.text(alphabet=st.sampled_from("aB. !?\"'()1\n。！？；”我U.S.Dr "), max_size=80)


@given(PROSE)
def test_splitters_lose_nothing_but_spaces(text):
    for split in (split_english, split_chinese):
        pieces = split(text)
        assert "".join("".join(pieces).split()) == "".join(text.split())
        assert all(piece == piece.strip() != "" for piece in pieces)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("He met Dr. Smith. They spoke.", 2),
        ("It is in the U.S. Senate today.", 1),
        ("He left the U.S. The war went on.", 2),
        ("J. R. Tolkien wrote it in No. 5 St. Giles.", 1),
        ('She asked "Why?" He left.', 2),
        ("It costs 3.5 million. 20 people came.", 2),
    ],
)
def test_english_sentences(text, count):
    assert len(split_english(text)) == count


@pytest.mark.parametrize(
    "text",
    ["History of the early church", "The lake (, ) is large.", "See https://a.org for more of it.",
     'He said "yes to all of us.', "A = b + c for all of them.", "too many small letters open it."],
)  # fmt: skip
def test_debris_is_no_sentence(text):
    assert not is_sentence(text)


@pytest.fixture(scope="module")
def words():
    return WordClasses.counted(CONLLU.splitlines())


def questions(sentence, words, title="Ann Lee"):
    clause = find_clause(sentence, title, words)
    return {ask(clause, words, Random(seed)) for seed in range(60)} if clause else set()


def test_statements_are_turned_into_questions(words):
    made = questions("In 1989, Tim Lee invented the Web.", words)
    assert {"When did Tim Lee invent the Web?", "Who invented the Web?"} <= made
    made = questions("She was born in London in 1955.", words)
    assert {"Where was Ann Lee born?", "When was Ann Lee born in London?"} <= made
    assert "Can the network carry messages?" in questions("The network can carry messages.", words)
    assert questions("However, this is unclear to them.", words) == set()


def test_what_people_want_to_do_is_found(words):
    assert list(find_acts("How do I reset your password?", words)) == ["reset my password"]
    assert list(find_acts("How do I reset it?", words)) == []
    assert list(find_chinese_acts("怎么取消预约？")) == ["取消预约"]
    assert list(find_chinese_acts("我想这样")) == []


def test_an_article_is_asked_about_by_its_kind():
    made = about_article("Rome (Italy)", "Rome is a city.", "Rome is old.", Random(1), 40)
    assert "Where is Rome?" in made
    assert not any("born" in question for question in made)


def test_chinese_statements_are_turned_into_questions():
    made = {ask_chinese("它于1990年成立。", "泰勒大学", Random(seed)) for seed in range(40)}
    assert "泰勒大学是什么时候成立的？" in made
    assert ask_chinese("然而他不来。", "泰勒大学", Random(1)) is None


@given(st.integers(0, 10_000))
def test_a_typed_question_stays_near_what_was_asked(seed):
    typed = as_typed("What is the best way to learn German?", Random(seed))
    assert "best way" in typed.lower() or len(typed) < 70
    assert typed == as_typed("What is the best way to learn German?", Random(seed))
