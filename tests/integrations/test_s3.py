"""Bulk work from and to an object store: S3 as moto's server speaks it."""

import json
import os

import pytest

ray = pytest.importorskip("ray", reason='needs "softquery[ray]"')
moto = pytest.importorskip("moto.server", reason="needs moto[server]")

import boto3  # noqa: E402
from pyarrow import parquet  # noqa: E402

import softquery as sq  # noqa: E402
from softquery.errors import InputError  # noqa: E402
from softquery.ray.input_files import find_input_files  # noqa: E402
from softquery.ray.places import open_place  # noqa: E402
from softquery.runtime.bulk import BulkAnswers, answer_rows  # noqa: E402
from softquery.runtime.task_rows import ParseOptions  # noqa: E402

pytestmark = pytest.mark.timeout(600)
CHUNK = 256
ROWS = 3 * CHUNK + 5


@pytest.fixture(scope="module")
def bucket():
    """A store of its own, which all processes find by their environment."""
    server = moto.ThreadedMotoServer(port=0)
    server.start()
    host, port = server.get_host_and_port()
    around = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in around.items():
            patch.setenv(name, value)
        client = boto3.client("s3")
        client.create_bucket(Bucket="texts")
        yield client
        ray.shutdown()
    server.stop()


@pytest.fixture(scope="module")
def pairs(bucket, tmp_path_factory):
    """The same pairs on the disk and in the store, beside others."""
    file = tmp_path_factory.mktemp("pairs") / "many.tsv"
    lines = [f"a man eats {n} apples\tsomeone eats {n % 7} times" for n in range(ROWS)]
    file.write_text("\n".join(["sentence1\tsentence2", *lines]) + "\n")
    bucket.upload_file(str(file), "texts", "pairs/many.tsv")
    bucket.put_object(
        Bucket="texts", Key="pairs/few.jsonl", Body=b'{"sentence1": "a", "sentence2": "b"}\n'
    )
    bucket.put_object(Bucket="texts", Key="pairs/_notes.tsv", Body=b"aside\n")
    return file


def names(uri):
    return [file.name for file in find_input_files(uri, (".tsv", ".jsonl"))]


def test_a_prefix_is_a_folder(pairs):
    assert names("s3://texts/pairs") == ["few.jsonl", "many.tsv"]
    assert names("s3://texts/pairs/m*.tsv") == ["many.tsv"]
    assert names("s3://texts/pairs/few.jsonl") == ["few.jsonl"]
    with pytest.raises(InputError, match="s3://texts/nothing: no file that ends in"):
        names("s3://texts/nothing")


def test_an_object_is_there_whole(bucket):
    place = open_place("s3://texts/place")
    assert (place.names(), place.has("a/b")) == ([], False)
    place.write("a/b", b"contents")
    assert (place.names(), place.has("a/b"), place.read("a/b")) == (["a/b"], True, b"contents")
    with pytest.raises(InputError, match="s3://texts/place/missing: cannot be reached"):
        place.read("missing")


def test_answers_in_the_store_are_those_of_one_process(bucket, pairs, tmp_path):
    answers = BulkAnswers(sq.load("nli-en", threads=1))
    alone = tmp_path / "alone.jsonl"
    answer_rows(answers, answers.bulk.parse(pairs, ParseOptions()), alone)
    output = "s3://texts/scored"
    result = sq.ray.answer_files("nli-en", "s3://texts/pairs", output, actors=2, shard_rows=CHUNK)
    assert (result.num_files, result.num_rows, result.num_shards) == (2, ROWS + 1, 5)
    place = open_place(output)
    shards = [name for name in place.names() if name.startswith("many-")]
    assert b"".join(map(place.read, shards)) == alone.read_bytes()
    with pytest.raises(InputError, match="s3://texts/scored: already exists"):
        sq.ray.answer_files("nli-en", "s3://texts/pairs", output, actors=2, shard_rows=CHUNK)
    assert json.loads(place.read("_manifest.json"))["num_answered"] == ROWS + 1


def test_a_run_that_was_cut_short_goes_on(bucket, pairs):
    """As if its driver and one actor had died before a record was written."""
    output = "s3://texts/resumed"
    sq.ray.answer_files("nli-en", str(pairs), output, actors=1, shard_rows=CHUNK)
    place = open_place(output)
    records = [name for name in place.names("_commits")]
    for name in ("_manifest.json", records[1]):
        bucket.delete_object(Bucket="texts", Key=f"resumed/{name}")
    before = {name: place.read(name) for name in place.names() if name.endswith(".jsonl")}
    result = sq.ray.answer_files("nli-en", str(pairs), output, actors=1, shard_rows=CHUNK)
    assert (result.num_rows, result.num_resumed) == (ROWS, ROWS - CHUNK)
    assert {name: place.read(name) for name in before} == before


def test_a_bad_row_is_named_by_its_object(bucket):
    body = b"sentence1\tsentence2\na man\ta dog\nalone\n"
    bucket.put_object(Bucket="texts", Key="bad/rows.tsv", Body=body)
    with pytest.raises(InputError, match=r"^s3://texts/bad/rows.tsv, row 3: expected 2 columns"):
        sq.ray.answer_files("nli-en", "s3://texts/bad", "s3://texts/stopped", actors=1)
    result = sq.ray.answer_files(
        "nli-en", "s3://texts/bad", "s3://texts/out", actors=1, on_error="skip", form="parquet"
    )
    assert (result.num_rows, result.num_skipped) == (1, 1)
    place = open_place("s3://texts/out")
    (note,) = place.names("_errors")
    assert place.read(note).startswith(b"row\treason\n3\texpected 2 columns")


def test_shards_of_parquet_are_a_data_set(bucket, pairs, tmp_path):
    sq.ray.answer_files("nli-en", str(pairs), tmp_path / "out", actors=1, form="parquet")
    assert parquet.read_table(tmp_path / "out").num_rows == ROWS
    found = ray.data.read_parquet(str(tmp_path / "out"))
    assert found.count() == ROWS
    assert os.environ["AWS_ENDPOINT_URL"].startswith("http://")
