"""Bad input for `softquery probe`."""

import lzma
from pathlib import Path

from hostile_cases import ANY, BROKEN_XZ, Case, both, cut, file, gone

BROKEN_COMMENTS = lzma.compress(b"".join(b"# %d\n" % number for number in range(9999)))[:2048]

SENSES = "probe senses --data senses --model elmo"
TAGS = "probe tags --data tags --model elmo"
TEXTS = "senses/semcor/brown1/tagfiles"


def emptied(place: Path) -> None:
    """A SemCor of one document."""
    for path in sorted((place / TEXTS).iterdir())[1:]:
        path.unlink()


def without_semcor(place: Path) -> None:
    (place / "senses" / "semcor").rename(place / "senses" / "other")


PROBE_SENSES = [
    Case(
        title="nothing to look into",
        command="probe senses --data senses",
        said="name what to look into: --model, --vectors, or both",
    ),
    Case(
        title="no `--data`",
        command="probe senses --model elmo",
        said="missing option '--data'; see softquery probe senses --help",
    ),
    Case(
        title="a data folder that is not there",
        command="probe senses --data none --model elmo",
        said="none: no such folder (No such file or directory)",
    ),
    Case(
        title="a folder without SemCor",
        command=SENSES,
        damage=without_semcor,
        said="senses: no SemCor, such as semcor3.0.tar.xz or a folder semcor; found: other, small",
    ),
    Case(
        title="SemCor as an archive that breaks off",
        command=SENSES,
        damage=both(without_semcor, file("senses/semcor.tar.xz", BROKEN_XZ)),
        said=f"senses/semcor.tar.xz: not a readable tar archive ({ANY})",
    ),
    Case(
        title="a line that is not SemCor's",
        command=SENSES,
        damage=file(f"{TEXTS}/br-x00", "<s snum=1>\nbank\n</s>\n"),
        said=f"{TEXTS}/br-x00, row 2: expected <wf …>word</wf> or another mark of SemCor, "
        'found "bank"',
    ),
    Case(
        title="a text in another encoding",
        command=SENSES,
        damage=file(f"{TEXTS}/br-x00", b"<s snum=1>\n<punc>\xe9</punc>\n</s>\n"),
        said=f"{TEXTS}/br-x00, row 2: not valid UTF-8 (byte 0xe9)",
    ),
    Case(
        title="too few documents to hold some out",
        command=SENSES,
        damage=emptied,
        said="senses/semcor: of 1 document, 10% cannot be held out",
    ),
    Case(
        title="a further set without its keys",
        command=SENSES,
        damage=gone("senses/small/small.gold.key.txt"),
        said="senses/small: expected one *.data.xml and one *.gold.key.txt, found 1 and 0",
    ),
    Case(
        title="a further set in broken XML",
        command=SENSES,
        damage=cut("senses/small/small.data.xml"),
        said=f"senses/small/small.data.xml: not valid XML ({ANY})",
    ),
    Case(
        title="a model that does not exist",
        command="probe senses --data senses --model elmo-xx",
        said=f"no model called 'elmo-xx'; {ANY}shipped: {ANY}; local: none",
    ),
    Case(
        title="a matcher in place of a biLM",
        command="probe senses --data senses --model model",
        said="model: expected a model of words in context, found 'esim'",
    ),
    Case(
        title="a picture that is no PNG",
        command=f"{SENSES} --plot senses.pdf",
        said="--plot must end in .png, got 'senses.pdf'",
    ),
    Case(
        title="a picture in a folder that is not there",
        command=f"{SENSES} --plot none/senses.png",
        said="none/senses.png: cannot be written (no such folder)",
    ),
    Case(
        title="a share of documents that is none",
        command=f"{SENSES} --held-out 2",
        said=f"invalid value for '--held-out': {ANY}; see softquery probe senses --help",
    ),
]

PROBE_TAGS = [
    Case(
        title="nothing to look into",
        command="probe tags --data tags",
        said="name what to look into: --model, --vectors, or both",
    ),
    Case(
        title="a data folder that is not there",
        command="probe tags --data none --model elmo",
        said="none: no such folder (No such file or directory)",
    ),
    Case(
        title="a file in place of the data folder",
        command="probe tags --data test.tsv --model elmo",
        said="test.tsv: is a file, expected a folder",
    ),
    Case(
        title="no text to measure on",
        command=TAGS,
        damage=gone("tags/dev.conllu"),
        said="tags: no file for dev, such as dev.txt or dev.jsonl.gz; found: train.conllu",
    ),
    Case(
        title="two files for one split",
        command=TAGS,
        damage=file("tags/dev.tsv", ""),
        said="tags: expected one file for dev, found dev.conllu, dev.tsv",
    ),
    Case(
        title="a line with too few columns",
        command=TAGS,
        damage=file("tags/train.conllu", "1\tcat\tNOUN\n"),
        said="tags/train.conllu, row 1: expected 10 columns, found 3",
    ),
    Case(
        title="a word without a tag",
        command=TAGS,
        damage=file("tags/train.conllu", "1\tcat" + "\t_" * 8 + "\n"),
        said="tags/train.conllu, row 1: expected a tag for this word, found _",
    ),
    Case(
        title="an empty file",
        command=TAGS,
        damage=file("tags/train.conllu", ""),
        said="tags/train.conllu: is empty",
    ),
    Case(
        title="an .xz that breaks off",
        command=TAGS,
        damage=both(gone("tags/train.conllu"), file("tags/train.conllu.xz", BROKEN_COMMENTS)),
        said=f"tags/train.conllu.xz, row {ANY}: the compressed file breaks off here (truncated); "
        "fetch or compress it again",
    ),
    Case(
        title="`--vectors` that are not there",
        command="probe tags --data tags --vectors glove.txt",
        said="glove.txt: no such file",
    ),
    Case(
        title="`--vectors` of other words",
        command="probe tags --data tags --vectors glove.txt",
        damage=file("glove.txt", "zebra 0.5 0.5\n"),
        said="glove.txt: holds no vector for any word of the text",
    ),
    Case(
        title="answers that lead to a full disk",
        command=f"{TAGS} --json",
        answers="/dev/full",
        said="standard output: cannot be written (no space left on the disk)",
    ),
]
