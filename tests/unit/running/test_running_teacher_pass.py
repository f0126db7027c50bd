"""A part of the lessons, sent to an actor, is taught as it is by the teacher at home."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="teachers need the extra [train]")

from softquery.errors import InputError
from softquery.ray import Actors
from softquery.running.distilling.open_teacher import checked_logits, open_pair_teacher
from softquery.running.distilling.pair_lessons import read_pairs
from softquery.running.distilling.teacher import DistinctTexts, VectorFile, vectors_of_part
from softquery.running.distilling.teacher_pass import LogitPass, VectorPass, everywhere

TEXTS = [f"question {n} about apples" for n in range(12)]
PART = slice(4, 9)


@pytest.fixture
def sent(monkeypatch):
    """What would go to actors is computed here, one part after the other."""

    def computed(job, parts, actors):
        compute = job.open()
        return ((number, compute(part)) for number, part in parts)

    monkeypatch.setattr("softquery.ray.parts.computed_parts", computed)


def test_vectors(sent, tmp_path):
    matrix = np.random.default_rng(1).normal(size=(12, 8)).astype(np.float32)
    np.save(tmp_path / "vectors.npy", matrix)
    given = DistinctTexts(TEXTS, list(range(12)), 12)
    job = VectorPass(sources=(str(tmp_path / "vectors.npy"),), weights=None, size=8)
    ((part, found),) = job.parts(given, Actors())([PART])
    expected = vectors_of_part(VectorFile(tmp_path / "vectors.npy"), given, 8, PART)
    assert part == PART
    assert np.array_equal(found, expected)


def test_a_fault_names_the_text_by_its_number_among_all(sent, tmp_path):
    matrix = np.ones((12, 8), dtype=np.float32)
    matrix[6] = 0
    np.save(tmp_path / "vectors.npy", matrix)
    given = DistinctTexts(TEXTS, list(range(12)), 12)
    job = VectorPass(sources=(str(tmp_path / "vectors.npy"),), weights=None, size=8)
    with pytest.raises(InputError, match="its vector of text 7 is not finite or is zero"):
        list(job.parts(given, Actors())([PART]))


def test_logits(sent, tmp_path):
    file = tmp_path / "pairs.tsv"
    rows = [f"a man eats {n}\tsomeone eats" for n in range(12)]
    file.write_text("\n".join(["sentence1\tsentence2", *rows]) + "\n")
    teacher = open_pair_teacher("nli-en")
    given = read_pairs([file], teacher.task, None, lambda line: None)
    ((_, found),) = LogitPass(source="nli-en", labels=()).parts(given, Actors())([PART])
    assert found.shape == (5, 3)
    assert np.array_equal(found, checked_logits(teacher, given, PART))


def test_a_teacher_is_found_from_any_folder(tmp_path, monkeypatch):
    (tmp_path / "teacher").mkdir()
    monkeypatch.chdir(tmp_path)
    assert everywhere("teacher") == str(tmp_path / "teacher")
    assert everywhere("nli-en") == "nli-en"
