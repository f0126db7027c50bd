"""`softquery explain`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softquery.cli.terminal.answer_file import note_cuts
from softquery.cli.terminal.console import note, print_json, print_table
from softquery.cli.terminal.default_model import model_for
from softquery.cli.terminal.shared_options import AsJson, BackendName, MatcherModel, check_explain
from softquery.errors import ConfigError
from softquery.language import localised

if TYPE_CHECKING:
    from softquery.bundle import Bundle
    from softquery.explain import PairAlignment, SelfAttention, StrongestLinks, TextWeights


def explain(
    sentence1: Annotated[str, typer.Argument(help="The first sentence, or the only text.")],
    sentence2: Annotated[
        str | None, typer.Argument(help="The second sentence; none for a classifier or an encoder.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="A picture or data: .html .svg .png .json.")
    ] = None,
    model: MatcherModel = None,
    layer: Annotated[
        int | None, typer.Option(min=1, help="Encoders: only this layer in the table.")
    ] = None,
    head: Annotated[
        int | None, typer.Option(min=1, help="Encoders: only this head; needs --layer.")
    ] = None,
    backend: BackendName = "auto",
    as_json: AsJson = False,
) -> None:
    """Show why: what the answer owes to each word, and which words looked at which.

    Each word of a pair or of a text is left out in turn; its change says by how much the log-odds
    of the answer fall without it, so that a word above 0 speaks for the answer.

    For an encoder such as bert-mini-en it shows self-attention: which pieces each piece of a text
    attends to, as a picture of all layers and heads, or as a table of their mean, of one --layer,
    or of one --head in it.
    """
    from softquery.runtime.kinds import check_kind
    from softquery.runtime.loading import opened

    for name, text in (("sentence1", sentence1), ("sentence2", sentence2)):
        if text is not None and not text.strip():
            raise ConfigError(f"{name} is empty")
    check_explain(output)
    texts = (sentence1,) if sentence2 is None else (sentence1, sentence2)
    bundle = opened(model_for("match", model, texts))
    is_encoder = bundle.config.kind in ("encoder", "sentence-encoder")
    if not is_encoder and (layer is not None or head is not None):
        raise ConfigError("--layer and --head are for an encoder, such as bert-mini-en")
    if bundle.config.kind == "classifier":
        if sentence2 is not None:
            raise ConfigError("a classifier reads one text; give only one, in quotes")
        _text(bundle, sentence1, output, backend, as_json)
        return
    if is_encoder:
        if sentence2 is not None:
            raise ConfigError("an encoder reads one text; give only one, in quotes")
        _encoder(bundle, sentence1, output, (layer, head), backend, as_json)
        return
    check_kind(bundle, "matcher")
    if sentence2 is None:
        raise ConfigError("give two sentences, each in quotes")
    _pair(bundle, (sentence1, sentence2), output, backend, as_json)


def _pair(
    bundle: "Bundle", pair: tuple[str, str], output: Path | None, backend: str, as_json: bool
) -> None:
    from softquery.runtime import load_matcher

    matcher = load_matcher(bundle, backend=backend)  # type: ignore[arg-type]
    alignment = matcher.explain(*pair)
    note_cuts(matcher, matcher.num_cut(pair))
    _write(alignment, output, as_json)
    if output is None and not as_json:
        _print_reasons(alignment, (localised("first"), localised("second")))
        for title, side in zip(("first asks", "second asks"), alignment.strongest(), strict=True):
            rows = [(asking.token, _partners(asking)) for asking in side]
            print_table("", (title, "answered by"), rows)


def _text(bundle: "Bundle", text: str, output: Path | None, backend: str, as_json: bool) -> None:
    from softquery.runtime import load_classifier

    classifier = load_classifier(bundle, backend=backend)  # type: ignore[arg-type]
    shown = classifier.explain(text)
    note_cuts(classifier, classifier.num_cut([text]))
    _write(shown, output, as_json)
    if output is None and not as_json:
        _print_reasons(shown, [str(place + 1) for place in range(len(shown.sentences))])
        _print_weights(shown)


def _encoder(
    bundle: "Bundle",
    text: str,
    output: Path | None,
    place: tuple[int | None, int | None],
    backend: str,
    as_json: bool,
) -> None:
    from softquery.runtime.embed.self_looks import explain_encoder

    shown = explain_encoder(bundle, text, backend)  # type: ignore[arg-type]
    links = shown.strongest(layer=place[0], head=place[1])
    _write(shown, output, as_json)
    if output is None and not as_json:
        num_layers, num_heads = shown.weights.shape[:2]
        layer, head = place
        which = "the mean of all heads" if head is None else f"head {head}"
        where = f"{num_layers} layers" if layer is None else f"layer {layer}"
        title = f"{which} of {where}, {num_heads} heads each"
        rows = [(asking.token, _partners(asking)) for asking in links]
        print_table(localised(title), ("piece", "asked"), rows)


def _write(
    shown: "PairAlignment | TextWeights | SelfAttention", output: Path | None, as_json: bool
) -> None:
    if output is not None:
        shown.plot(output)
        note(f"written: {output}")
    if as_json:
        print_json(shown.to_dict())


def _print_reasons(shown: "PairAlignment | TextWeights", sentences: Sequence[str]) -> None:
    """The words that move the answer most, each with what becomes of it without the word."""
    from softquery.explain.lettering import spoken_label
    from softquery.explain.reasons import signed

    if shown.reasons is None:
        return
    answer = "the share of the scale"
    if shown.reasons.answer:
        answer = spoken_label(shown, shown.reasons.answer)
    rows = [
        (each.word, sentences[each.sentence], signed(each.change), _share(each.probability))
        for each in shown.reasons.strongest()
    ]
    print_table(_title(shown), ("left out", "sentence", "change", f"{answer} without it"), rows)


def _print_weights(shown: "TextWeights") -> None:
    """The words with the most weight, and what their states add if that is known."""
    from softquery.explain.lettering import spoken_label
    from softquery.explain.reasons import signed

    heaviest, added = shown.heaviest(), shown.contributions
    columns, rows = (
        ["word", "sentence", "share"],
        [[each.word, each.sentence + 1, each.weight] for each in heaviest],
    )
    if added is not None:
        columns.append(f"adds to {spoken_label(shown, added.answer or '')}")
        for row, each in zip(rows, heaviest, strict=True):
            row.append(signed(float(added.changes[each.sentence][each.position])))
    print_table(localised("where the model looked"), columns, rows)


def _share(probability: float | None) -> str:
    from softquery.explain.layout import percent

    return "" if probability is None else percent(probability)


def _title(shown: "PairAlignment | TextWeights") -> str:
    from softquery.explain.layout import answer_kind, headline

    if answer_kind(shown) == "grade":
        return localised(f"grade {shown.score:.4f}")
    probability = shown.probabilities.get(shown.label or "", shown.score)
    return f"{headline(shown)} {probability:.4f}"


def _partners(asking: "StrongestLinks") -> str:
    return ", ".join(f"{each.token} {each.weight:.2f}" for each in asking.partners)
