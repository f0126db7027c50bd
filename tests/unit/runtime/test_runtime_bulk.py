"""Bulk answers: streamed, kept when a run stops, and gone on from without a row lost or doubled."""

import json
import os
import shutil
from itertools import islice

import pytest

from small_bundles import random_pairs, unlabelled
from softquery.errors import InputError
from softquery.files import Row
from softquery.runtime import load
from softquery.runtime.bulk import BulkAnswers, answer_rows, stream_answers
from softquery.runtime.match.model import CHUNK
from softquery.runtime.partial_file import Partial

PAIRS = random_pairs(700, seed=6, longest=9)
ROWS = unlabelled(PAIRS)


@pytest.fixture(scope="module")
def matcher(int8_bundle):
    return load(int8_bundle, threads=1)


@pytest.fixture(scope="module")
def whole(matcher, tmp_path_factory):
    """The bytes of an uninterrupted run."""
    output = tmp_path_factory.mktemp("whole") / "out.jsonl"
    answer_rows(BulkAnswers(matcher), ROWS, output)
    return output.read_bytes()


def stopping(count, error=KeyboardInterrupt):
    """Some rows, and then an end."""
    yield from islice(ROWS, count)
    raise error


def partial_of(output):
    return output.with_name(output.name + ".partial")


def note_of(output):
    return output.with_name(output.name + ".partial.json")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_answers_are_those_of_predict(matcher, whole):
    records = [json.loads(line) for line in whole.decode().splitlines()]
    assert [(record["sentence1"], record["sentence2"]) for record in records] == PAIRS
    for record, answer in zip(records, matcher.predict(PAIRS), strict=True):
        assert list(record) == ["sentence1", "sentence2", "label", "score", "probabilities"]
        assert record["label"] == answer.label
        assert record["score"] == pytest.approx(answer.score, abs=1e-6)
        assert record["probabilities"] == pytest.approx(answer.probabilities, abs=1e-6)


@pytest.mark.parametrize("count", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 5, 700])
def test_a_stopped_run_goes_on(matcher, whole, tmp_path, count):
    output = tmp_path / "out.jsonl"
    with pytest.raises(KeyboardInterrupt):
        answer_rows(BulkAnswers(matcher), stopping(count), output)
    kept = count // CHUNK * CHUNK
    assert not output.exists()
    assert names(tmp_path) == (["out.jsonl.partial", "out.jsonl.partial.json"] if kept else [])
    done = []
    result = answer_rows(BulkAnswers(matcher), ROWS, output, advance=done.append)
    assert (result.num_rows, result.num_resumed) == (700, kept)
    assert done[-1] == 700
    assert output.read_bytes() == whole
    assert names(tmp_path) == ["out.jsonl"]


@pytest.mark.parametrize("cut", [1, 20, 5000, 30_000])
def test_half_a_line_or_chunk_is_written_anew(matcher, whole, tmp_path, cut):
    """What a kill in the midst of writing leaves behind."""
    output = tmp_path / "out.jsonl"
    with pytest.raises(KeyboardInterrupt):
        answer_rows(BulkAnswers(matcher), stopping(2 * CHUNK), output)
    os.truncate(partial_of(output), partial_of(output).stat().st_size - cut)
    answer_rows(BulkAnswers(matcher), ROWS, output)
    assert output.read_bytes() == whole


def test_lines_beyond_the_last_chunk_are_cut_off(matcher, whole, tmp_path):
    output = tmp_path / "out.jsonl"
    with pytest.raises(KeyboardInterrupt):
        answer_rows(BulkAnswers(matcher), stopping(CHUNK), output)
    with partial_of(output).open("ab") as file:
        file.write(b"\0" * 100 + b'\n{"half": ')
    answer_rows(BulkAnswers(matcher), ROWS, output)
    assert output.read_bytes() == whole


def test_a_repaired_row_is_gone_on_from(matcher, whole, tmp_path):
    """Rows behind the answered ones may differ from those of the run before."""
    output = tmp_path / "out.jsonl"
    error = InputError("sentence2 is empty", source="rows.tsv", row=300)
    with pytest.raises(InputError, match=r"^rows\.tsv, row 300: sentence2 is empty$"):
        answer_rows(BulkAnswers(matcher), stopping(299, error), output)
    result = answer_rows(BulkAnswers(matcher), ROWS, output)
    assert result.num_resumed == CHUNK
    assert output.read_bytes() == whole


