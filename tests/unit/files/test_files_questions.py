"""Questions from SQuAD's JSON and from JSONL, streamed, each fault told with its place."""

import gzip
import json
import lzma

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from softquery.errors import InputError
from softquery.files import AskedQuestion, GoldAnswer, json_stream, read_questions

CONTEXT = "Ada Lovelace slept in London."
few = hypothesis_settings(max_examples=60, deadline=None)


def asked(question="Who slept?", answer="Ada Lovelace", start=0, **more):
    answers = [{"text": answer, "answer_start": start}]
    return {"id": "q1", "question": question, "answers": answers, **more}


def squad(*qas, context=CONTEXT):
    return {"version": "1.1", "data": [{"title": "t", "paragraphs": [
        {"context": context, "qas": list(qas)}]}]}  # fmt: skip


def written(path, value, *, indent=None):
    text = value if isinstance(value, str) else json.dumps(value, indent=indent)
    path.write_text(text, encoding="utf-8")
    return path


def test_squad_is_read(tmp_path):
    second = asked("Where?", "London", 22)
    second["answers"].append({"text": "in London", "answer_start": 19})
    path = written(tmp_path / "a.json", squad(asked(), {**second, "id": 7}))
    one, other = read_questions(path)
    assert one == AskedQuestion(
        id="q1", question="Who slept?", context=CONTEXT,
        answers=(GoldAnswer("Ada Lovelace", 0),), number=1, source=str(path),
    )  # fmt: skip
    assert (other.id, other.answers) == ("7", (("London", 22), ("in London", 19)))
    assert one.context is other.context


@pytest.mark.parametrize(("ending", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_compressed_files(tmp_path, ending, pack):
    path = tmp_path / f"a.json{ending}"
    path.write_bytes(pack(json.dumps(squad(asked())).encode()))
    assert next(read_questions(path)).question == "Who slept?"


def test_lines_are_read_in_both_forms(tmp_path):
    listed = {"context": CONTEXT, **asked()}
    columns = {"context": CONTEXT, "question": "Where?",
               "answers": {"text": ["London"], "answer_start": [22]}}  # fmt: skip
    lines = "\n".join(map(json.dumps, (listed, columns)))
    one, other = read_questions(written(tmp_path / "a.jsonl", lines))
    assert (one.id, one.number, other.id, other.number) == ("q1", 1, "2", 2)
    assert other.answers == (("London", 22),)


def test_other_names_of_lines(tmp_path):
    line = json.dumps({"passage": CONTEXT, "q": "Who?", "answers": []})
    path = written(tmp_path / "a.jsonl", line)
    (found,) = read_questions(path, rename={"context": "passage", "question": "q"})
    assert (found.question, found.context) == ("Who?", CONTEXT)
    with pytest.raises(InputError, match=r'--columns: no column is called "ask"; known: id, cont'):
        read_questions(path, rename={"ask": "q"})
    with pytest.raises(InputError, match="--columns: SQuAD's JSON has fixed names"):
        read_questions(written(tmp_path / "a.json", "{}"), rename={"context": "passage"})


def test_questions_without_an_answer(tmp_path):
    none = {"id": "n", "question": "Why?", "answers": [], "is_impossible": True}
    plausible = {**none, "plausible_answers": [{"text": "Ada", "answer_start": 0}]}
    found = list(read_questions(written(tmp_path / "a.json", squad(none, plausible))))
    assert [each.answers for each in found] == [(), ()]
    line = json.dumps({"context": CONTEXT, "question": "Why?", "answers": []})
    assert next(read_questions(written(tmp_path / "a.jsonl", line))).answers == ()


def test_an_answer_that_stands_nowhere_is_kept_as_a_reference(tmp_path):
    path = written(tmp_path / "a.json", squad(asked(answer="Lady Lovelace", start=-1)))
    assert next(read_questions(path)).answers == (("Lady Lovelace", -1),)


def test_answers_may_be_ignored(tmp_path):
    path = written(tmp_path / "a.json", squad({"question": "Who?"}, asked(start=99)))
    assert [each.answers for each in read_questions(path, answers="ignored")] == [(), ()]


FAULTS = {
    "outside": (asked(start=25), 'answer "Ada Lovelace" at 25 lies outside the context, which '
                                 "has 29 characters"),
    "before": (asked(start=-2), 'answer "Ada Lovelace" at -2 lies outside'),
    "elsewhere": (asked(start=1), 'answer "Ada Lovelace" is not the text at 1: "da Lovelace "'),
    "no start": ({"id": "q1", "question": "Who?", "answers": [{"text": "Ada"}]},
                 "an answer must be an object with a text and an answer_start"),
    "start as text": (asked(start="0"), "an answer must be an object with a text and an answer_st"),
    "start as truth": (asked(start=True), "an answer must be an object with a text"),
    "empty answer": (asked(answer="", start=0), "an answer is empty"),
    "no answers": ({"id": "q1", "question": "Who?"}, 'no "answers"'),
    "empty list": ({"id": "q1", "question": "Who?", "answers": []},
                   "has no answers and is not marked is_impossible"),
    "both": (asked(is_impossible=True), "is_impossible, but has answers"),
    "not a truth": (asked(is_impossible="no"), "is_impossible must be true or false"),
    "answers as text": ({"id": "q1", "question": "Who?", "answers": "Ada"},
                        "answers must be a list of objects with text and answer_start"),
    "empty question": (asked(" \n"), "the question is empty"),
    "no question": ({"id": "q1", "answers": []}, 'no "question"'),
    "question as a number": (asked(5), "question must be text"),
    "not an object": (["Who?"], "expected a JSON object in braces"),
    "half a character": (asked("Who \ud83d?"), "question holds half a character"),
    "NUL": (asked("Who \0?"), "question holds a NUL character"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_told_with_their_place(name, tmp_path):
    record, message = FAULTS[name]
    path = written(tmp_path / "bad.json", squad(asked(), record))
    known = " (id q1)" if isinstance(record, dict) else ""
    with pytest.raises(InputError) as caught:
        list(read_questions(path))
    said = str(caught.value)
    assert said.startswith(f"{path}, row 1: article 1, paragraph 1, question 2{known}: {message}")
    assert "\n" not in said
    told = []
    (kept,) = read_questions(path, on_bad=told.append)
    assert (kept.question, len(told)) == ("Who slept?", 1)


@pytest.mark.parametrize("name", FAULTS)
def test_lines_with_faults(name, tmp_path):
    record, message = FAULTS[name]
    line = {"context": CONTEXT, **record} if isinstance(record, dict) else record
    path = written(tmp_path / "bad.jsonl", json.dumps({"context": CONTEXT, **asked()})
                   + "\n" + json.dumps(line))  # fmt: skip
    told = []
    kept = list(read_questions(path, on_bad=told.append))
    if name == "empty list":  # which is how lines say it
        assert [each.answers for each in kept][1:] == [()]
        return
    assert [str(each).startswith(f"{path}, row 2: {message}") for each in told] == [True]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ": is empty"),
        (" \n\n", ": is empty"),
        ("[]", ', row 1: expected a JSON object with a list "data", found \'[\''),
        ("{}", ', row 1: no "data" in the object'),
        ('{"data": 5}', ", row 1: expected a list \"data\", found '5'"),
        ('{"data": [5]}', ", row 1: article 1 is not a JSON object"),
        ('{"data": [{}]}', ', row 1: article 1: expected a list "paragraphs"'),
        ('{"data": [{"paragraphs": [3]}]}', ", row 1: article 1, paragraph 1 is not a JSON object"),
        ('{"data": [{"paragraphs": [{"context": "a"}]}]}', 'paragraph 1: expected a list "qas"'),
        ('{"data": [], "data": []', ", row 1: expected the end of the object, the file ends"),
        ('{"data": []} {}', ", row 1: more text after the end of the object"),
        ('{"data": [,]}', ", row 1: not valid JSON (Expecting value)"),
        ('{"data": [{},]}', 'expected a list "paragraphs"'),
        ('{"version": 1,}', "a comma before '}'"),
        ('{"data" []}', ", row 1: expected a colon after a name, found '['"),
        ('{"data": [{"paragraphs": "a', ", row 1: not valid JSON (Unterminated string"),
        ('{"data": ' + "[" * 100_000, "nested too deeply"),
    ],
)  # fmt: skip
def test_broken_files(text, message, tmp_path):
    path = written(tmp_path / "bad.json", text)
    with pytest.raises(InputError) as caught:
        list(read_questions(path))
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_an_empty_context_is_told(tmp_path):
    path = written(tmp_path / "bad.json", squad(asked(), context=" "))
    with pytest.raises(InputError, match=r"question 1 \(id q1\): the context is empty"):
        list(read_questions(path))
    path = written(tmp_path / "bad.json", squad(asked(), context=None))
    with pytest.raises(InputError, match='no "context"'):
        list(read_questions(path))


def test_other_files_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"expected a name ending in \.json or \.jsonl, plain or"):
        read_questions(written(tmp_path / "a.tsv", "a"))
    with pytest.raises(InputError, match="none.json: no such file"):
        read_questions(tmp_path / "none.json")
    with pytest.raises(InputError, match=r"a\.jsonl: is empty"):
        list(read_questions(written(tmp_path / "a.jsonl", "")))
    (tmp_path / "b.json").write_bytes(b'{"data": [\xff]}')
    with pytest.raises(InputError, match=r"b\.json, row 1: not valid UTF-8 \(byte 0xff"):
        list(read_questions(tmp_path / "b.json"))


