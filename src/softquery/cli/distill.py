"""`softquery distill`."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from softquery.cli.terminal.console import INTERRUPTED, note, print_json, print_table
from softquery.cli.terminal.engine_choice import BulkEngine, chosen_engine
from softquery.cli.terminal.progress import TrainingBar
from softquery.cli.terminal.shared_options import Gpus, NumActors, needs_extra, parse_rename
from softquery.errors import ConfigError, InputError

if TYPE_CHECKING:
    from softquery.ray import Actors
    from softquery.recipes.students import DistillRun
    from softquery.running.start import Start

Teachers = Annotated[
    list[str],
    typer.Argument(
        help="A sentence-transformers folder, a model that encodes sentences (a name or a "
        "folder), an ONNX file beside its tokenizer.json, or a .npy with one vector per text; "
        "several teach together. For a matcher: a matcher (a name or a folder), a cross-encoder's "
        "folder, or a .npy with a row of logits per pair."
    ),
]
Output = Annotated[Path, typer.Option(help="The bundle to write; OUTPUT.partial until complete.")]
Texts = Annotated[
    list[Path] | None,
    typer.Option(
        help="What a sentence encoder reads: a text per line, or a column `text`. Repeatable. "
        "Omit it for a matcher."
    ),
]
Pairs = Annotated[
    list[Path] | None,
    typer.Option(
        help="Rows with sentence1 and sentence2. Without --texts: the pairs that a matcher learns "
        "the teacher's opinion of, with a label where it is known. Beside --texts: pairs that mean "
        "the same, which are told from all others of a batch and from mined ones. Repeatable."
    ),
]
Parallel = Annotated[
    list[Path] | None,
    typer.Option(
        help="Translations: the student reads `text` and learns the teacher's vector of "
        "`taught`. Repeatable."
    ),
]
Student = Annotated[
    str | None,
    typer.Option(
        help="Of vectors: static (the default; minutes on a CPU), bilstm, convolution or "
        "transformer. Of pairs: a recipe for matching, such as esim-fast (the default), esim, "
        "decomposable-snli, siamese or esim-zh."
    ),
]
Weights = Annotated[str, typer.Option(help="The weight of each of several teachers: 0.4,0.6.")]
Labels = Annotated[
    str, typer.Option(help="What the columns of a .npy of logits mean: entailment,neutral,…")
]
Vectors = Annotated[
    list[Path] | None,
    typer.Option(help="Pretrained word vectors for a matcher. Repeatable: concatenated."),
]
Init = Annotated[
    str | None,
    typer.Option(
        help="Go on with this bundle, a name or a folder: a matcher, or with --texts a sentence "
        "encoder, such as embed-en for texts of your own."
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="Override one setting, such as model.output_size=128 or distill.gold_weight=0.5.",
    ),
]
Columns = Annotated[
    str, typer.Option(help="Map our column name to the file's: text=question or sentence1=q1.")
]
Resume = Annotated[
    bool, typer.Option("--resume", help="Go on with the interrupted run in OUTPUT.partial.")
]
TeacherEngine = Annotated[
    str, typer.Option(help="Who asks the teacher: this process (`local`), or the actors of `ray`.")
]
Seed = Annotated[int | None, typer.Option(help="Short for --set training.seed=N.")]
KEPT = ("model.", "text.", "pieces.")
"""Settings that a student has from where it begins."""
MATCHERS = "is for matchers, which learn from --pairs without --texts"
ENCODERS = "is for sentence encoders, which need --texts"


def distill(
    teacher: Teachers,
    output: Output,
    texts: Texts = None,
    pairs: Pairs = None,
    parallel: Parallel = None,
    student: Student = None,
    weights: Weights = "",
    labels: Labels = "",
    vectors: Vectors = None,
    init: Init = None,
    settings: Settings = None,
    columns: Columns = "",
    resume: Resume = False,
    seed: Seed = None,
    engine: TeacherEngine = "local",
    num_actors: NumActors = None,
    gpus: Gpus = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the metrics as JSON.")] = False,
) -> None:
    """Make a small model that answers nearly as a large one does.

    With --texts, a sentence encoder that gives nearly the vectors of a large one:

        softquery distill all-MiniLM-L6-v2/ --texts questions.txt --output small

    With --pairs alone, a matcher that gives nearly the logits of a cross-encoder, from pairs that
    need no label; rows that have one learn it, too (--set distill.gold_weight=1):

        softquery distill cross-encoder/ --pairs mined.tsv --student esim-fast --output fast

    The teacher's answers are computed once and kept until the run is complete. An interrupted run
    (Ctrl-C, kill, power cut) continues with --resume, and ends with the same bytes.
    """
    _require_training()
    files = {"texts": texts or [], "pairs": pairs or [], "parallel": parallel or []}
    changes = [*(settings or []), *([] if seed is None else [f"training.seed={seed}"])]
    _check_files([path for some in (*files.values(), vectors or []) for path in some])
    runs_on = chosen_engine(engine, num_actors, gpus, None, source=teacher)
    goal = _Goal(output, resume, columns, runs_on)
    if texts:
        _refuse(MATCHERS, labels=labels, vectors=vectors)
        if init is not None:
            _refuse("is for a student that learns from nothing, without --init", student=student)
        learner = _EncoderStudent(student or "static", changes, init)
        bundle = _encoder(teacher, files, learner, weights, goal)
    elif pairs:
        _refuse(ENCODERS, weights=weights, parallel=parallel)
        chosen = _PairStudent(student or "esim-fast", changes, labels, vectors or [], init)
        bundle = _matcher(teacher, pairs, chosen, goal)
    else:
        raise ConfigError(
            "nothing to learn from: name --texts for a sentence encoder, or --pairs for a matcher"
        )
    _show(bundle, as_json)


class _Goal(NamedTuple):
    """Where a run writes, and how it reads."""

    output: Path
    resume: bool
    columns: str
    engine: BulkEngine

    @contextmanager
    def watched(self, counted: str, data: Path, init: Any = None) -> Iterator[Any]:
        """The options of a run that a bar shows and that can be interrupted."""
        from softquery.running.run_options import RunOptions

        with _resumable(self.output), TrainingBar(counted) as bar:
            yield RunOptions(
                data=data.parent,
                output=self.output,
                observer=bar,
                say=bar.say,
                resume=self.resume,
                init=init,
                rename=parse_rename(self.columns),
            )

    @property
    def actors(self) -> "Actors | None":
        """Who asks the teacher; None for this process."""
        if not self.engine.is_ray:
            return None
        from softquery.ray import Actors

        return Actors(num_actors=self.engine.num_actors, gpus=self.engine.gpus)


class _EncoderStudent(NamedTuple):
    """What the command line says of a sentence encoder."""

    name: str
    changes: list[str]
    init: str | None

    def begin(self) -> "tuple[DistillRun, Start | None]":
        """Its run, and what it goes on with."""
        from softquery.recipes import override
        from softquery.recipes.students import student as find_student
        from softquery.running.distilling.student_start import read_student

        if self.init is None:
            return override(find_student(self.name), self.changes), None
        for change in self.changes:
            if change.startswith(KEPT):
                raise ConfigError(
                    f"--set {change:.60}: --init keeps the structure and the sub-words of its "
                    "bundle; leave this setting out"
                )
        run, start = read_student(self.init)
        return override(run, self.changes), start


class _PairStudent(NamedTuple):
    """What the command line says of a matcher."""

    name: str
    changes: list[str]
    labels: str
    vectors: list[Path]
    init: str | None


def _refuse(reason: str, **given: object) -> None:
    for name, value in given.items():
        if value:
            raise ConfigError(f"--{name} {reason}")


def _encoder(
    teacher: list[str],
    files: Mapping[str, list[Path]],
    student: _EncoderStudent,
    weights: str,
    goal: _Goal,
) -> Path:
    """Distil a sentence encoder."""
    from softquery.running.distilling.distill import distill as run_distillation
    from softquery.running.distilling.lessons import LessonFiles
    from softquery.running.distilling.open_teacher import open_teachers
    from softquery.running.distilling.teacher_pass import vector_pass

    run, start = student.begin()
    counting = _numbers(weights) if weights else None
    asking = None
    if (actors := goal.actors) is not None:
        asking = partial(vector_pass, teacher, counting, actors)
    named = " + ".join(Path(each).name for each in teacher) + (f" ({weights})" if weights else "")
    with goal.watched(run.counted, files["texts"][0]) as options:
        opened = open_teachers(teacher, counting)
        return run_distillation(
            run,
            opened,
            LessonFiles(**files),
            options,
            teacher_name=named,
            teacher_pass=asking,
            start=start,
        )


def _matcher(teacher: list[str], pairs: list[Path], student: _PairStudent, goal: _Goal) -> Path:
    """Distil a matcher."""
    from dataclasses import replace

    from softquery.recipes import override
    from softquery.recipes.students import pair_student
    from softquery.running.distilling.distill_pairs import distill_pairs, taught_run
    from softquery.running.distilling.open_teacher import open_pair_teacher
    from softquery.running.distilling.teacher_pass import logit_pass
    from softquery.zoo import resolve

    if len(teacher) > 1:
        raise ConfigError(f"one teacher at a time teaches a matcher, got {len(teacher)}")
    run = pair_student(student.name)
    given = [label.strip() for label in student.labels.split(",") if label.strip()]
    init = None if student.init is None else resolve(student.init)
    with goal.watched(run.counted, pairs[0], init) as options:
        opened = open_pair_teacher(teacher[0], given)
        if student.labels and not teacher[0].endswith(".npy"):
            raise ConfigError("--labels names the columns of a .npy; a model knows its own labels")
        run = override(taught_run(run, opened.task), student.changes)
        if student.vectors:
            run = replace(run, vectors=tuple(map(str, student.vectors)))
        named = Path(teacher[0]).name
        asking = None
        if (actors := goal.actors) is not None:
            asking = partial(logit_pass, teacher[0], given, actors)
        return distill_pairs(run, opened, pairs, options, teacher_name=named, teacher_pass=asking)


def _require_training() -> None:
    with needs_extra("train", needed_for="distilling"):
        import jaxtyping  # noqa: F401
        import lightning_fabric  # noqa: F401
        import torch  # noqa: F401


def _check_files(paths: Sequence[Path]) -> None:
    for path in paths:
        if not path.is_file():
            raise InputError("no such file", source=path)


@contextmanager
def _resumable(output: Path) -> Iterator[None]:
    """Say how an interrupted run goes on, where something of it is left."""
    from softquery.running.run_folder import partial_folder

    try:
        yield
    except KeyboardInterrupt:
        if partial_folder(output).exists():
            note("softquery: interrupted; go on with --resume")
            sys.exit(INTERRUPTED)
        raise


def _numbers(text: str) -> list[float]:
    """What `--weights` says."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ConfigError(f"--weights must be numbers such as 0.4,0.6, got {text!r:.60}") from None


def _show(bundle: Path, as_json: bool) -> None:
    from softquery.bundle import read_bundle

    metrics = read_bundle(bundle).metrics
    if as_json:
        print_json({"bundle": str(bundle), **metrics})
        return
    rows = [*metrics["tune"].items(), *metrics["training"].items()]
    print_table(str(bundle), ("what", "value"), rows)