@pytest.mark.parametrize("place", [0, 100, CHUNK - 1])
def test_other_rows_are_refused(matcher, tmp_path, place):
    output = tmp_path / "out.jsonl"
    with pytest.raises(KeyboardInterrupt):
        answer_rows(BulkAnswers(matcher), stopping(CHUNK + 3), output)
    before = partial_of(output).read_bytes()
    other = [*ROWS]
    other[place] = Row({**ROWS[place].values, "sentence2": "w1 w1 w1"}, place + 2, "rows.tsv")
    said = rf"^rows\.tsv, row {place + 2}: is not the row that was answered in .*jsonl\.partial"
    with pytest.raises(InputError, match=said):
        answer_rows(BulkAnswers(matcher), other, output)
    assert partial_of(output).read_bytes() == before  # to be looked at, or gone on from


def test_fewer_rows_than_answers_are_refused(matcher, tmp_path):
    output = tmp_path / "out.jsonl"
    with pytest.raises(KeyboardInterrupt):
        answer_rows(BulkAnswers(matcher), stopping(2 * CHUNK), output)
    with pytest.raises(InputError, match=r"holds more answers than there are rows \(300\)"):
        answer_rows(BulkAnswers(matcher), ROWS[:300], output)


def test_answers_of_another_model_are_refused(matcher, float_bundle, tmp_path):
    output = tmp_path / "out.jsonl"
    with pytest.raises(KeyboardInterrupt):
        answer_rows(BulkAnswers(matcher), stopping(CHUNK), output)
    before = partial_of(output).read_bytes()
    for other in (load(float_bundle), load(matcher.bundle.path, backend="torch")):
        with pytest.raises(InputError, match=r"partial: was written with another model or backend"):
            answer_rows(BulkAnswers(other), ROWS, output)
    assert partial_of(output).read_bytes() == before


def test_another_calibration_is_another_model(matcher, tmp_path):
    path = shutil.copytree(matcher.bundle.path, tmp_path / "model")
    output = tmp_path / "out.jsonl"
    with pytest.raises(KeyboardInterrupt):
        answer_rows(BulkAnswers(load(path)), stopping(CHUNK), output)
    (path / "calibration.json").write_text('{"temperature": 2.0}')
    with pytest.raises(InputError, match="was written with another model or backend"):
        answer_rows(BulkAnswers(load(path)), ROWS, output)


def test_a_copy_of_the_model_elsewhere_may_go_on(matcher, whole, tmp_path):
    output = tmp_path / "out.jsonl"
    with pytest.raises(KeyboardInterrupt):
        answer_rows(BulkAnswers(matcher), stopping(CHUNK), output)
    path = shutil.copytree(matcher.bundle.path, tmp_path / "copy")
    assert answer_rows(BulkAnswers(load(path, threads=1)), ROWS, output).num_resumed == CHUNK
    assert output.read_bytes() == whole


@pytest.mark.parametrize("content", [None, b"", b"{", b"[]"])
def test_answers_whose_origin_is_unknown_are_refused(matcher, tmp_path, content):
    output = tmp_path / "out.jsonl"
    with pytest.raises(KeyboardInterrupt):
        answer_rows(BulkAnswers(matcher), stopping(CHUNK), output)
    note_of(output).unlink() if content is None else note_of(output).write_bytes(content)
    with pytest.raises(InputError, match="was written with another model or backend"):
        answer_rows(BulkAnswers(matcher), ROWS, output)


@pytest.mark.parametrize(
    "line", [b"[]\n", b"3\n", b"\n", b"{}\n", b'{"sentence1": 1}\n', b"\xff\n"]
)
def test_what_is_no_answer_is_refused(matcher, tmp_path, line):
    output = tmp_path / "out.jsonl"
    with pytest.raises(KeyboardInterrupt):
        answer_rows(BulkAnswers(matcher), stopping(CHUNK), output)
    partial_of(output).write_bytes(line * CHUNK)
    with pytest.raises(InputError, match=r"^rows\.tsv, row 2: is not the row that was answered in"):
        answer_rows(BulkAnswers(matcher), ROWS, output)


