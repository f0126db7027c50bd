"""What pairs of a table stand on: a trained matcher, and the sentence encoder of their language."""

import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from softquery.answers import Calibration
from softquery.bundle import RECORDS, Bundle, BundleConfig, read_bundle, update_bundle, with_section
from softquery.bundle.config import CARD, CONFIG, REPORT, REPORT_PAGE, to_json
from softquery.bundle.opening import weights_to_bytes
from softquery.errors import BundleError, InputError
from softquery.files import Row, write_text
from softquery.running.spreadsheet.labelled_rows import LabelledTable
from softquery.running.spreadsheet.pair_head_fit import ComparedPairs
from softquery.running.spreadsheet.sheet_options import SheetOptions
from softquery.runtime.batches import Floats
from softquery.runtime.classify.sentence_head import ENCODER, fingerprint_of
from softquery.runtime.kinds import check_kind
from softquery.runtime.match.backend import PAIR_HEAD, is_pair_head
from softquery.runtime.match.model import Matcher, load_matcher
from softquery.runtime.match.pair_head import MATCHER, PairHead, SideVectors
from softquery.text import language_name, language_of
from softquery.zoo import resolve
from softquery.zoo.by_language import SHIPPED_ENCODERS, SHIPPED_MATCHERS

INFERENCE, INFERENCES = "nli-en", {"entailment", "neutral", "contradiction"}


@dataclass(frozen=True, kw_only=True)
class PairBase:
    """A matcher, and what may stand beside it."""

    name: str
    bundle: Bundle
    matcher: Matcher
    encoder: Bundle | None
    """A sentence encoder for a head on both; None where there can be none."""

    @cached_property
    def vectors(self) -> SideVectors | None:
        """Vectors of texts by the encoder."""
        return None if self.encoder is None else SideVectors(self.encoder)

    def compared(self, rows: Sequence[Row], said: Floats) -> ComparedPairs | None:
        """Rows of which the matcher says `said`, with the vectors of their texts."""
        if self.vectors is None:
            return None
        first, second = ([row.values[f"sentence{side}"] for row in rows] for side in (1, 2))
        found = self.vectors.of([*first, *second])
        return ComparedPairs(said=said, first=found[: len(rows)], second=found[len(rows) :])


def choose_pair_base(table: LabelledTable, options: SheetOptions) -> PairBase:
    """Open the matcher that is named, or that the labels and the language of the texts ask for.

    Raises:
        InputError: No matcher is known for the language.
    """
    language = _language(table)
    name, reason = _named(table, language, options)
    bundle = read_bundle(resolve(name))
    check_kind(bundle, "matcher")
    shown = name if options.init is None else bundle.path.name
    options.say(f"matcher: {shown} ({reason}); its weights stay as they are")
    return PairBase(
        name=shown,
        bundle=bundle,
        matcher=load_matcher(bundle.path),
        encoder=_encoder(language, bundle),
    )


def _language(table: LabelledTable) -> str | None:
    """The language of most texts, if it is one that is read here."""
    counts = Counter(language_of(text) for text in table.texts)
    known = Counter({code: many for code, many in counts.items() if code in SHIPPED_MATCHERS})
    if not known or sum(known.values()) < len(table.rows) / 2:
        return None
    return max(known, key=lambda code: (known[code], str(code)))


def _named(table: LabelledTable, language: str | None, options: SheetOptions) -> tuple[str, str]:
    """The matcher to stand on, and why: as named, by the labels, or by the language."""
    if options.init is not None:
        return str(options.init), "as named"
    if language is None:
        raise InputError(
            f"most texts are in no language that {' or '.join(SHIPPED_MATCHERS.values())} reads; "
            "name a matcher with --init",
            source=table.source,
        )
    if language == "en" and set(table.labels) <= INFERENCES:
        return INFERENCE, f"labels are {', '.join(table.labels)}"
    return SHIPPED_MATCHERS[language], f"most texts are in {language_name(language)}"


def _encoder(language: str | None, matcher: Bundle) -> Bundle | None:
    """The sentence encoder beside a matcher; none beside one that stands on a base itself."""
    if language is None or matcher.config.base is not None or is_pair_head(matcher):
        return None
    try:
        return read_bundle(resolve(SHIPPED_ENCODERS[language]))
    except BundleError:
        return None


def write_pairs(
    base: PairBase,
    labels: Sequence[str],
    scaling: Calibration,
    head: PairHead | None,
    options: SheetOptions,
    *,
    num_rows: int,
    error: tuple[float, float],
) -> None:
    """Write the matcher's bundle with other labels and another calibration, and a head if any.

    Args:
        base: What it stands on.
        labels: In the order of the answers.
        scaling: How logits become probabilities.
        head: What was learnt, where that is more than the scaling.
        options: Where it writes.
        num_rows: How many rows were learnt from.
        error: By how much probabilities are off, before and after.
    """
    target, bundle = options.output, base.bundle
    unwanted = shutil.ignore_patterns(RECORDS, REPORT, REPORT_PAGE)
    shutil.copytree(bundle.path, target, ignore=unwanted)
    config = replace(bundle.config, task={**bundle.config.task, "labels": list(labels)})
    told = f"The weights are those of {base.name}; probabilities follow {num_rows:,} pairs of a "
    told += "file."
    if head is not None and base.encoder is not None:
        config = _head_config(bundle, base.encoder, config.task)
        stored = {**bundle.read_weights(), **head.to_weights()}
        read_bundle(target).weights_path.write_bytes(weights_to_bytes(stored))
        told = (
            f"The weights of {base.name} lie here as they were. Beside them is a head that has "
            f"learnt from {num_rows:,} pairs of a file what to make of its opinion and of the "
            f"vectors of {config.base}, which must be installed."
        )
    write_text(target / CONFIG, to_json(config.to_dict()))
    write_text(target / CARD, with_section(_card(bundle, target), "From a file", [told]))
    update_bundle(
        read_bundle(target),
        calibration={
            "temperature": scaling.temperature,
            "growth": scaling.growth,
            "bias": None if scaling.bias is None else list(scaling.bias),
            "threshold": scaling.threshold,
            "abstain_below": scaling.abstain_below,
            "fitted_on": num_rows,
            "measured_on": num_rows,
            "ece_before": error[0],
            "ece_after": error[1],
        },
    )


def _head_config(bundle: Bundle, encoder: Bundle, task: dict[str, object]) -> BundleConfig:
    """What a head on a matcher and an encoder says of itself."""
    inside = bundle.config.model
    return replace(
        bundle.config,
        model={
            "name": PAIR_HEAD,
            "config": {
                "output_size": len(task["labels"]),  # type: ignore[arg-type]
                "vocab_size": inside["config"]["vocab_size"],
                MATCHER: inside,
                ENCODER: encoder.config.model,
            },
        },
        task={"name": "match", "labels": task["labels"]},
        base=encoder.path.name,
        base_fingerprint=fingerprint_of(encoder),
    )


def _card(bundle: Bundle, target: Path) -> str:
    """The card of a matcher under another name."""
    own = bundle.path.name
    card = bundle.card.replace(f"\n# {own}\n", f"\n# {target.name}\n", 1)
    for use in ("--model {}", 'load("{}")'):
        card = card.replace(use.format(own), use.format(target.name))
    return card
