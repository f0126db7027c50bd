"""A corpus becomes ids: counted, ranked, without rare words, the same whoever reads it."""

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softquery.errors import ConfigError, InputError
from softquery.files import Phrases, corpus_file, open_corpus_file, write_corpus_file
from softquery.files.corpus_ids import END, LONGEST_WORD, CorpusIds, answered, main
from softquery.text import TextConfig, WordTokenizer

TEXT = TextConfig(max_tokens=10_000)
few = settings(max_examples=40, deadline=None)
word = st.sampled_from(["a", "b", "cd", "e.", "Don't", "中文", "🦊", "a_b"])
sentences = st.lists(st.lists(word, max_size=8).map(" ".join), min_size=1, max_size=12)


def write(folder, *texts, **options):
    files = []
    for number, text in enumerate(texts):
        files.append(folder / f"{number}.txt")
        files[-1].write_text(text, encoding="utf-8")
    return write_corpus_file(
        files, options.pop("text", TEXT), folder, **{"min_count": 1, **options}
    )


def spelt(made):
    """The sentences of a corpus as words."""
    found, sentence = [], []
    for number in made.ids().tolist():
        if number == END:
            found.append(sentence)
            sentence = []
        else:
            sentence.append(made.words[number])
    assert sentence == []
    return found


@few
@given(sentences, st.integers(1, 3))
def test_a_corpus_is_its_frequent_words(tmp_path_factory, lines, min_count):
    cut = [WordTokenizer(TEXT).words(line) for line in lines]
    counts = Counter(token for line in cut for token in line)
    kept = {token for token, count in counts.items() if count >= min_count}
    folder = tmp_path_factory.mktemp("corpus")
    if len(kept) < 2:
        with pytest.raises(InputError, match=r"holds no words|expected at least 2 words that"):
            write(folder, "\n".join(lines), min_count=min_count)
        return
    made = write(folder, "\n".join(lines), min_count=min_count)
    left = [[token for token in line if token in kept] for line in cut]
    assert spelt(made) == [line for line in left if line]
    assert made.words == sorted(kept, key=lambda token: (-counts[token], token))
    assert made.counts.tolist() == [counts[token] for token in made.words]
    assert (made.num_read, made.num_tokens) == (counts.total(), sum(map(len, left)))


def test_files_and_processes_make_no_difference(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus_file, "WORTH_A_PROCESS", 1)
    texts = [f"the cat {number} sat on the mat\na dog {number} ran" for number in range(4)]
    (tmp_path / "one").mkdir()
    whole = write(tmp_path / "one", "\n".join(texts))
    for processes in (1, 3):
        folder = tmp_path / f"with-{processes}"
        folder.mkdir()
        said = []
        made = write(folder, *texts, processes=processes, say=said.append)
        assert made.words == whole.words
        assert made.counts.tolist() == whole.counts.tolist()
        assert made.ids().tolist() == whole.ids().tolist()
        assert said == [f"reading {folder / f'{number}.txt'}" for number in range(4)]
        assert sorted(path.name for path in folder.iterdir()) == [
            *[f"{number}.txt" for number in range(4)], "corpus.ids", "corpus.json"
        ]  # fmt: skip


def test_a_fault_in_another_process_is_told_as_here(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus_file, "WORTH_A_PROCESS", 1)
    good, bad = tmp_path / "a.txt", tmp_path / "b.txt"
    good.write_text("one two")
    bad.write_bytes(b"fine\ncaf\xe9\n")
    for processes in (1, 2):
        with pytest.raises(
            InputError, match=r"b.txt, row 2: not valid UTF-8 \(byte 0xe9"
        ) as caught:
            write_corpus_file([good, bad], TEXT, tmp_path, min_count=1, processes=processes)
        assert (caught.value.source, caught.value.row) == (str(bad), 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "b.txt"]


def test_a_missing_part_in_another_process_is_told_as_here(tmp_path):
    (tmp_path / "a.txt").write_text("text")
    settings_ = json.dumps({**TEXT.to_dict(), "unit": "bpe"})
    main(str(tmp_path / "a.txt"), str(tmp_path / "ids"), settings_)
    with pytest.raises(ConfigError, match="text.unit 'bpe' makes sub-words"):
        answered(tmp_path / "ids")


def test_the_vocabulary_can_be_limited(tmp_path):
    made = write(tmp_path, "a a a b b c", size=2)
    assert (made.words, spelt(made)) == (["a", "b"], [["a", "a", "a", "b", "b"]])


def test_sentences_of_which_nothing_is_left_are_gone(tmp_path):
    made = write(tmp_path, "a b\nrare\n\na b\nodd ones\n", min_count=2)
    assert spelt(made) == [["a", "b"], ["a", "b"]]


