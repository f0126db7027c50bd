"""`softquery distill`."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from softquery.cli.terminal.console import INTERRUPTED, note, print_json, print_table
from softquery.cli.terminal.progress import TrainingBar
from softquery.cli.terminal.shared_options import needs_extra, parse_rename
from softquery.errors import ConfigError, InputError

Teachers = Annotated[
    list[str],
    typer.Argument(
        help="A sentence-transformers folder, a model that encodes sentences (a name or a "
        "folder), an ONNX file beside its tokenizer.json, or a .npy with one vector per text. "
        "Several teach together."
    ),
]
Pairs = Annotated[
    list[Path] | None,
    typer.Option(
        help="Rows with sentence1 and sentence2, which mean the same: they are told from all "
        "others of a batch and from mined ones. Repeatable."
    ),
]
Parallel = Annotated[
    list[Path] | None,
    typer.Option(
        help="Translations: the student reads `text` and learns the teacher's vector of "
        "`taught`. Repeatable."
    ),
]


def distill(
    teacher: Teachers,
    texts: Annotated[
        list[Path],
        typer.Option(
            help="What the student reads: a text per line, or a column `text`. Repeatable."
        ),
    ],
    output: Annotated[
        Path, typer.Option(help="The bundle to write; OUTPUT.partial until complete.")
    ],
    weights: Annotated[
        str, typer.Option(help="How much each of several teachers counts: 0.4,0.6.")
    ] = "",
    pairs: Pairs = None,
    parallel: Parallel = None,
    student: Annotated[
        str, typer.Option(help="static (minutes on a CPU), bilstm, convolution, or transformer.")
    ] = "static",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Override one setting, such as model.output_size=128."),
    ] = None,
    columns: Annotated[
        str, typer.Option(help="Our column name to the file's: text=question.")
    ] = "",
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the interrupted run in OUTPUT.partial.")
    ] = False,
    seed: Annotated[int | None, typer.Option(help="Short for --set training.seed=N.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the metrics as JSON.")] = False,
) -> None:
    """Make a small sentence encoder that gives nearly the vectors of a large one.

    The teacher's vectors are computed once and kept until the run is complete. An interrupted run
    (Ctrl-C, kill, power cut) goes on with --resume to the same bytes.
    """
    _require_training()
    from softquery.running.distilling.distill import distill as run_distillation
    from softquery.running.distilling.lessons import LessonFiles
    from softquery.running.distilling.open_teacher import open_teachers
    from softquery.running.run_options import RunOptions

    run = _student_run(student, settings or [], seed)
    files = LessonFiles(texts=texts, parallel=parallel or [], pairs=pairs or [])
    _check_files(files.all())
    counting = _numbers(weights) if weights else None
    named = " + ".join(Path(each).name for each in teacher) + (f" ({weights})" if weights else "")
    with _resumable(output), TrainingBar(run.counted) as bar:
        options = RunOptions(
            data=texts[0].parent,
            output=output,
            observer=bar,
            say=bar.say,
            resume=resume,
            rename=parse_rename(columns),
        )
        opened = open_teachers(teacher, counting)
        bundle = run_distillation(run, opened, files, options, teacher_name=named)
    _show(bundle, as_json)


def _require_training() -> None:
    with needs_extra("train", needed_for="distilling"):
        import jaxtyping  # noqa: F401
        import lightning_fabric  # noqa: F401
        import torch  # noqa: F401


def _student_run(name: str, settings: Sequence[str], seed: int | None) -> Any:
    """The student of that name, with what the command line changes."""
    from softquery.recipes import override
    from softquery.recipes.students import student

    changes = [] if seed is None else [f"training.seed={seed}"]
    return override(student(name), [*settings, *changes])


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
