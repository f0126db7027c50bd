"""Shards, their records and what is refused; Ray itself is tried by `make integrations`."""

import csv
import json
from dataclasses import replace
from importlib.util import find_spec

import pytest
from ray_rounds import items, run, shards, work_of

from softquery.errors import ConfigError, InputError, MissingExtra
from softquery.ray import Actors, answer_files
from softquery.ray.commits import complete_run, enter_run
from softquery.ray.places import open_place
from softquery.ray.row_messages import error_of, packed_rows, told_error, unpacked_rows
from softquery.runtime import load
from softquery.runtime.bulk import BulkAnswers, answer_rows
from softquery.runtime.task_rows import ParseOptions

ROWS = 600


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """Two files of pairs, one of them with two bad rows."""
    folder = tmp_path_factory.mktemp("pairs")
    lines = [f"a man eats {n} apples\tsomeone eats {n % 7} times" for n in range(ROWS)]
    (folder / "many.tsv").write_text("\n".join(["sentence1\tsentence2", *lines]) + "\n")
    bad = [*lines[:3], "alone", *lines[3:300], "\tempty", ""]
    (folder / "some.tsv").write_text("\n".join(["sentence1\tsentence2", *bad]) + "\n")
    (folder / "_notes.tsv").write_text("nothing\n")
    return folder


@pytest.fixture(scope="module")
def alone(pairs, tmp_path_factory):
    """What a single process writes for the larger file."""
    output = tmp_path_factory.mktemp("alone") / "many.jsonl"
    answers = BulkAnswers(load("nli-en", threads=1))
    answer_rows(answers, answers.bulk.parse(pairs / "many.tsv", ParseOptions()), output)
    return output.read_bytes()


def test_shards_together_are_what_a_single_process_writes(pairs, alone, tmp_path):
    run(work_of(tmp_path / "out"), pairs / "many.tsv")
    found = shards(tmp_path / "out")
    assert [path.read_bytes().count(b"\n") for path in found] == [256, 256, 88]
    assert b"".join(path.read_bytes() for path in found) == alone
    manifest = json.loads((tmp_path / "out" / "_manifest.json").read_bytes())
    assert (manifest["num_answered"], manifest["num_bad"]) == (ROWS, 0)
    assert [each["data"] for each in manifest["shards"]] == [path.name for path in found]


def test_an_interrupted_run_answers_only_what_is_missing(pairs, alone, tmp_path):
    output = tmp_path / "out"
    run(work_of(output), pairs / "many.tsv", most=1)
    (first,) = shards(output)
    before = first.stat().st_mtime_ns
    told = run(work_of(output), pairs / "many.tsv")
    assert [each["kind"] for each in told] == ["known", "commit", "commit", "end"]
    assert first.stat().st_mtime_ns == before
    assert b"".join(path.read_bytes() for path in shards(output)) == alone


def test_a_shard_is_written_again_where_its_record_is_missing(pairs, alone, tmp_path):
    output = tmp_path / "out"
    run(work_of(output), pairs / "many.tsv", most=2)
    last = sorted((output / "_commits").iterdir())[-1]
    last.unlink()
    (output / last.with_suffix(".jsonl").name).write_text("broken off")
    run(work_of(output), pairs / "many.tsv")
    assert b"".join(path.read_bytes() for path in shards(output)) == alone


def test_a_second_attempt_at_a_shard_changes_nothing(pairs, alone, tmp_path):
    work = work_of(tmp_path / "out")
    run(work, pairs / "many.tsv", most=3)
    run(work, pairs / "many.tsv", most=3)
    assert len(shards(tmp_path / "out")) == 3
    assert b"".join(path.read_bytes() for path in shards(tmp_path / "out")) == alone


def test_a_bad_row_stops_or_goes_to_a_file_of_its_own(pairs, tmp_path):
    with pytest.raises(InputError, match=r"some.tsv, row 5: expected 2 columns .*, found 1"):
        run(work_of(tmp_path / "stopped"), pairs)
    run(work_of(tmp_path / "out", skips=True), pairs)
    notes = sorted((tmp_path / "out" / "_errors").iterdir())
    told = [line for path in notes for line in path.read_text().splitlines()]
    assert [line.split("\t")[0] for line in told] == ["row", "5", "row", "303"]
    assert all(path.name.startswith("some-") for path in notes)
    manifest = json.loads((tmp_path / "out" / "_manifest.json").read_bytes())
    assert manifest["files"] == {
        "many.tsv": {"rows": ROWS, "bad": 0},
        "some.tsv": {"rows": 300, "bad": 2},
    }
    assert manifest["num_answered"] == ROWS + 300


def test_bad_rows_behind_a_full_shard_are_a_shard_of_their_own(tmp_path):
    rows = [f"a cat {n}\ta dog" for n in range(256)]
    file = tmp_path / "rows.tsv"
    file.write_text("\n".join(["sentence1\tsentence2", *rows, "alone"]) + "\n")
    run(work_of(tmp_path / "out", skips=True), file)
    assert len(shards(tmp_path / "out")) == 1
    (note,) = (tmp_path / "out" / "_errors").iterdir()
    assert note.name.endswith("-000000000256-000000000256.tsv")
    assert note.read_text().startswith("row\treason\n258\texpected 2 columns")


def test_other_rows_than_those_that_were_answered_are_refused(pairs, tmp_path):
    file = tmp_path / "many.tsv"
    file.write_bytes((pairs / "many.tsv").read_bytes())
    run(work_of(tmp_path / "out"), file, most=2)
    file.write_text(file.read_text().replace("eats 300 apples", "eats 300 pears"))
    with pytest.raises(InputError, match=r"many.tsv, row 258: the rows from here on are not those"):
        run(work_of(tmp_path / "out"), file)


