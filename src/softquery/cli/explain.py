"""`softquery explain`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softquery.cli.console import note, print_json, print_table
from softquery.errors import ConfigError, counted

if TYPE_CHECKING:
    from softquery.bundle import Bundle
    from softquery.explain import PairAlignment, StrongestLinks, TextWeights


def explain(
    sentence1: Annotated[str, typer.Argument(help="The first sentence, or the text to classify.")],
    sentence2: Annotated[
        str | None, typer.Argument(help="The second sentence; none for a classifier.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="A picture or data: .html .svg .png .json.")
    ] = None,
    model: Annotated[
        str, typer.Option(help="A name from the zoo, or a bundle's folder.")
    ] = "match-en",
    backend: Annotated[str, typer.Option(help="onnx, torch or auto.")] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show why: which words of two sentences looked at which, or which words of a text counted."""
    from softquery.explain.write import require_place
    from softquery.runtime.opened import opened

    for name, text in (("sentence1", sentence1), ("sentence2", sentence2)):
        if text is not None and not text.strip():
            raise ConfigError(f"{name} is empty")
    if output is not None:
        require_place(output)
    bundle = opened(model)
    if bundle.config.kind == "classifier":
        if sentence2 is not None:
            raise ConfigError("a classifier reads one text; give only one, in quotes")
        _text(bundle, sentence1, output, backend, as_json)
        return
    if sentence2 is None:
        raise ConfigError("give two sentences, each in quotes")
    _pair(bundle, (sentence1, sentence2), output, backend, as_json)


def _pair(
    bundle: "Bundle", pair: tuple[str, str], output: Path | None, backend: str, as_json: bool
) -> None:
    from softquery.runtime import load_matcher

    matcher = load_matcher(bundle, backend=backend)  # type: ignore[arg-type]
    alignment = matcher.explain(*pair)
    if num_cut := matcher.num_cut(pair):
        limit = matcher.pipeline.config.max_tokens
        note(f"{counted(num_cut, 'sentence')} cut to the model's {limit} tokens")
    _write(alignment, output, as_json)
    if output is None and not as_json:
        for title, side in zip(("first asks", "second asks"), alignment.strongest(), strict=True):
            rows = [(asking.token, _partners(asking)) for asking in side]
            print_table(_title(alignment), (title, "answered by"), rows)


def _text(bundle: "Bundle", text: str, output: Path | None, backend: str, as_json: bool) -> None:
    from softquery.runtime import load_classifier

    classifier = load_classifier(bundle, backend=backend)  # type: ignore[arg-type]
    shown = classifier.explain(text)
    if classifier.num_cut([text]):
        note(f"1 text cut to the model's {classifier.limit}")
    _write(shown, output, as_json)
    if output is None and not as_json:
        rows = [(heavy.word, heavy.sentence + 1, heavy.weight) for heavy in shown.heaviest()]
        print_table(_title(shown), ("word", "sentence", "share"), rows)


def _write(shown: "PairAlignment | TextWeights", output: Path | None, as_json: bool) -> None:
    if output is not None:
        shown.plot(output)
        note(f"written: {output}")
    if as_json:
        print_json(shown.to_dict())


def _title(shown: "PairAlignment | TextWeights") -> str:
    from softquery.explain.layout import answer_kind, headline

    if answer_kind(shown) == "grade":
        return f"grade {shown.score:.4f}"
    return f"{headline(shown)} {shown.score:.4f}"


def _partners(asking: "StrongestLinks") -> str:
    return ", ".join(f"{each.token} {each.weight:.2f}" for each in asking.partners)
