"""Where `--model` is omitted, a verb takes the shipped model that reads the texts."""

import json

import pytest
from running import softquery

CHINESE = ("怎么退货", "如何办理退货手续")
ENGLISH = ("How do I send it back?", "How can I return this?")
GERMAN = ("Wie setze ich mein Passwort zurück?", "Ich habe mein Passwort vergessen.")


def answered(*words):
    said = softquery(*words, "--json")
    assert said.code == 0, said.err
    return json.loads(said.out), said.err


@pytest.mark.parametrize(("pair", "model"), [(CHINESE, "match-zh"), (ENGLISH, "match-en")])
def test_a_pair_is_read_by_the_matcher_of_its_language(pair, model):
    by_default, told = answered("match", *pair)
    assert (by_default, told) == answered("match", *pair, "--model", model)
    other = "match-en" if model == "match-zh" else "match-zh"
    assert by_default != answered("match", *pair, "--model", other)[0]


def test_a_language_that_no_matcher_reads_is_told():
    found, told = answered("match", *GERMAN)
    assert found == answered("match", *GERMAN, "--model", "match-en")[0]
    assert "most of it is in German, and match-en reads English; see --model" in told


def test_a_file_of_pairs_is_read_by_the_matcher_of_most_of_them(tmp_path):
    rows = [("sentence1", "sentence2"), CHINESE, ("花呗怎么提额", "如何提高花呗额度"), ENGLISH]
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    by_default = softquery("match", "--pairs", str(pairs))
    assert by_default.code == 0, by_default.err
    assert by_default.out == softquery("match", "--pairs", str(pairs), "--model", "match-zh").out


def test_candidates_and_reasons_too(tmp_path):
    candidates = tmp_path / "candidates.txt"
    candidates.write_text("如何退货\n你好\n", encoding="utf-8")
    ranked = ("rank", CHINESE[0], "--candidates", str(candidates))
    assert answered(*ranked) == answered(*ranked, "--model", "match-zh")
    explained = ("explain", *CHINESE)
    assert answered(*explained) == answered(*explained, "--model", "match-zh")


def test_a_bad_row_is_told_once_and_by_its_number(tmp_path):
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("sentence1\tsentence2\n怎么退货\n", encoding="utf-8")
    said = softquery("match", "--pairs", str(pairs))
    assert said.code == 2
    assert said.err.count("pairs.tsv, row 2: expected 2 columns") == said.err.count("\n") == 1


def test_names_of_a_chinese_text_are_found_and_written_as_in_chinese():
    found, _ = answered("tag", "马云在杭州创立了阿里巴巴集团。")
    assert [span["text"] for span in found["spans"]] == ["马云", "杭州", "阿里巴巴集团"]
    shown = softquery("tag", "马云在杭州创立了阿里巴巴集团。").out
    assert shown == "[马云 PER] 在 [杭州 LOC] 创立了 [阿里巴巴集团 ORG] 。\n"


def test_opinions_are_classified_in_their_language():
    found, _ = answered("classify", "服务态度太差了，再也不来了。", "房间很干净，下次还来。")
    assert [answer["label"] for answer in found] == ["negative", "positive"]
    chinese = answered("classify", "房间很干净。", "--model", "sentiment-zh")
    assert answered("classify", "房间很干净。") == chinese