def test_an_output_of_another_run_is_refused(pairs, tmp_path):
    work = work_of(tmp_path / "out")
    run(work, pairs / "many.tsv", most=1)
    place = open_place(work.output)
    with pytest.raises(InputError, match="was begun with another model, backend or options"):
        enter_run(place, work.output, {**work.identity, "form": "csv"})
    run(work, pairs / "many.tsv")
    with pytest.raises(InputError, match="already exists; name another --output"):
        enter_run(place, work.output, {})
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="is not empty; name another --output"):
        enter_run(open_place(str(tmp_path / "full")), "full", {})


def test_a_lost_shard_never_passes_as_complete(pairs, tmp_path):
    work = work_of(tmp_path / "out")
    run(work, pairs / "many.tsv", most=3)
    place = open_place(work.output)
    known = enter_run(place, work.output, {**work.identity, "form": "jsonl"})
    ends = {"many.tsv": {"rows": ROWS, "bad": 0, "shards": 3}}
    with pytest.raises(RuntimeError, match="begins at 256, not 0"):
        complete_run(place, ends, known[1:])
    with pytest.raises(RuntimeError, match="2 shards with 512 rows; expected 3 with 600"):
        complete_run(place, ends, known[:2])
    with pytest.raises(RuntimeError, match="begins at 0, not 256"):
        complete_run(place, ends, [known[0], *known])


def test_forms_hold_the_same_answers(pairs, alone, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason='needs "softquery[parquet]"')
    records = list(map(json.loads, alone.decode().splitlines()))
    run(work_of(tmp_path / "parquet", form="parquet"), pairs / "many.tsv")
    rows = [
        row
        for path in shards(tmp_path / "parquet", "parquet")
        for row in parquet.read_table(path).to_pylist(maps_as_pydicts="strict")
    ]
    assert rows == records
    run(work_of(tmp_path / "csv", form="csv"), pairs / "many.tsv")
    read = []
    for path in shards(tmp_path / "csv", "csv"):
        with path.open(newline="") as file:
            read += csv.DictReader(file)
    assert [(row["sentence1"], float(row["score"])) for row in read] == [
        (row["sentence1"], row["score"]) for row in records
    ]
    assert json.loads(read[0]["probabilities"]) == records[0]["probabilities"]


def test_a_model_that_differs_between_machines_is_refused(pairs, tmp_path):
    work, other = work_of(tmp_path / "out"), work_of(tmp_path / "out", model="match-en")
    with pytest.raises(ConfigError, match="is not the same model as the driver's"):
        run(replace(work, model=other.model), pairs / "many.tsv")


def test_rows_travel_unchanged(pairs):
    work = work_of(pairs)
    first = items(work, pairs / "many.tsv", [])[0]
    rows = unpacked_rows(first["rows"], "x.tsv")
    assert rows[0].values == {
        "sentence1": "a man eats 0 apples",
        "sentence2": "someone eats 0 times",
    }
    assert (rows[0].number, rows[0].source, len(rows)) == (2, "x.tsv", 256)
    assert packed_rows(rows) == first["rows"]


def test_errors_travel_unchanged():
    for error in (InputError("no", source="a.tsv", row=3), ConfigError("not so")):
        again = error_of(told_error(error))
        assert (type(again), str(again)) == (type(error), str(error))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"form": "xml"}, "--form must be jsonl or parquet or csv, got 'xml'"),
        ({"on_error": "go on"}, "on_error must be stop or skip, got 'go on'"),
        ({"shard_rows": 100}, "shard_rows must be a multiple of 256, got 100"),
    ],
)
def test_mistakes_are_refused_before_any_work(given, told, pairs, tmp_path):
    with pytest.raises(ConfigError, match=told):
        answer_files("nli-en", pairs, tmp_path / "out", **given)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"num_actors": 0}, "num_actors must be at least 1, got 0"),
        ({"gpus": -1}, "gpus must be a number of GPUs, got -1"),
        ({"num_actors": 1, "gpus": 2}, "2 GPUs for 1 actor; an actor uses at most one"),
    ],
)
def test_actors_that_cannot_be_are_refused(given, told):
    with pytest.raises(ConfigError, match=told):
        Actors(**given)


@pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is installed")
def test_a_missing_extra_is_named(pairs, tmp_path):
    told = r'the engine ray needs an optional part: pip install "softquery\[ray\]"'
    with pytest.raises(MissingExtra, match=told):
        answer_files("nli-en", pairs, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_actors_share_gpus():
    assert Actors(num_actors=8, gpus=4).remote_options() == {"num_cpus": 1, "num_gpus": 0.5}
    assert Actors(gpus=4).remote_options() == {"num_cpus": 1, "num_gpus": 1.0}
    assert (Actors(gpus=1).device, Actors().device) == ("cuda", None)


def test_inputs_are_files_folders_and_patterns(pairs, tmp_path):
    from softquery.ray.input_files import find_input_files

    def names(source):
        return [file.name for file in find_input_files(str(source), (".tsv",))]

    assert names(pairs) == ["many.tsv", "some.tsv"]
    assert names(pairs / "m*.tsv") == names(pairs / "many.tsv") == ["many.tsv"]
    with pytest.raises(InputError, match="no such file"):
        names(tmp_path / "nowhere")
    with pytest.raises(InputError, match="no file that ends in .tsv"):
        names(tmp_path)
    with pytest.raises(InputError, match="no file matches"):
        names(pairs / "x*.tsv")