def test_places_are_checked_first(matcher, tmp_path):
    (tmp_path / "there.jsonl").write_text("mine\n")
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "dangling.jsonl").symlink_to(tmp_path / "nowhere")
    for name, said in {
        "out.json": r"out\.json: answers are written as \.jsonl; name the output so",
        "out": r"out: answers are written as \.jsonl; name the output so",
        "there.jsonl": r"there\.jsonl: already exists; name another --output, or remove it",
        "folder.jsonl": "already exists",
        "dangling.jsonl": "already exists",
        "no/such/out.jsonl": r"no/such/out\.jsonl: cannot be written \(no such folder\)",
    }.items():
        with pytest.raises(InputError, match=said):
            answer_rows(BulkAnswers(matcher), ROWS, tmp_path / name)
    assert (tmp_path / "there.jsonl").read_text() == "mine\n"
    assert names(tmp_path) == ["dangling.jsonl", "folder.jsonl", "there.jsonl"]


def test_two_runs_do_not_write_one_file(matcher, tmp_path):
    pytest.importorskip("fcntl")
    output = tmp_path / "out.jsonl"
    with Partial(output, {"model": "a"}) as first:
        first.append(b"line\n")
        with pytest.raises(InputError, match=r"jsonl\.partial: is being written by another run$"):
            answer_rows(BulkAnswers(matcher), ROWS, output)
    assert partial_of(output).read_bytes() == b"line\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs links and pipes")
@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_waits_under_the_name_of_the_answers_is_not_written_to(tmp_path, kind):
    own, waiting = tmp_path / "letter.txt", tmp_path / "a.jsonl.partial"
    own.write_text("mine", encoding="utf-8")
    (tmp_path / "a.jsonl.partial.json").write_text("{}", encoding="utf-8")
    make = {"link": lambda: waiting.symlink_to(own), "folder": waiting.mkdir}
    make.get(kind, lambda: os.mkfifo(waiting))()
    said = r"a\.jsonl\.partial: (is a link|is not a file|cannot)"
    with pytest.raises(InputError, match=said), Partial(tmp_path / "a.jsonl", {}) as partial:
        list(partial.answered(2))
    assert own.read_text(encoding="utf-8") == "mine"
    assert os.path.lexists(waiting)


def test_no_rows_give_an_empty_file(matcher, tmp_path):
    result = answer_rows(BulkAnswers(matcher), [], tmp_path / "out.jsonl")
    assert (result.num_rows, result.num_resumed, result.num_cut) == (0, 0, 0)
    assert (tmp_path / "out.jsonl").read_bytes() == b""


def test_texts_come_back_as_they_were(matcher, tmp_path):
    odd = [("line\u2028end", "tab\there"), ('quote"back\\', "猫 坐 在"), ("new\nline", "\x1b[31m")]
    rows = unlabelled(odd * CHUNK)
    output = tmp_path / "out.jsonl"

    def broken():
        yield from rows[: CHUNK + 9]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        answer_rows(BulkAnswers(matcher), broken(), output)
    assert answer_rows(BulkAnswers(matcher), rows, output).num_resumed == CHUNK
    records = [json.loads(line) for line in output.read_bytes().split(b"\n")[:-1]]
    assert [(record["sentence1"], record["sentence2"]) for record in records] == odd * CHUNK


def test_cuts_are_counted_over_both_runs(matcher, tmp_path):
    long = "w1 " * 401
    rows = unlabelled([("w1", long), *PAIRS[:CHUNK], (long, long)])
    output = tmp_path / "out.jsonl"

    def broken():
        yield from rows[:CHUNK]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        answer_rows(BulkAnswers(matcher), broken(), output)
    assert answer_rows(BulkAnswers(matcher), rows, output).num_cut == 3


def test_rows_are_read_as_they_are_needed(matcher):
    """Never more than a chunk ahead, so that memory does not grow with the file."""
    read, written = [], []

    def rows():
        for row in ROWS:
            read.append(row)
            yield row

    def write(text):
        written.extend(text.split("\n"))
        assert len(read) - len(written) <= CHUNK
        assert not text.endswith("\n")

    assert stream_answers(BulkAnswers(matcher), rows(), write) == 0
    assert len(written) == len(ROWS)


def test_stream_and_file_say_the_same(matcher, whole):
    parts = []
    stream_answers(BulkAnswers(matcher), ROWS, parts.append)
    assert ("\n".join(parts) + "\n").encode() == whole
