"""Record what every shipped model answers, byte for byte, to compare two versions of the package.

A change of structure must change no answer. Only the command line is used, whose verbs and options
are a contract, so the script runs against any version: record one, record the other on the same
machine (processors round differently), and compare.

    python tests/endurance/recorded_answers.py record --source OLD/src --output old.json
    python tests/endurance/recorded_answers.py record --source src --output new.json
    python tests/endurance/recorded_answers.py compare old.json new.json
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

PAIRS = [
    ("Two dogs are running through a field.", "Some animals are outdoors."),
    ("Two dogs are running through a field.", "The dogs are asleep."),
    ("How can I learn to play the guitar?", "What is the best way to start playing guitar?"),
    ("花呗怎么提额", "如何提高花呗额度"),
    ("花呗怎么提额", "今天天气怎么样"),
    ("ＡＢＣ １２３！ don't", "naïve café — “quoted” text…"),
    ("x", "word " * 150),
]
TEXTS = [
    "A quiet film that grows on you.",
    "Not bad, but not good either: a dull, lifeless mess with 2 jokes.",
    "Ada Lovelace lived in London. They can fish.",
    "他在北京大学读书。",
    "long " * 200,
]
QUESTIONS = [
    ("Who wrote it?", "The letter was written by Anna Schmidt, a teacher from Leipzig."),
    ("When was the tower built?", "The tower was built in 1889. " * 12),
    ("Why?", "Nobody knows. " + "Some say that it rained all day and night. " * 40),
]
GERMAN = ["Ein Hund läuft.", "Wenn es morgen regnet, bleiben wir zu Hause.", "Guten Tag, 3 Bier!"]
UPPER_LINES = ["一帆风顺年年好", "春风又绿江南岸", "海内存知己"]
CONTEXT_MODELS = ("elmo-en", "bert-mini-en")
MATCHERS = ("match-en", "match-zh", "nli-en")
SHIPPED = (*MATCHERS, "sentiment-en", "tagger-en", "read-en", "couplet-zh", "translate-de-en",
           *CONTEXT_MODELS)  # fmt: skip


class Recorder:
    """Runs commands of one version in a scratch folder and keeps digests of what they answer."""

    def __init__(self, source: Path, folder: Path) -> None:
        self.source, self.folder = source, folder
        self.digests: dict[str, str] = {}
        self.outputs: dict[str, str] = {}
        self.environment = {**os.environ, "PYTHONPATH": str(source.resolve()),
                            "OMP_NUM_THREADS": "1", "COLUMNS": "100"}  # fmt: skip

    def run(self, *arguments: str) -> str:
        command = [sys.executable, "-m", "softquery", *arguments]
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True
        )
        told = f"exit {done.returncode}: {done.stderr}" if done.returncode else done.stdout
        return told.replace(str(self.source.resolve()), "SOURCE")

    def keep(self, name: str, text: str) -> None:
        assert name not in self.digests, name
        self.digests[name] = hashlib.sha256(text.encode("utf-8")).hexdigest()
        self.outputs[name] = text if len(text) < 20_000 else text[:20_000]
        print(f"{self.digests[name][:12]}  {name}", flush=True)

    def command(self, name: str, *arguments: str) -> None:
        self.keep(name, self.run(*arguments))

    def bulk(self, name: str, *arguments: str) -> None:
        """A verb that writes a file: the file is what is kept."""
        output = self.folder / "answers.jsonl"
        output.unlink(missing_ok=True)
        told = self.run(*arguments, "--output", output.name)
        self.keep(name, output.read_text(encoding="utf-8") if output.exists() else told)

    def vectors(self, name: str, *arguments: str) -> None:
        output = self.folder / "vectors.npz"
        output.unlink(missing_ok=True)
        told = self.run(*arguments, "--output", output.name)
        if not output.exists():
            self.keep(name, told)
            return
        with np.load(output) as arrays:
            parts = [f"{key} {arrays[key].dtype} {arrays[key].shape} "
                     + hashlib.sha256(arrays[key].tobytes()).hexdigest()
                     for key in arrays.files]  # fmt: skip
        self.keep(name, "\n".join(parts))


def write_inputs(folder: Path) -> None:
    """The files that the bulk verbs read."""
    lines = [{"sentence1": one, "sentence2": other} for one, other in PAIRS * 5]
    write_jsonl(folder / "pairs.jsonl", lines)
    write_jsonl(folder / "texts.jsonl", [{"text": text} for text in TEXTS * 5])
    (folder / "texts.txt").write_text("\n".join(TEXTS * 3) + "\n", encoding="utf-8")
    questions = [{"question": one, "context": other} for one, other in QUESTIONS * 3]
    write_jsonl(folder / "questions.jsonl", questions)
    write_jsonl(folder / "german.jsonl", [{"source": text} for text in GERMAN * 4])
    write_jsonl(folder / "upper.jsonl", [{"source": text} for text in UPPER_LINES * 4])
    candidates = "\n".join(sorted({text for pair in PAIRS for text in pair}))
    (folder / "candidates.txt").write_text(candidates + "\n", encoding="utf-8")
    faq = Path(__file__).resolve().parents[2] / "examples" / "shop_faq.csv"
    (folder / "faq.csv").write_bytes(faq.read_bytes())
    labelled = "".join(f"{one}\t{other}\t{int(k % 2 == 0)}\n" for k, (one, other) in
                       enumerate(PAIRS * 4))  # fmt: skip
    (folder / "labelled.tsv").write_text(
        "sentence1\tsentence2\tlabel\n" + labelled, encoding="utf-8"
    )
    rows = "".join(f"{text}\t{label}\n" for text, label in
                   zip(TEXTS * 4, ["positive", "negative"] * 10, strict=True))  # fmt: skip
    (folder / "classes.tsv").write_text("text\tlabel\n" + rows, encoding="utf-8")
    sides = "".join(f"{text}\tA dog runs.\n" for text in GERMAN * 4)
    (folder / "sides.tsv").write_text("source\ttarget\n" + sides, encoding="utf-8")
    words = "".join("They\tPRON\ncan\tAUX\nfish\tVERB\n.\tPUNCT\n\n" for _ in range(6))
    (folder / "tagged.conll").write_text(words, encoding="utf-8")
    answered = [
        {
            "question": question,
            "context": context,
            "answers": [{"text": context.split()[0], "answer_start": 0}],
        }
        for question, context in QUESTIONS * 4
    ]
    write_jsonl(folder / "answered.jsonl", answered)


def write_jsonl(path: Path, rows: list[dict[str, object]]) -> None:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8")


def record_model(recorder: Recorder, name: str, model: str, how: tuple[str, ...]) -> None:
    """Every verb that the model answers, one way of computing."""
    told = f"{Path(model).name} {' '.join(how)}"
    if name in MATCHERS:
        recorder.bulk(f"match {told}", "match", "--pairs", "pairs.jsonl", "--model", model, *how)
        recorder.command(f"rank {told}", "rank", PAIRS[0][0], "--candidates", "candidates.txt",
                         "--model", model, "--json", *how)  # fmt: skip
    elif name == "sentiment-en":
        recorder.bulk(f"classify {told}", "classify", "--input", "texts.jsonl", "--model", model,
                      *how)  # fmt: skip
    elif name == "tagger-en":
        recorder.bulk(f"tag {told}", "tag", "--input", "texts.txt", "--model", model, *how)
    elif name == "read-en":
        recorder.bulk(f"read {told}", "read", "--input", "questions.jsonl", "--model", model, *how)
    elif name in ("couplet-zh", "translate-de-en"):
        source = "upper.jsonl" if name == "couplet-zh" else "german.jsonl"
        recorder.bulk(f"generate {told}", "generate", "--input", source, "--model", model, *how)
    else:
        recorder.vectors(f"embed {told}", "embed", "texts.txt", "--model", model, *how)


def record_views(recorder: Recorder, name: str, model: str) -> None:
    """Explanations, measurements and calibration of a model as shipped."""
    how = ("--threads", "1")
    for place, (one, other) in enumerate(PAIRS[:4] if name in MATCHERS else ()):
        for ending in ("json", "svg", "html"):
            told = recorder.run("explain", one, other, "--model", model, "--output",
                                f"why.{ending}")  # fmt: skip
            written = (recorder.folder / f"why.{ending}").read_text(encoding="utf-8")
            recorder.keep(f"explain {name} {place} {ending}", told + written)
    if name == "sentiment-en":
        recorder.command("classify one", "classify", TEXTS[0], "--explain", "text.svg", *how)
        recorder.keep("classify svg", (recorder.folder / "text.svg").read_text(encoding="utf-8"))
        recorder.command("evaluate classes", "evaluate", model, "--data", "classes.tsv", "--json")
    if name == "tagger-en":
        recorder.command("tag one", "tag", TEXTS[2], *how)
        recorder.command("evaluate tags", "evaluate", model, "--data", "tagged.conll", "--json")
    if name == "read-en":
        recorder.command("read one", "read", QUESTIONS[0][0], "--context", QUESTIONS[0][1], *how)
        recorder.command(
            "evaluate answers", "evaluate", model, "--data", "answered.jsonl", "--json"
        )
    if name == "translate-de-en":
        recorder.command(
            "generate one", "generate", GERMAN[1], "--n-best", "3", "--beam", "4", *how
        )
        recorder.command("evaluate texts", "evaluate", model, "--data", "sides.tsv", "--json")
    if name == "couplet-zh":
        recorder.command("couplet", "generate", UPPER_LINES[0], "--model", model, "--n-best", "3",
                         "--rules", "all", *how)  # fmt: skip
    if name == "match-en":
        recorder.command("match one", "match", *PAIRS[2], "--model", model, *how)
        recorder.command("evaluate pairs", "evaluate", model, "--data", "labelled.tsv", "--json",
                         "--slice", "length")  # fmt: skip


def record_index(recorder: Recorder, model: str, language: str) -> None:
    """An index, and what it finds."""
    recorder.command(f"index {language}", "index", "faq.csv", "--output", f"{language}.sq",
                     "--columns", f"question=question_{language},answer=answer_{language}",
                     "--model", model, "--min-score", "0.1", "--json")  # fmt: skip
    queries = {"en": ["How can I get a new password?", "refund", "opening hours on Sunday"],
               "zh": ["忘记密码了怎么办", "退款", "星期天几点开门"]}  # fmt: skip
    for query in queries[language]:
        recorder.command(f"search {language} {query}", "search", f"{language}.sq", query, "--top",
                         "5", "--json")  # fmt: skip


def record(source: Path, output: Path) -> None:
    with TemporaryDirectory() as scratch:
        recorder = Recorder(source, Path(scratch))
        write_inputs(recorder.folder)
        for name in SHIPPED:
            for threads in ("1", "2"):
                for backend in ("onnx", "torch"):
                    how = ("--threads", threads, "--backend", backend)
                    record_model(recorder, name, name, how)
            plain = f"{name}.float32"
            recorder.command(f"export {name}", "export", name, "--output", plain)
            for threads in ("1", "2"):
                how = ("--threads", threads, "--backend", "onnx")
                record_model(recorder, name, str(recorder.folder / plain), how)
            for graph in sorted((recorder.folder / plain / "onnx").glob("*.onnx")):
                digest = hashlib.sha256(graph.read_bytes()).hexdigest()
                recorder.keep(f"graph {name} {graph.name}", digest)
            record_views(recorder, name, name)
        record_index(recorder, "match-en", "en")
        record_index(recorder, "match-zh", "zh")
        recorder.command("models", "models", "--json")
    whole = {"digests": recorder.digests, "outputs": recorder.outputs}
    output.write_text(json.dumps(whole, ensure_ascii=False, indent=1), encoding="utf-8")


def compare(old: Path, new: Path) -> int:
    """Print what differs, and say how many records do."""
    before, after = (json.loads(path.read_text(encoding="utf-8")) for path in (old, new))
    names = {**before["digests"], **after["digests"]}
    differing = [name for name in names
                 if before["digests"].get(name) != after["digests"].get(name)]  # fmt: skip
    for name in differing:
        print(f"differs: {name}")
        print(f"  before: {before['outputs'].get(name, '(none)')[:400]!r}")
        print(f"  after:  {after['outputs'].get(name, '(none)')[:400]!r}")
    print(f"{len(names) - len(differing)} of {len(names)} records are the same")
    return len(differing)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    recording = verbs.add_parser("record")
    recording.add_argument("--source", type=Path, required=True)
    recording.add_argument("--output", type=Path, required=True)
    comparing = verbs.add_parser("compare")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    given = parser.parse_args()
    if given.verb == "record":
        record(given.source, given.output)
    else:
        sys.exit(1 if compare(given.old, given.new) else 0)


if __name__ == "__main__":
    main()
