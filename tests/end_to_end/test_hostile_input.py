"""Bad input: one clear line, exit code 2, nothing half-written; docs/errors shows it."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("lightning_fabric", reason="training needs the extra [train]")

from hostile_cases import ANY, Case
from hostile_distill import write_texts
from hostile_encoders import write_encoder_folders
from hostile_search import write_index
from hostile_tables import CASES
from hostile_train import TRAIN
from hostile_words import write_small_vectors
from running import Answer, finish, settings, softquery
from tiny_bert import settings as head_settings
from tiny_bert import write_base
from tiny_documents import settings as document_settings
from tiny_pairs import english, write_folder, write_tsv
from tiny_tags import named, write_tagged
from tiny_tags import settings as tag_settings
from tiny_text import settings as text_settings
from tiny_text import write_text

from bert_cases import write_bert
from published_elmo import options_of, random_arrays, write_published
from small_elmo import exported_elmo, write_elmo
from small_senses import write_senses, write_tags
from softquery.bundle import read_bundle
from softquery.export import export_matcher, export_tagger
from softquery.export.bert import export_encoder
from softquery.interop import publish_bert
from softquery.recipes import override, recipe
from softquery.running.run_options import RunOptions
from softquery.running.train import train
from warm import launch

READ_FROM = {"evaluate": "model", "models": "model", "export": "model", "match": "exported",
             "rank": "exported", "calibrate": "exported", "explain": "exported",
             "bench": "exported", "embed": "embedder", "vectors": "vectors",
             "fill": "exported encoder",
             "index": "exported", "search": "exported", "tune": "exported"}  # fmt: skip
"""What the verbs that read a model find as `model/`."""
EVERY = [case for cases in CASES.values() for case in cases]
MISTAKE = 2
NOBODY = 65534
BLOCK = 4096
SMALL = settings(training={"max_epochs": 2})
"""Two epochs, so that a run can be interrupted between its first checkpoint and its end."""
SMALL_TEXT = text_settings(training__max_steps=9)
SMALL_HEADS = head_settings(training__max_steps=2)
SMALL_DOCUMENTS = document_settings(training__max_steps=9)
SMALL_TAGS = tag_settings(training__max_epochs=1, data__tune_share=0.1)


class Silent:
    """Watches a run and says nothing; asked to, it interrupts the second epoch."""

    def __init__(self, *, interrupt: bool) -> None:
        self.interrupt = interrupt

    def begin(self, total_steps: int, done: int) -> None: ...

    def step(self, done: int, facts: dict[str, float]) -> None: ...

    def epoch(self, number: int, facts: dict[str, float], improved: bool) -> None:
        if self.interrupt and number == 1:
            raise KeyboardInterrupt


def run_small(data: Path, output: Path, *, interrupt: bool = False, name: str = "esim") -> None:
    run = override(recipe(name), (SMALL_TAGS if name == "tagger" else SMALL)[1::2])
    watch = Silent(interrupt=interrupt)
    train(run, RunOptions(data=data, output=output, observer=watch, say=lambda line: None))


@pytest.fixture(scope="session")
def sound(tmp_path_factory) -> Path:
    """A folder with data, a bundle, and a run that was interrupted after its first epoch."""
    folder = tmp_path_factory.mktemp("sound")
    data = write_folder(folder / "data", english(60), num_dev=10)
    write_tsv(folder / "test.tsv", english(40, seed=2))
    write_text(folder / "text")
    run_small(write_tagged(folder / "tagged", named(160)), folder / "tagger", name="tagger")
    export_tagger(read_bundle(folder / "tagger"), folder / "exported tagger")
    write_senses(folder / "senses")
    write_tags(folder / "tags")
    write_elmo(folder / "elmo")
    encoder = read_bundle(write_bert(folder / "encoder"))
    publish_bert(encoder, folder / "bert")
    export_encoder(encoder, folder / "exported encoder")
    write_encoder_folders(folder)
    write_base(folder / "base", ["Ada sang in Rome. a man eats somebody?"])
    if find_spec("h5py"):
        write_published(folder / "published", options_of(), random_arrays(options_of()))
    run_small(data, folder / "model")
    export_matcher(read_bundle(folder / "model"), folder / "exported")
    write_index(folder, folder / "exported")
    shutil.copytree(exported_elmo(folder / "elmo").bundle, folder / "embedder")
    write_small_vectors(folder / "vectors")
    with pytest.raises(KeyboardInterrupt):
        run_small(data, folder / "interrupted", interrupt=True)
    return folder


@pytest.fixture
def place(sound, tmp_path, monkeypatch) -> Path:
    """A folder of one's own with sound input, entered."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOFTQUERY_HOME", str(tmp_path / "home"))
    shutil.copytree(sound / "data", tmp_path / "data")
    shutil.copy(sound / "test.tsv", tmp_path / "test.tsv")
    shutil.copytree(sound / "text", tmp_path / "text")
    shutil.copytree(sound / "tagged", tmp_path / "tagged")
    return tmp_path