def test_long_lines_are_split_and_not_cut(tmp_path):
    made = write(tmp_path, "a b a b a\nb a", text=TextConfig(max_tokens=2))
    assert spelt(made) == [["a", "b"], ["a", "b"], ["a"], ["b", "a"]]


def test_what_is_too_long_for_a_word_is_counted(tmp_path):
    made = write(tmp_path, f"a b {'x' * (LONGEST_WORD + 1)} a b {'y' * LONGEST_WORD}")
    assert made.num_overlong == 1
    assert set(made.words) == {"a", "b", "y" * LONGEST_WORD}


def test_remembered_pieces_change_nothing():
    lines = ["don't stop", "don't, stop!", "x" * 50, "don't stop", "", " a  b "]
    numbering, ids = CorpusIds(TEXT), []
    numbering.encode(lines, ids)
    expected = [WordTokenizer(TEXT).words(line) for line in lines]
    spelt_ = [numbering.words[number] if number != END else "/" for number in ids]
    assert spelt_ == [token for line in expected if line for token in [*line, "/"]]


@few
@given(sentences, st.integers(1, 9))
def test_stretches_cover_whole_sentences(tmp_path_factory, lines, size):
    made = write(tmp_path_factory.mktemp("corpus"), "x y\n" + "\n".join(lines))
    cuts, ids = made.stretches(size), made.ids()
    assert (cuts[0], cuts[-1]) == (0, len(ids))
    assert (np.diff(cuts) > 0).all()
    assert all(ids[cut - 1] == END for cut in cuts[1:])
    assert all(np.diff(cuts)[:-1] >= size)


def test_a_corpus_is_found_again(tmp_path):
    made = write(tmp_path, "the cat sat on the mat")
    again = open_corpus_file(tmp_path)
    assert (again.words, again.ids().tolist()) == (made.words, made.ids().tolist())
    assert again.counts.tolist() == made.counts.tolist()
    made.path.write_bytes(made.path.read_bytes()[:-4])
    assert open_corpus_file(tmp_path) is None
    assert open_corpus_file(tmp_path / "none") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "0.txt: holds no words"),
        ("\n \n\t\n", "0.txt: holds no words"),
        ("word word word", r"expected at least 2 words .* found 1 among 1"),
        ("a b c", r"words that occur 2 times or more \(vocabulary.min_count\), found 0 among 3"),
    ],
)
def test_a_corpus_with_nothing_to_learn_from_is_refused(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        write(tmp_path, text, min_count=2)


def joined_slowly(lines, counts, min_count, threshold):
    """Equation 6 and a walk from left to right, as one would write them down."""
    pairs = Counter(pair for line in lines for pair in zip(line, line[1:], strict=False))
    total = sum(counts.values())
    phrases = {
        pair
        for pair, count in pairs.items()
        if count >= min_count
        and (count - min_count) / (counts[pair[0]] * counts[pair[1]]) * total > threshold
    }
    made = []
    for line in lines:
        place, words = 0, []
        while place < len(line):
            pair = tuple(line[place : place + 2])
            words.append("_".join(pair) if pair in phrases else line[place])
            place += 2 if pair in phrases else 1
        made.append(words)
    return made


@few
@given(
    st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=9), min_size=2, max_size=15),
    st.integers(1, 3),
    st.sampled_from([0.2, 0.5, 1.0, 2.0]),
)
def test_phrases_are_those_of_the_paper(tmp_path_factory, lines, min_count, threshold):
    lines = [["a", "b", "a", "b"], *lines]
    counts = Counter(token for line in lines for token in line)
    expected = joined_slowly(lines, counts, min_count, threshold)
    text = "\n".join(" ".join(line) for line in lines)
    once = Phrases(passes=1, threshold=threshold)
    options = {"text": TextConfig(unit="whitespace"), "phrases": once}
    found = Counter(token for line in expected for token in line)
    if len([token for token in found if found[token] >= min_count]) < 2:
        return
    made = write(tmp_path_factory.mktemp("corpus"), text, min_count=min_count, **options)
    kept = [[token for token in line if found[token] >= min_count] for line in expected]
    assert spelt(made) == [line for line in kept if line]


def test_phrases_grow_from_pass_to_pass(tmp_path):
    text = "\n".join(["new york times said"] * 6 + ["some"] * 3 + ["old york road"])
    said = []
    phrases = Phrases(passes=2, threshold=1.0)
    made = write(tmp_path, text, phrases=phrases, min_count=2, say=said.append)
    assert "new_york_times_said" in made.words
    assert said[1:] == ["phrases, pass 1: 3 found", "phrases, pass 2: 1 found"]
