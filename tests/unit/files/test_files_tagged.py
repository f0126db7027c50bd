"""Tagged sentences from CoNLL columns, CoNLL-U and JSONL, and what is said of their faults."""

import gzip
import json
import lzma
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softquery.errors import InputError
from softquery.files import find_split, read_tagged, read_untagged
from softquery.files.tagged_sentences import TAGGED_FORMS

CONLL = """-DOCSTART- -X- O O

EU NNP I-NP I-ORG
rejects VBZ I-VP O

Peter NNP I-NP I-PER
"""
UNIVERSAL = """# sent_id = 1
# text = won't go
1-2\twon't\t_\t_\t_\t_\t_\t_\t_\t_
1\two\twill\tAUX\tMD\t_\t0\troot\t_\t_
2\tn't\tnot\tPART\tRB\t_\t1\tadvmod\t_\t_
3\t#\t#\tSYM\tNN\t_\t1\tx\t_\t_
3.1\tgo\tgo\tVERB\tVB\t_\t_\t_\t_\t_

# sent_id = 2
1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t_\t_
"""


def written(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def plain(path, **options):
    return [(each.tokens, each.tags) for each in read_tagged(path, **options)]


def test_conll_columns(tmp_path):
    path = written(tmp_path, "train.txt", CONLL)
    found = list(read_tagged(path))
    assert [each.tokens for each in found] == [["EU", "rejects"], ["Peter"]]
    assert [each.tags for each in found] == [["I-ORG", "O"], ["I-PER"]]
    assert [each.rows for each in found] == [[3, 4], [6]]


@pytest.mark.parametrize(
    ("columns", "tags"),
    [
        ({"tags": "ner"}, "I-ORG"),
        ({"tags": "pos"}, "NNP"),
        ({"tags": "CHUNK"}, "I-NP"),
        ({"tags": "2"}, "NNP"),
        ({"tags": "-2"}, "I-NP"),
        ({"tokens": "2", "tags": "1"}, "EU"),
    ],
)
def test_columns_are_chosen_by_name_or_place(columns, tags, tmp_path):
    path = written(tmp_path, "train.conll", CONLL)
    assert plain(path, rename=columns)[0][1][0] == tags


def test_universal_columns_leave_out_comments_ranges_and_empty_nodes(tmp_path):
    path = written(tmp_path, "dev.conllu", UNIVERSAL)
    assert plain(path) == [(["wo", "n't", "#"], ["AUX", "PART", "SYM"]), (["Yes"], ["INTJ"])]
    assert plain(path, rename={"tags": "xpos", "tokens": "lemma"})[0] == (
        ["will", "not", "#"],
        ["MD", "RB", "NN"],
    )


def test_columns_that_are_named_in_the_file(tmp_path):
    text = "# global.columns = ID FORM NER\n1\tAda\tB-PER\n2\tslept\tO\n"
    path = written(tmp_path, "a.conllup", text)
    assert plain(path, rename={"tags": "ner"}) == [(["Ada", "slept"], ["B-PER", "O"])]


def test_a_sign_of_number_is_a_word_where_there_are_no_comments(tmp_path):
    assert plain(written(tmp_path, "a.txt", "# O\n1 O\n")) == [(["#", "1"], ["O", "O"])]


def test_tabs_separate_where_there_are_any(tmp_path):
    path = written(tmp_path, "a.bmes", "New York\tS-LOC\n")
    assert plain(path) == [(["New York"], ["S-LOC"])]


def test_json_lines(tmp_path):
    lines = '{"tokens": ["a b", "c"], "tags": ["X", "O"]}\n\n{"tokens": ["d"], "tags": ["O"]}\n'
    path = written(tmp_path, "a.jsonl", lines)
    assert plain(path) == [(["a b", "c"], ["X", "O"]), (["d"], ["O"])]
    path = written(tmp_path, "b.jsonl", '{"words": ["a"], "ner": ["X"]}\n')
    assert plain(path, rename={"tokens": "words", "tags": "ner"}) == [(["a"], ["X"])]


@pytest.mark.parametrize(("ending", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_compressed(ending, pack, tmp_path):
    path = written(tmp_path, f"train.txt{ending}", pack(CONLL.encode()))
    assert len(plain(path)) == 2
    assert find_split(tmp_path, "train", forms=TAGGED_FORMS) == path


@pytest.mark.parametrize(
    ("name", "content", "options", "said"),
    [
        ("a.txt", "", {}, "a.txt: is empty"),
        ("a.txt", "a O\nb\n", {}, "a.txt, row 2: expected 2 columns, found 1"),
        ("a.txt", "a O\n\nb X O\n", {}, "a.txt, row 3: expected 2 columns, found 3"),
        ("a.txt", "a b O\n", {"tags": "ner"},
         r'row 1: no column "ner" for tags; a row has 3 \(word, pos, chunk\)'),
        ("a.txt", "a O\n", {"tags": "3"}, 'row 1: no column "3" for tags; a row has 2'),
        ("a.txt", "a O\n", {"tags": "0"}, 'no column "0" for tags'),
        ("a.txt", "a O\n", {"label": "1"}, '--columns: no column is called "label"'),
        ("a.txt", "a\nb\n", {},
         "row 1: expected one column each for tokens and tags, found 1 in all"),
        ("a.txt", "a O\n", {"tags": "1"}, "row 1: tokens and tags cannot both be column 1"),
        ("a.txt", "a\t\n", {}, "row 1: the column of tags is empty"),
        ("a.conllu", "1\ta\tb\n", {}, "row 1: expected 10 columns, found 3"),
        ("a.conllu", "x" + "\ta" * 9 + "\n", {}, "expected the number of a word, found 'x'"),
        ("a.txt", b"a O\n\xff O\n", {}, "row 2: not valid UTF-8"),
        ("a.jsonl", "", {}, "a.jsonl: is empty"),
        ("a.jsonl", "[]\n", {}, "row 1: expected a JSON object in braces"),
        ("a.jsonl", "{\n", {}, "row 1: not valid JSON"),
        ("a.jsonl", '{"tokens": ["a"]}\n', {}, 'row 1: no "tags"; found: tokens'),
        ("a.jsonl", '{"tokens": ["a"], "tags": []}\n', {}, "row 1: tags is empty"),
        ("a.jsonl", '{"tokens": ["a"], "tags": "O"}\n', {}, "tags must be a list of strings"),
        ("a.jsonl", '{"tokens": ["a", " "], "tags": ["O", "O"]}\n', {},
         r"tokens holds an empty string \(number 2\)"),
        ("a.jsonl", '{"tokens": ["a"], "tags": ["O", "O"]}\n', {},
         "expected as many tags as tokens, found 1 tokens and 2 tags"),
        ("a.doc", "a O\n", {}, "unknown kind of file; expected a name ending in .txt, .conll"),
    ],
)  # fmt: skip
def test_faults_are_told_with_file_and_row(name, content, options, said, tmp_path):
    path = written(tmp_path, name, content)
    with pytest.raises(InputError, match=said) as caught:
        list(read_tagged(path, rename=options))
    assert "\n" not in str(caught.value)


def test_bad_sentences_can_be_skipped(tmp_path):
    path = written(tmp_path, "a.txt", "a O\n\nb\nc O\n\nd O\n")
    bad = []
    found = list(read_tagged(path, report=bad.append))
    assert [each.tokens for each in found] == [["a"], ["d"]]
    assert [(each.row, each.message) for each in bad] == [(3, "expected 2 columns, found 1")]


word = st.text(
    st.characters(exclude_categories=("Cs", "Cc", "Z", "Cn")), min_size=1, max_size=6
).filter(lambda text: text.strip() and not text.startswith(("#", "-DOCSTART-", "\ufeff")))
sentences = st.lists(st.lists(st.tuples(word, word), min_size=1, max_size=5), min_size=1)


@settings(max_examples=60, deadline=None)
@given(sentences, st.sampled_from(["\t", " "]), st.sampled_from(["\n", "\r\n"]), st.integers(1, 3))
def test_what_is_written_is_read(tmp_path_factory, found, separator, end, blanks):
    if separator == " ":
        found = [[(a, b) for a, b in s if len(a.split()) == len(b.split()) == 1] for s in found]
        found = [sentence for sentence in found if sentence]
    lines = [end.join(separator.join(pair) for pair in sentence) for sentence in found]
    content = (end * (blanks + 1)).join(lines)
    path = written(tmp_path_factory.mktemp("conll"), "a.conll", content)
    if found:
        assert plain(path) == [tuple(map(list, zip(*s, strict=True))) for s in found]


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=60), st.sampled_from(["a.txt", "a.conllu", "a.jsonl"]))
def test_nonsense_is_refused_or_read_and_never_breaks(tmp_path_factory, content, name):
    path = written(tmp_path_factory.mktemp("nonsense"), name, content)
    with suppress(InputError):
        for sentence in read_tagged(path):
            assert len(sentence.tokens) == len(sentence.tags) == len(sentence.rows) > 0


def test_texts_to_be_tagged(tmp_path):
    lines = written(tmp_path, "a.txt", "One two.\nThree.\n")
    assert [(row.text, row.number) for row in read_untagged(lines)] == [
        ("One two.", 1), ("Three.", 2)
    ]  # fmt: skip
    table = written(tmp_path, "a.tsv", "id\tbody\n1\tOne.\n")
    assert [row.text for row in read_untagged(table, rename={"text": "body"})] == ["One."]
    columns = written(tmp_path, "a.conll", CONLL)
    assert [row.text for row in read_untagged(columns)] == [["EU", "rejects"], ["Peter"]]
    rows = written(tmp_path, "a.jsonl", json.dumps({"tokens": ["a", "b"]}) + "\n")
    assert [row.text for row in read_untagged(rows)] == [["a", "b"]]
    alone = written(tmp_path, "b.conll", "a\nb\n")
    assert [row.text for row in read_untagged(alone)] == [["a", "b"]]
    rows = written(tmp_path, "b.jsonl", json.dumps({"text": "a b"}) + "\n")
    assert [row.text for row in read_untagged(rows)] == ["a b"]


def test_a_kind_of_text_that_is_not_known(tmp_path):
    path = written(tmp_path, "a.doc", "One.")
    with pytest.raises(InputError, match=r"a\.doc: unknown kind of file; .*\.parquet, \.conll, "):
        read_untagged(path)
    with pytest.raises(InputError, match=r"none\.doc: no such file"):
        read_untagged(tmp_path / "none.doc")