@contextmanager
def set_up(case: Case, sound: Path, place: Path) -> Iterator[None]:
    """Do to the input what the case says."""
    if case.words[:2] == ["import", "elmo"]:
        pytest.importorskip("h5py", reason="published weights are HDF5 ([hdf5])")
        shutil.copytree(sound / "published", place / "published")
    if case.words[:2] == ["import", "bert"]:
        shutil.copytree(sound / "bert", place / "bert")
    if case.words[:2] == ["import", "sentence-transformers"] or case.verb == "distill":
        shutil.copytree(sound / "sentences", place / "sentences")
        write_texts(place)
    if case.words[:2] == ["import", "static"]:
        shutil.copytree(sound / "static", place / "static")
    with small_disk(case, sound, place):
        if case.verb in READ_FROM or "bundle" in case.needs:
            shutil.copytree(sound / READ_FROM.get(case.verb, "model"), place / "model")
        if "faq.sq" in case.command or "faq.csv" in case.command:
            shutil.copy(sound / "faq.csv", place / "faq.csv")
            shutil.copytree(sound / "faq.sq", place / "faq.sq")
        if "base" in case.needs:
            shutil.copytree(sound / "base", place / "base")
        for kind in case.needs & {"tagger", "exported tagger"}:
            shutil.copytree(sound / kind, place / "tagger")
        if case.verb == "probe":
            for name in ("senses", "tags", "elmo", "model"):
                shutil.copytree(sound / name, place / name)
        if "interrupted" in case.needs:
            full = "full" if "disk" in case.needs else "."
            shutil.copytree(sound / "interrupted.partial", place / full / "model.partial")
        case.damage(place)
        yield


