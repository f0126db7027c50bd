"""SemCor and sense tasks, from folders and from archives."""

import tarfile

import pytest

from shared_data import shared_data
from small_senses import KEYS, MONEY, RIVER, SAID, TASK, bank, document, write_senses
from softquery.errors import InputError
from softquery.files.senses import (
    SenseMention,
    SenseWord,
    find_senses,
    read_semcor,
    read_sense_task,
)


def semcor(folder, *sentences):
    texts = folder / "tagfiles"
    texts.mkdir()
    (texts / "br-x01").write_text(document(*sentences), encoding="utf-8")
    return folder


def pack(folder, archive):
    with tarfile.open(archive, f"w:{archive.suffix[1:].replace('tar', '')}") as made:
        made.add(folder, arcname=folder.name)
    return archive


def test_words_with_their_senses(tmp_path):
    first, second = read_semcor(semcor(tmp_path, bank(RIVER, 2), SAID))
    assert first.tokens == ["The", "bank", "by", "rivers", "."]
    assert first.document == second.document == "tagfiles/br-x01"
    word = SenseWord("bank", "n")
    assert first.sensed == [
        SenseMention(1, 2, word, (f"bank%{RIVER}",), (2,))
    ]  # the name is left out
    assert second.tokens == ["said", '"', "took", "place", "odd"]
    assert [each.word for each in second.sensed] == [
        SenseWord("say", "v"),
        SenseWord("take_place", "v"),
    ]
    assert (second.sensed[1].start, second.sensed[1].end) == (2, 4)


def test_a_word_with_two_senses(tmp_path):
    line = "<wf cmd=done pos=NN lemma=Year wnsn=2;1 lexsn=1:28:02::;1:28:01::>year</wf>"
    (sentence,) = read_semcor(semcor(tmp_path, f"<s snum=1>\n{line}\n</s>\n"))
    (sensed,) = sentence.sensed
    assert sensed.senses == ("year%1:28:02::", "year%1:28:01::")
    assert (sensed.word, sensed.numbers) == (SenseWord("year", "n"), (2, 1))


def test_satellite_adjectives_are_adjectives(tmp_path):
    line = "<wf cmd=done pos=JJ lemma=recent wnsn=2 lexsn=5:00:00:past:00>recent</wf>"
    (sentence,) = read_semcor(semcor(tmp_path, f"<s snum=1>\n{line}\n</s>\n"))
    assert sentence.sensed[0].word == SenseWord("recent", "a")


@pytest.mark.parametrize("ending", [".tar", ".tar.gz", ".tar.xz", ".tar.bz2"])
def test_an_archive_is_read_like_its_folder(tmp_path, ending):
    data = write_senses(tmp_path / "data", num_documents=3)
    whole = read_semcor(data / "semcor")
    archive = pack(data / "semcor", tmp_path / f"semcor3.0{ending}")
    packed = read_semcor(archive)
    assert [each.tokens for each in packed] == [each.tokens for each in whole]
    assert len({each.document for each in packed}) == 3
    task = pack(data / "small", tmp_path / f"small{ending}")
    assert read_sense_task(task) == read_sense_task(data / "small")
    found = find_senses(tmp_path)
    assert found.semcor == archive
    assert found.others.keys() == {"data", "small"}