def test_rows_are_those_of_the_article(tmp_path):
    value = squad(asked())
    value["data"] *= 3
    path = written(tmp_path / "a.json", value, indent=1)
    lines = path.read_text().splitlines()
    wanted = [number for number, line in enumerate(lines, 1) if line == "  {"]
    assert [each.number for each in read_questions(path)] == wanted


def test_memory_holds_an_article_and_not_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr("softquery.files.text_lines.BLOCK_SIZE", 64)
    monkeypatch.setattr("softquery.files.text_lines.LONGEST_LINE", 64)
    value = squad(asked())
    value["data"] *= 50
    path = written(tmp_path / "a.json", value)
    text = json_stream.JsonText(path)
    held = [len(text._text) for _ in text.items_of("data")]
    assert len(held) == 50
    assert max(held) < 1000 < path.stat().st_size / 8


def test_an_article_may_not_be_endless(tmp_path, monkeypatch):
    monkeypatch.setattr("softquery.files.json_stream.LARGEST_ITEM", 100)
    monkeypatch.setattr("softquery.files.text_lines.BLOCK_SIZE", 64)
    path = written(tmp_path / "a.json", squad(asked(), context="a " * 500), indent=0)
    with pytest.raises(InputError, match="an item is longer than 100 characters"):
        list(read_questions(path))


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@few
@given(st.lists(values, max_size=6), st.sampled_from([None, 0, 2]), st.booleans())
def test_any_list_is_streamed_as_it_is(items, indent, ascii_only):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.json"
        whole = {"before": items, "data": items, "after": [1]}
        path.write_text(json.dumps(whole, indent=indent, ensure_ascii=ascii_only), "utf-8")
        assert list(json_stream.JsonText(path).items_of("data")) == items