@contextmanager
def small_disk(case: Case, sound: Path, place: Path) -> Iterator[None]:
    """A disk at `full/` with next to no space, beyond what the interrupted run takes."""
    if "disk" not in case.needs:
        yield
        return
    (place / "full").mkdir()
    taken = BLOCK
    if "interrupted" in case.needs:
        files = [path for path in (sound / "interrupted.partial").rglob("*") if path.is_file()]
        taken = sum(-(-path.stat().st_size // BLOCK) * BLOCK for path in files)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={taken}", "tmpfs", str(place / "full")]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small disk can be mounted by root only")
    try:
        if "interrupted" not in case.needs:
            (place / "full" / "other.bin").write_bytes(bytes(taken))
        yield
    finally:
        subprocess.run(["umount", "-l", str(place / "full")], check=True)


@contextmanager
def as_nobody(place: Path) -> Iterator[None]:
    """Give up root's right to read everything."""
    if not hasattr(os, "geteuid"):
        pytest.skip("permissions are another matter on this system")
    if os.geteuid() != 0:
        yield
        return
    place.chmod(0o777)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def words(case: Case) -> list[str]:
    """The command, a training run made small by the settings of its kind."""
    if case.verb != "train":
        return case.words
    kinds = {
        "elmo-small": SMALL_TEXT,
        "bert-tiny": SMALL_DOCUMENTS,
        **dict.fromkeys(("bert-match", "bert-tag", "bert-read"), SMALL_HEADS),
        "word2vec": [],
        "tagger": SMALL_TAGS,
        "tagger-elmo": SMALL_TAGS,
    }
    small = next((kinds[word] for word in case.words if word in kinds), SMALL)
    return [*case.words[:1], *small, *case.words[1:]]


def run_here(case: Case) -> Answer:
    if case.answers is not None:
        return run_warm(case)
    with as_nobody(Path.cwd()) if "nobody" in case.needs else nullcontext():
        return softquery(*words(case))


def run_apart(case: Case) -> Answer:
    """In a process of its own, whose answers may lead anywhere."""
    with open(case.answers or os.devnull, "w+") as out:
        done = subprocess.run(
            [sys.executable, "-m", "softquery", *words(case)],
            stdout=out if case.answers else subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    return Answer(done.returncode, done.stdout or "", done.stderr)


def run_warm(case: Case) -> Answer:
    """Likewise, with torch at hand."""
    with open(case.answers or os.devnull, "w+") as out:
        return finish(launch(words(case), answers=out.fileno()))


WITH_TORCH = ("distill", "recipes")
"""Verbs that import it first of all, as `train` does, whose interpreter is a fresh one."""


def contents(place: Path) -> dict[str, str]:
    """Every file and folder, with the fingerprint of what it holds."""
    return {
        path.relative_to(place).as_posix(): fingerprint(path) for path in sorted(place.rglob("*"))
    }


def fingerprint(path: Path) -> str:
    if path.is_symlink() or not path.is_file():
        return "folder" if path.is_dir() else os.readlink(path)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def outside(folder: str, found: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in found.items() if not f"{name}/".startswith(f"{folder}/")}


def pattern(said: str) -> str:
    return "softquery: " + ".*".join(re.escape(part) for part in said.split(ANY))


def check_answer(case: Case, answer: Answer) -> None:
    assert answer.code == MISTAKE, answer
    assert answer.out == ""
    assert "Traceback" not in answer.err, answer.err
    lines = answer.err.splitlines()
    assert re.fullmatch(pattern(case.said), lines[-1]), lines[-1]
    assert [line for line in lines[:-1] if line.startswith("softquery: ")] == []
    assert case.verb in ("train", "distill") or len(lines) == 1, answer.err


@pytest.mark.parametrize("case", EVERY, ids=str)
def test_case(case, sound, place):
    with set_up(case, sound, place):
        before = contents(place)
        answer = run_here(case)
        check_answer(case, answer)
        after = contents(place)
        if not case.touched:
            assert after == before
            return
        assert case.touched in after
        assert [name for name in after if Path(name).name.startswith(".")] == []
        assert outside(case.touched, after) == outside(case.touched, before)
        if case.touched == "model":
            assert read_bundle("model").path.name == "model"


@pytest.mark.parametrize("verb", {name.split()[0]: name for name in reversed(CASES)}.values())
def test_a_process_of_its_own_says_the_same(verb, sound, place):
    """Once a verb; what differs between its recipes and models is told in this process."""
    case = CASES[verb][0]
    run = run_warm if verb in WITH_TORCH else run_apart
    with set_up(case, sound, place):
        check_answer(case, run(case))


def test_a_run_that_met_a_full_disk_goes_on_when_there_is_space(sound, place):
    case = next(each for each in TRAIN if "after a checkpoint" in each.title)
    checkpoint = sound / "interrupted.partial" / "checkpoint.safetensors"
    with set_up(case, sound, place):
        check_answer(case, softquery(*words(case)))
        assert fingerprint(place / "full/model.partial/checkpoint.safetensors") == fingerprint(
            checkpoint
        )
        shutil.copytree(place / "full/model.partial", place / "model.partial")
    answer = softquery("train", *SMALL, "esim", "--data", "data", "--output", "model", "--resume")
    assert answer.code == 0, answer.err
    assert not (place / "model.partial").exists()
    assert fingerprint(place / "model/model.safetensors") == fingerprint(
        sound / "model/model.safetensors"
    )


def test_an_unknown_verb_gets_one_line():
    answer = softquery("trian")
    assert (answer.code, answer.out) == (MISTAKE, "")
    told = r"softquery: no such command 'trian'\. Did you mean 'train'.*\? See softquery --help\n"
    assert re.fullmatch(told, answer.err)


@pytest.mark.parametrize("verb", CASES)
def test_titles_name_one_case_each(verb):
    titles = [case.title for case in CASES[verb]]
    assert len(titles) == len(set(titles))
