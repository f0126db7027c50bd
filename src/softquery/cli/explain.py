"""`softquery explain`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softquery.cli.console import note, print_json, print_table
from softquery.errors import ConfigError

if TYPE_CHECKING:
    from softquery.explain import Asking, PairAlignment


def explain(
    sentence1: Annotated[str, typer.Argument(help="The first sentence.")],
    sentence2: Annotated[str, typer.Argument(help="The second sentence.")],
    output: Annotated[
        Path | None, typer.Option(help="A picture or data: .html .svg .png .json.")
    ] = None,
    model: Annotated[
        str, typer.Option(help="A name from the zoo, or a bundle's folder.")
    ] = "match-en",
    backend: Annotated[str, typer.Option(help="onnx, torch or auto.")] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show why two sentences match: which words looked at which."""
    from softquery.explain.write import require_ending
    from softquery.runtime import load_matcher

    for name, text in (("sentence1", sentence1), ("sentence2", sentence2)):
        if not text.strip():
            raise ConfigError(f"{name} is empty")
    if output is not None:
        require_ending(output)
    matcher = load_matcher(model, backend=backend)  # type: ignore[arg-type]
    alignment = matcher.explain(sentence1, sentence2)
    if num_cut := matcher.num_cut([sentence1, sentence2]):
        limit = matcher.pipeline.config.max_tokens
        note(f"{num_cut} sentence{'s' * (num_cut > 1)} cut to the model's {limit} tokens")
    if output is not None:
        alignment.plot(output)
        note(f"written: {output}")
    if as_json:
        print_json(alignment.to_dict())
    elif output is None:
        for title, side in zip(("first asks", "second asks"), alignment.strongest(), strict=True):
            rows = [(asking.token, _partners(asking)) for asking in side]
            print_table(_title(alignment), (title, "answered by"), rows)


def _title(alignment: "PairAlignment") -> str:
    from softquery.explain.answer import answer_kind, headline

    if answer_kind(alignment) == "grade":
        return f"grade {alignment.score:.4f}"
    return f"{headline(alignment)} {alignment.score:.4f}"


def _partners(asking: "Asking") -> str:
    return ", ".join(f"{each.token} {each.weight:.2f}" for each in asking.partners)
