"""`softquery probe`: what the layers of a model know."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softquery.cli.terminal.console import is_quiet, note, print_json, print_table, span
from softquery.cli.terminal.shared_options import AsJson, check_picture
from softquery.errors import ConfigError, counted
from softquery.language import localised

if TYPE_CHECKING:
    from softquery.measure.probe_scores import ProbeReport
    from softquery.runtime.probe.layers import WordLayers

probe = typer.Typer(
    help="Look into the layers of a model, or into word vectors.",
    no_args_is_help=True,
    add_completion=False,
)

Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model", help="A biLM, or a generator for its encoder: a name or a folder. Repeatable."
    ),
]
Vectors = Annotated[
    list[Path] | None,
    typer.Option(
        "--vectors",
        help="Word vectors beside it: a file of GloVe or word2vec, or a bundle. Repeatable.",
    ),
]
Plot = Annotated[Path | None, typer.Option(help="Also draw it as a .png.")]


@probe.callback()
def group() -> None:
    """Look into the layers of a model, or into word vectors."""


@probe.command()
def senses(
    data: Annotated[Path, typer.Option(help="A folder with SemCor and further sets of senses.")],
    model: Models = None,
    vectors: Vectors = None,
    held_out: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of SemCor's documents to measure on.")
    ] = 0.1,
    seed: Annotated[int, typer.Option(min=0, help="Which documents those are.")] = 1,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Which sense a word has, by the nearest mean vector of its senses in SemCor.

    Each layer is measured on the held-out documents, and on every other set of the folder. Words
    that were never seen with a sense get WordNet's first one. Intervals draw sentences.
    """
    from softquery.runtime.probe.sense_probe import probe_senses, read_sense_sets

    _check(model, vectors, plot)
    sets = read_sense_sets(data, held_out=held_out, seed=seed)
    sources = _sources(model or [], vectors or [], sets.words())
    with _counting(len(sources) * sets.num_sentences) as advance:
        found = probe_senses(sets, sources, advance)
    _show(found, as_json=as_json, plot=plot, label="senses found (accuracy)")


@probe.command()
def tags(
    data: Annotated[Path, typer.Option(help="A folder with train.conllu and dev.conllu.")],
    model: Models = None,
    vectors: Vectors = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Which part of speech a word is, by a linear classifier on each layer (UPOS, train to dev)."""
    from softquery.runtime.probe.tag_probe import MEASURED, probe_tags, read_tag_sets

    _check(model, vectors, plot)
    sets = read_tag_sets(data)
    sources = _sources(model or [], vectors or [], sets.words())
    with _counting(len(sources) * sets.num_sentences) as advance:
        found = probe_tags(sets, sources, advance)
    label = "parts of speech found (accuracy)"
    _show({MEASURED: found}, as_json=as_json, plot=plot, label=label)


def _check(model: list[str] | None, vectors: list[Path] | None, plot: Path | None) -> None:
    """Refuse before minutes are spent."""
    if not model and not vectors:
        raise ConfigError("name what to look into: --model, --vectors, or both")
    if plot is not None:
        check_picture("--plot", plot, needed_for="drawing a probe")


def _sources(models: list[str], vectors: list[Path], words: set[str]) -> dict[str, "WordLayers"]:
    """What is looked into, by the names that the tables show."""
    from softquery.runtime.probe.layers import load_layers, read_vector_layers

    sources: dict[str, WordLayers] = {}
    for name in models:
        sources[_fresh(Path(name).name, sources)] = load_layers(name)
    for path in vectors:
        found = read_vector_layers(path, words)
        share = sum(map(found.covers, words)) / max(1, len(words))
        note(f"{path}: has {share:.1%} of {len(words):,} different words")
        sources[_fresh(path.name.partition(".")[0], sources)] = found
    return sources


def _fresh(name: str, taken: dict[str, Any]) -> str:
    """The name, numbered where it is taken."""
    number = 2
    fresh = name
    while fresh in taken:
        fresh, number = f"{name} ({number})", number + 1
    return fresh


def _show(found: dict[str, "ProbeReport"], *, as_json: bool, plot: Path | None, label: str) -> None:
    reports = {name: probed.report() for name, probed in found.items()}
    if plot is not None:
        _draw(reports, plot, label)
        note(f"written: {plot}")
    if as_json:
        print_json(reports)
        return
    for name, report in reports.items():
        _show_one(name, report)


def _show_one(name: str, report: dict[str, Any]) -> None:
    systems = report["systems"]
    # F1 is another number than accuracy only where something was not answered.
    is_partial = any(told["answered"] < 1 for told in systems.values())
    rows = [
        (
            localised(system),
            told["accuracy"],
            _span(told["accuracy_interval"], ".4f"),
            *([told["f1"]] if is_partial else []),
            _lead(told.get("over_baseline")),
        )
        for system, told in systems.items()
    ]
    words, sentences = counted(report["n"], "word"), counted(report["sentences"], "sentence")
    title = f"{name}: senses of {words} in {sentences}"
    over = localised(f"over {report['baselines'][0]}")
    heads = ("", "accuracy", "95 % interval", *(["F1"] if is_partial else []), over)
    print_table(localised(title), heads, rows)
    if report["comparisons"]:
        pairs = [
            (f"{each['second']} over {each['first']}", _lead(each), f"{each['chance']:.4f}")
            for each in report["comparisons"]
        ]
        columns = ("", "points of accuracy (95 % interval)", "chance of the other sign")
        title = localised(f"{name}: layers compared on the same sentences")
        print_table(title, columns, pairs)


def _lead(compared: dict[str, Any] | None) -> str:
    """A difference in points with its interval."""
    if compared is None:
        return ""
    low, high = (100 * bound for bound in compared["interval"])
    return f"{100 * compared['difference']:+.2f} ({span(f'{low:+.2f}', f'{high:+.2f}')})"


def _span(interval: list[float], form: str) -> str:
    return span(f"{interval[0]:{form}}", f"{interval[1]:{form}}")


def _draw(reports: dict[str, Any], path: Path, label: str) -> None:
    from softquery.explain.plots import Bar, BarPanel, draw_bars

    panels = []
    for name, report in reports.items():
        bars = [
            Bar(
                name=system,
                share=told["accuracy"],
                low=told["accuracy_interval"][0],
                high=told["accuracy_interval"][1],
                is_baseline=system in report["baselines"],
            )
            for system, told in report["systems"].items()
        ]
        panels.append(BarPanel(title=f"{name} ({counted(report['n'], 'word')})", bars=bars))
    draw_bars(panels, path, label=label)


@contextmanager
def _counting(total: int) -> Iterator[Callable[[int], None]]:
    """A bar over all sentences on a terminal; nothing elsewhere."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    if not console.is_terminal or is_quiet():
        yield lambda done: None
        return
    with Progress(console=console) as bar:
        task = bar.add_task(localised("sentences"), total=total)
        yield lambda done: bar.update(task, advance=done)
