"""Texts, translations and pairs as a student gets them, and the negatives that are mined."""

import numpy as np
import pytest
import torch

from softquery.errors import InputError
from softquery.recipes.students import StudentPairs
from softquery.running.distilling.lessons import LessonFiles, mine_negatives, read_lessons
from softquery.running.distilling.teacher import DistinctTexts, JoinedTeachers, VectorFile


def written(path, *lines):
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_every_text_is_read_once_and_every_place_is_kept(tmp_path):
    texts = written(tmp_path / "a.txt", "one", "two  words", "", "one", "three")
    parallel = written(tmp_path / "p.tsv", "text\ttaught", "eins\tone", "vier\tfour", "eins\tten")
    pairs = written(
        tmp_path / "q.tsv",
        "sentence1\tsentence2\tlabel",
        "one\tthe one\t1", "one\tthree\t0", "one\tthe one\t1", "four\ttwo words\t1",
        "three\tthree\t1", "a\tb\t1", "c\td\t1",
    )  # fmt: skip
    said = []
    given = read_lessons(
        LessonFiles(texts=[texts], parallel=[parallel], pairs=[pairs]), None, said.append
    )
    read = ["one", "two words", "three", "eins", "vier", "the one", "four", "a", "b", "c", "d"]
    assert given.texts == read
    taught = [given.teacher.texts[number] for number in given.taught_by]
    assert taught == ["one", "two words", "three", "one", "four", "the one", "four", *"abcd"]
    assert given.pairs == [(0, 5), (6, 1), (7, 8), (9, 10)]  # labelled 0, repeated, same: left out
    assert given.teacher.num_read == 4 + 3 + 14
    assert dict(zip(given.teacher.texts, given.teacher.places, strict=True))["four"] == 5
    assert given.is_translated
    assert said == ["11 different texts of 21, 4 pairs"]


def test_texts_alone_are_not_translated(tmp_path):
    texts = written(tmp_path / "a.txt", "one", "two", "three", "four")
    assert not read_lessons(LessonFiles(texts=[texts]), None, print).is_translated


def test_bad_rows_of_pairs_and_translations_are_named(tmp_path):
    texts = written(tmp_path / "a.txt", "one", "two", "three", "four")

    def refused(said, **files):
        with pytest.raises(InputError, match=said):
            read_lessons(LessonFiles(texts=[texts], **files), None, print)

    grades = written(tmp_path / "g.tsv", "sentence1\tsentence2\tlabel", "a\tb\t4.5")
    refused(r"g.tsv, row 2: label is '4.5'; expected 1 for the same meaning or 0", pairs=[grades])
    few = written(tmp_path / "f.tsv", "sentence1\tsentence2", "a\tb", "a\ta")
    refused(r"f.tsv: 1 pair of different texts .*; expected at least 4", pairs=[few])
    untaught = written(tmp_path / "u.tsv", "text\tother", "a\tb")
    refused("u.tsv.*taught", parallel=[untaught])
    blank = written(tmp_path / "b.tsv", "text\ttaught", "a\t ")
    refused("b.tsv, row 2", parallel=[blank])


def test_negatives_are_near_but_clearly_farther_than_the_partner():
    generator = torch.Generator().manual_seed(5)
    vectors = torch.nn.functional.normalize(torch.randn(40, 4, generator=generator), dim=-1)
    pairs = torch.arange(40).view(20, 2)
    settings = StudentPairs(num_negatives=3, margin=0.1, floor=0.3)
    found = mine_negatives(pairs, vectors, settings)
    assert found.shape == (20, 5)
    for first, second, *others in found.tolist():
        own = float(vectors[first] @ vectors[second])
        allowed = sorted(
            (float(vectors[first] @ vectors[other]), other)
            for other in range(1, 40, 2)
            if other != second and float(vectors[first] @ vectors[other]) <= max(own - 0.1, 0.3)
        )
        wanted = [other for _, other in allowed[::-1][:3]]
        assert others[: len(wanted)] == wanted


def test_without_negatives_pairs_stay_as_they_are():
    pairs = torch.tensor([[0, 1], [2, 3]])
    assert mine_negatives(pairs, torch.eye(4), StudentPairs(num_negatives=0)) is pairs


@pytest.mark.parametrize("weights", [None, [0.4, 0.6], [3, 1]])
def test_joined_teachers_see_the_mean_of_their_cosines(tmp_path, weights):
    rng = np.random.default_rng(1)
    files = []
    for number, width in enumerate((3, 5)):
        np.save(tmp_path / f"{number}.npy", rng.normal(size=(4, width)).astype("f4") * 7)
        files.append(VectorFile(tmp_path / f"{number}.npy"))
    given = DistinctTexts(list("abcd"), [0, 1, 2, 3], 4)
    joined = JoinedTeachers(files, weights)
    assert joined.files == [tmp_path / "0.npy", tmp_path / "1.npy"]
    assert joined.vocabulary is None
    assert joined.encode(["a"]) is None
    whole = joined.vectors(given, slice(0, 4))
    cosines = [each.vectors(given, slice(0, 4)) for each in files]
    units = [each / np.linalg.norm(each, axis=1, keepdims=True) for each in cosines]
    first, second = weights or [1, 1]
    expected = (first * units[0] @ units[0].T + second * units[1] @ units[1].T) / (first + second)
    unit = whole / np.linalg.norm(whole, axis=1, keepdims=True)
    np.testing.assert_allclose(unit @ unit.T, expected, atol=1e-6)