def test_a_task_with_its_keys(tmp_path):
    (sentence,) = read_sense_task(write_senses(tmp_path) / "small")
    assert sentence.tokens == ["A", "bank", "by", "rivers", "took", "place", "sang"]
    assert [each.senses for each in sentence.sensed] == [
        (f"bank%{RIVER}",),
        ("take_place%2:30:00::", "take_place%2:30:01::"),
        ("sing%2:36:00::",),
    ]
    assert (sentence.sensed[1].start, sentence.sensed[1].end) == (4, 6)
    assert sentence.sensed[1].word == SenseWord("take_place", "v")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("<wf cmd=done>open", 'row 5: expected <wf …>word</wf> .*found "<wf cmd=done>open"'),
        ("plain text", 'row 5: .*found "plain text"'),
        ("<wf lemma=a wnsn=1 lexsn=9:00:00::>a</wf>", "row 5: expected lemma"),
        ("<wf wnsn=1 lexsn=1:00:00::>a</wf>", "row 5: expected lemma"),
        ("<wf lemma=a wnsn=1;2 lexsn=1:00:00::>a</wf>", "row 5: expected lemma"),
        ("<wf lemma=a lexsn=1:00:00::>a</wf>", "row 5: expected lemma"),
    ],
)
def test_a_damaged_line_is_named(tmp_path, line, said):
    with pytest.raises(InputError, match=f"tagfiles/br-x01, {said}"):
        read_semcor(semcor(tmp_path, f"<s snum=1>\n{line}\n</s>\n"))


@pytest.mark.parametrize(
    ("text", "keys", "said"),
    [
        ("<corpus>", KEYS, r"small\.data\.xml: not valid XML \(no element found"),
        (TASK, KEYS.partition("\n")[0], r"the instance 'd000\.s000\.t001' lacks a gold key"),
        (TASK.replace('"NOUN">bank', '"DET">bank'), KEYS, r"'d000\.s000\.t000' lacks .*a pos"),
        (TASK, "d000.s000.t000 river", r"gold\.key\.txt, row 1: expected a name and its keys"),
        ("<corpus/>", KEYS, "holds no word to find the sense of"),
    ],
)
def test_a_damaged_task_is_named(tmp_path, text, keys, said):
    (tmp_path / "small.data.xml").write_text(text)
    (tmp_path / "small.gold.key.txt").write_text(keys)
    with pytest.raises(InputError, match=said):
        read_sense_task(tmp_path)


def test_what_is_missing_is_told(tmp_path):
    (tmp_path / "notes.md").write_text("")
    with pytest.raises(InputError, match=r"no SemCor, such as semcor3\.0\.tar\.xz .*notes\.md"):
        find_senses(tmp_path)
    with pytest.raises(InputError, match="is a file, expected a folder"):
        find_senses(tmp_path / "notes.md")
    with pytest.raises(InputError, match="no such folder"):
        find_senses(tmp_path / "none")
    with pytest.raises(InputError, match="holds no word with a sense"):
        read_semcor(tmp_path)
    with pytest.raises(InputError, match=r"expected one \*\.data\.xml .*found 0 and 0"):
        read_sense_task(tmp_path)


def test_broken_archives_are_told(tmp_path):
    data = write_senses(tmp_path / "data")
    archive = pack(data / "semcor", tmp_path / "semcor.tar.xz")
    content = archive.read_bytes()
    archive.write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match=r"semcor\.tar\.xz: not a readable tar archive"):
        read_semcor(archive)
    archive.write_bytes(b"junk" * 999)
    with pytest.raises(InputError, match=r"semcor\.tar\.xz: not a readable tar archive"):
        read_semcor(archive)
    with pytest.raises(InputError, match=r"none\.tar: no such file"):
        read_semcor(tmp_path / "none.tar")


def test_another_encoding_is_told_with_its_row(tmp_path):
    folder = semcor(tmp_path, bank(MONEY, 1))
    path = folder / "tagfiles" / "br-x01"
    path.write_bytes(path.read_bytes().replace(b"lent", b"l\xe9nt"))
    with pytest.raises(InputError, match=r"br-x01, row 7: not valid UTF-8 \(byte 0xe9\)"):
        read_semcor(folder)


@pytest.mark.data
@pytest.mark.slow
def test_the_real_sets_are_read_whole():
    files = find_senses(shared_data("wsd"))
    sentences = read_semcor(files.semcor)
    assert len(sentences) == 37_176
    assert sum(len(each.sensed) for each in sentences) == 217_295
    assert len({each.document for each in sentences}) == 352
    task = read_sense_task(files.others["semeval2007"])
    assert sum(len(each.sensed) for each in task) == 455
