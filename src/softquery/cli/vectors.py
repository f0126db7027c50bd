"""`softquery vectors`: word vectors that answer."""

from dataclasses import asdict
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softquery.cli.terminal.console import note, print_json, print_table
from softquery.cli.terminal.shared_options import AsJson, TopK
from softquery.errors import ConfigError, InputError, counted
from softquery.language import localised

if TYPE_CHECKING:
    from softquery.measure.word_scores import AnalogyScore

Model = Annotated[
    str, typer.Option(help="A bundle's folder, a name from the zoo, or a file of vectors.")
]
RESTRICT = 300_000

vectors = typer.Typer(
    help="Query word vectors: nearest words, similarities, and analogies.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class VectorForm(str, Enum):
    """How other tools lay out word vectors, and how a bundle takes little space."""

    GLOVE = "glove"
    WORD2VEC = "word2vec"
    WORD2VEC_BINARY = "word2vec-binary"
    INT8 = "int8"


@vectors.command()
def nearest(
    words: Annotated[list[str], typer.Argument(help="Words, each asked by itself.")],
    model: Model,
    top_k: TopK = 10,
    as_json: AsJson = False,
) -> None:
    """Show the words whose vectors point most nearly the same way."""
    from softquery.runtime import load_vectors

    opened = load_vectors(model)
    found = {word: opened.nearest(word, top_k=top_k) for word in words}
    if as_json:
        print_json({word: [asdict(each) for each in near] for word, near in found.items()})
        return
    for word, near in found.items():
        print_table(
            localised(f"near {word}"), ("word", "cosine"), [(n.word, n.score) for n in near]
        )


@vectors.command()
def analogy(
    words: Annotated[
        list[str], typer.Argument(help="Three words a b c, or a file such as questions-words.txt.")
    ],
    model: Model,
    top_k: TopK = 5,
    restrict: Annotated[
        int, typer.Option(min=2, help="With a file: use only so many words, the most frequent.")
    ] = RESTRICT,
    as_json: AsJson = False,
) -> None:
    """Find what is to c as b is to a, or answer a file of such questions."""
    from softquery.files.word_tests import read_questions
    from softquery.runtime import load_vectors

    if len(words) == 1:
        sections = read_questions(words[0])
        _show_scores(load_vectors(model).answer(sections, restrict=restrict), as_json)
        return
    if len(words) != 3:
        raise ConfigError(
            f"give three words, or one file of questions; got {counted(len(words), 'word')}"
        )
    near = load_vectors(model).analogy(words[0], words[1], words[2], top_k=top_k)
    if as_json:
        print_json([asdict(each) for each in near])
    else:
        title = f"{words[0]} is to {words[1]} as {words[2]} is to"
        print_table(localised(title), ("word", "cosine"), [(n.word, n.score) for n in near])


def _show_scores(scores: "list[AnalogyScore]", as_json: bool) -> None:
    from softquery.measure.word_scores import score_groups, sum_scores

    total, groups = sum_scores(scores, "all"), score_groups(scores)
    if as_json:
        parts = {"groups": groups, "sections": scores}
        listed = {name: [score.to_dict() for score in part] for name, part in parts.items()}
        print_json({**total.to_dict(), **listed})
        return
    rows = [
        (s.name, "" if s.accuracy is None else s.accuracy, s.num_right, s.n, s.num_unknown)
        for s in (*scores, *groups, total)
    ]
    print_table("", ("section", "accuracy", "right", "n", "unknown"), rows)


@vectors.command()
def similarity(
    words: Annotated[
        list[str], typer.Argument(help="Two words, or a file of two words and a grade per line.")
    ],
    model: Model,
    as_json: AsJson = False,
) -> None:
    """Show the cosine of two words, or how well cosines agree with people's grades in a file."""
    from softquery.files.word_tests import read_graded_words
    from softquery.runtime import load_vectors

    if len(words) == 1:
        pairs = read_graded_words(words[0])
        found = load_vectors(model).grade(pairs)
        report = {"spearman": found.spearman, "n": found.n, "unknown": found.num_unknown}
    elif len(words) == 2:
        report = {"similarity": load_vectors(model).similarity(words[0], words[1])}
    else:
        raise ConfigError(
            f"give two words, or one file of graded pairs; got {counted(len(words), 'word')}"
        )
    if as_json:
        print_json(report)
    else:
        print_table(" and ".join(words), ("measure", "value"), list(report.items()))


@vectors.command()
def plot(
    model: Model,
    words: Annotated[
        list[str] | None, typer.Argument(help="Words; the most frequent ones by default.")
    ] = None,
    output: Annotated[Path | None, typer.Option(help="The picture to write: a .png file.")] = None,
    top_k: Annotated[
        int,
        typer.Option(
            "--top-k", "--top", min=2, help="If no words are given: how many of the most frequent."
        ),
    ] = 100,
    arrows: Annotated[
        bool,
        typer.Option(
            "--arrows", help="Draw an arrow from the first to the second word of each pair."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Draw a map of words: the plane in which they vary most."""
    from softquery.explain.plots import draw_word_map, require_png
    from softquery.runtime import load_vectors

    if output is None and not as_json:
        raise ConfigError("name a picture with --output map.png, or ask for --json")
    if output is not None:
        require_png(output)
    opened = load_vectors(model)
    shown = list(dict.fromkeys(words)) if words else opened.words[:top_k]
    if len(shown) < 2:
        raise ConfigError(f"a map needs at least two different words, got {len(shown)}")
    if arrows and (not words or len(words) % 2):
        raise ConfigError("--arrows needs words two by two")
    points = opened.plane(shown)
    if output is not None:
        place = {word: number for number, word in enumerate(shown)}
        two = words or []
        pairs = [(place[a], place[b]) for a, b in zip(two[::2], two[1::2], strict=False)]
        draw_word_map(shown, points, output, arrows=pairs if arrows else ())
        note(f"written: {output}")
    if as_json:
        print_json(
            [{"word": w, "x": x, "y": y} for w, (x, y) in zip(shown, points.tolist(), strict=True)]
        )


@vectors.command()
def export(
    model: Model,
    output: Annotated[
        Path, typer.Option(help="The file; .gz, .xz or .bz2 compresses it. For int8 a folder.")
    ],
    form: Annotated[
        VectorForm,
        typer.Option(help="How the file is laid out; int8 is a bundle of a quarter of the size."),
    ] = VectorForm.GLOVE,
    words: Annotated[
        int | None, typer.Option(min=1, help="Keep only so many words, the most frequent ones.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the vectors for other tools, as GloVe or word2vec, text or binary; or as int8."""
    from softquery.runtime import load_vectors
    from softquery.runtime.vectors.convert import export_vectors, shrink_vectors

    if output.exists():
        raise InputError("already exists; name another --output", source=output)
    opened = load_vectors(model)
    if form is VectorForm.INT8:
        num_words = shrink_vectors(model, output, num_words=words)
    else:
        num_words = export_vectors(opened, output, form=form.value, num_words=words)
    report = {"words": num_words, "width": opened.vectors.size, "form": form.value}
    if as_json:
        print_json({"output": str(output), **report})
    else:
        print_table(str(output), ("export", ""), list(report.items()))
