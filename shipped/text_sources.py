"""Where the texts of the sentence encoders come from: free files, and their licences.

Training reads only the files in `FREE`; `Library` refuses every other one. The files in `HELD_OUT`
are what encoders are measured with. They are opened for one purpose, to leave equal texts out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from measured_faqs import measured_texts

from softquery.errors import InputError
from softquery.files import open_text, read_questions, read_rows

Part = tuple[int, str, str]
"""The last line of a part of a file, counted from one, what the part is, and its licence."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """A file that may be trained on."""

    path: str
    licence: str = ""
    note: str = ""
    parts: tuple[Part, ...] = ()


REQUESTS_EN: tuple[Part, ...] = (
    (112_137, "Schema-Guided Dialogue, user turns", "CC BY-SA 4.0"),
    (116_237, "Taskmaster-4, user turns", "CC BY 4.0"),
    (129_345, "MultiWOZ in ConvLab-3, user turns", "MIT, Apache-2.0"),
    (135_707, "MultiDoGO, user turns", "CDLA Permissive 1.0"),
    (169_343, "STAR, user turns", "MIT"),
    (182_021, "Snips NLU benchmark", "CC0 1.0"),
    (191_622, "SLURP", "CC BY 4.0"),
    (196_057, "NLU Evaluation Data", "CC BY 4.0"),
    (207_849, "PolyAI restaurant8k, nlupp", "CC BY 4.0"),
    (232_907, "Query Wellformedness", "CC BY-SA 4.0"),
    (238_705, "WebQuestions, brmson", "CC BY 4.0"),
    (245_877, "Natural Questions Open", "CC BY-SA 3.0"),
    (275_502, "StaQC, Stack Overflow titles", "CC BY 4.0, CC BY-SA"),
    (281_392, "Bot Framework, small talk", "MIT"),
    (291_608, "Bot Framework, skills", "MIT"),
    (300_731, "DSTC9 and DSTC10, questions to services", "Apache-2.0"),
    (305_694, "Microsoft Docs, headings that ask", "CC BY 4.0"),
)
REQUESTS_ZH: tuple[Part, ...] = (
    (7_378, "CrossWOZ in ConvLab-3, user turns", "Apache-2.0"),
    (22_097, "MultiWOZ-zh in ConvLab-3, user turns", "Apache-2.0, MIT"),
    (39_186, "KdConv, both sides", "Apache-2.0"),
    (51_636, "Bot Framework, small talk", "MIT"),
    (54_974, "Bot Framework, skills", "MIT"),
    (59_639, "Azure Docs, headings that ask", "CC BY 4.0"),
)
PARALLEL: tuple[Part, ...] = (
    (994, "UD Chinese PUD", "CC BY-SA 3.0"),
    (3_959, "TICO-19", "CC0 1.0"),
    (7_535, "CrossWOZ-en, by people", "Apache-2.0"),
    (11_050, "MultiWOZ-zh, by people", "Apache-2.0, MIT"),
    (13_394, "mozilla.org", "MPL-2.0"),
    (23_441, "CrossWOZ-en, by machine", "Apache-2.0"),
    (47_274, "MultiWOZ-zh, by machine", "Apache-2.0, MIT"),
    (95_225, "Kubernetes documentation", "CC BY 4.0"),
    (150_613, "Python documentation", "CC0 1.0, PSF"),
)
FAQ = "Apache-2.0, CC BY 4.0"
WIKIPEDIA = "CC BY-SA"

FREE: dict[str, Source] = {
    "requests_en": Source(path="requests/requests_en.txt.xz", parts=REQUESTS_EN),
    "requests_zh": Source(path="requests/requests_zh.txt.xz", parts=REQUESTS_ZH),
    "parallel": Source(path="requests/parallel_zh_en.tsv.xz", parts=PARALLEL),
    "faq_en": Source(path="requests/faq_en.tsv.xz", licence=FAQ, note="services, documentation"),
    "faq_zh": Source(path="requests/faq_zh.tsv.xz", licence="CC BY 4.0", note="documentation"),
    "squad": Source(
        path="qa/squad1.1/train.json.xz", licence="CC BY-SA", note="questions of SQuAD 1.1"
    ),
    "cmrc2018": Source(
        path="qa/cmrc2018/train.json.xz", licence="CC BY-SA", note="questions, sentences"
    ),
    "boolq": Source(path="pairs/boolq/train.tsv.xz", licence="CC BY-SA 3.0", note="questions"),
    "fever": Source(path="pairs/fever_evidence/train.tsv.xz", licence="CC BY-SA", note="claims"),
    "snli_100k": Source(path="pairs/snli_100k/train.tsv.xz", licence="CC BY-SA 4.0"),
    "snli_cad": Source(path="pairs/snli_cad/train.tsv.xz", licence="Apache-2.0"),
    "pawsx_zh": Source(path="pairs/pawsx_zh/train.tsv.xz", licence="free with attribution"),
    "tatoeba_deu_eng": Source(path="seq2seq/tatoeba_deu_eng/all.txt.xz", licence="CC BY 2.0"),
    "tatoeba_cmn_eng": Source(path="seq2seq/tatoeba_cmn_eng/all.txt.xz", licence="CC BY 2.0"),
    "ud_english_ewt": Source(
        path="tagging/ud_english_ewt/train.conllu.xz", licence="CC BY-SA 4.0", note="the web"
    ),
    **{
        f"enwiki-2015/{shard}": Source(
            path=f"lm/enwiki-2015/train-{shard:02d}.txt.xz", licence=WIKIPEDIA
        )
        for shard in range(7)
    },
    **{
        f"zhwiki-2020/{shard}": Source(
            path=f"lm/zhwiki-2020/train-{shard:02d}.txt.xz", licence=WIKIPEDIA
        )
        for shard in range(2)
    },
}
"""Files that are free with a note on the card. DRCD, in Traditional characters, is not used."""

HELD_OUT: dict[str, tuple[str, ...]] = {
    "en": ("pairs/stsb_en/dev*", "pairs/qqp_20k/dev*", "intents/*/dev*", "intents/*/test*"),
    "zh": (
        *(f"pairs/{name}/dev*" for name in ("lcqmc", "bq", "afqmc", "chinese_stsb")),
        "intents/zh_*/dev*",
        "intents/zh_*/test*",
    ),
}
"""What encoders are measured with, by language."""


@dataclass(frozen=True, slots=True)
class Library:
    """A folder of data sets of which only the free files are read."""

    folder: Path

    def path(self, name: str) -> Path:
        """Where a free file lies; any other name is refused."""
        if name not in FREE:
            raise InputError("is not among the files that may be trained on", source=name)
        return self.folder / FREE[name].path

    def lines(self, name: str) -> Iterator[tuple[int, str]]:
        """The lines of a free file, numbered from one."""
        with open_text(self.path(name)) as lines:
            yield from enumerate(lines, 1)

    def cells(self, name: str, *columns: str) -> Iterator[tuple[str, ...]]:
        """Some columns of a free table."""
        for row in read_rows(self.path(name), columns=columns):
            yield tuple(row.values[column] for column in columns)

    def questions(self, name: str) -> Iterator[tuple[str, str]]:
        """The questions of a free reading set, each with its context."""
        for asked in read_questions(self.path(name), answers="ignored"):
            yield asked.question, asked.context

    def articles(self, name: str) -> Iterator[tuple[str, list[str]]]:
        """Titles and paragraphs of a shard of Wikipedia."""
        title, paragraphs = "", list[str]()
        for _, line in self.lines(name):
            if line.startswith("= ") and line.endswith(" ="):
                if paragraphs:
                    yield title, paragraphs
                title, paragraphs = line[2:-2], []
            elif len(line) > 80:
                paragraphs.append(line)
        if paragraphs:
            yield title, paragraphs

    def held_out(self, language: str) -> Iterator[str]:
        """Every text that is measured with: to be left out, and for nothing else."""
        yield from measured_texts(language)
        for pattern in HELD_OUT[language]:
            for path in sorted(self.folder.glob(pattern)):
                names = ("text",) if path.is_relative_to(self.folder / "intents") else PAIR
                for row in read_rows(path, columns=names):
                    yield from (row.values[name] for name in names)


PAIR = ("sentence1", "sentence2")


def part_of(source: str, line: int) -> str:
    """The part of a file to which a line belongs.

    >>> part_of("requests_zh", 7_379)
    'requests_zh: MultiWOZ-zh in ConvLab-3, user turns'
    """
    for last, name, _ in FREE[source].parts:
        if line <= last:
            return f"{source}: {name}"
    raise InputError(f"line {line:,} belongs to no known part", source=source)


def licences() -> dict[str, tuple[str, str]]:
    """Licence and note by source, or by part where a file has parts."""
    found = {name: (source.licence, source.note) for name, source in FREE.items()}
    for name, source in FREE.items():
        found |= {f"{name}: {part}": (licence, "") for _, part, licence in source.parts}
    return found
