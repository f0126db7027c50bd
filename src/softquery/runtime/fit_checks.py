"""Whether the parts of a bundle fit each other: vocabulary, model and task. Needs no torch."""

from collections.abc import Mapping
from typing import Any, get_args

from softquery.answers import Calibration, ReadingRules, TagSet
from softquery.bundle import Bundle
from softquery.errors import BundleError, ConfigError
from softquery.measure import ClassMetric, relations_of
from softquery.text import Reading, TextConfig, TextPipeline


def fitting_pipeline(bundle: Bundle) -> TextPipeline:
    """A bundle's text pipeline, refused where the model was made for another vocabulary."""
    try:
        config = TextConfig.from_dict(bundle.config.text)
    except ConfigError as error:
        raise BundleError(f"{bundle.path / 'config.json'}: {error}") from None
    pipeline = TextPipeline.load(bundle.path, config)
    sizes = bundle.config.model["config"]
    if isinstance(inside := sizes.get("encoder"), dict):  # a BERT under a head
        sizes = inside
    expected = sizes.get("vocab_size", sizes.get("target_vocab_size"))
    if config.unit == "bert" and pipeline.vocab_size < (expected or 0):
        return pipeline  # published tables often end in rows that nothing is numbered by
    if pipeline.vocab_size != expected:
        raise BundleError(
            f"{bundle.tokenizer_path}: holds {pipeline.vocab_size} entries, "
            f"but config.json says {expected}"
        )
    return pipeline


def fitting_source_pipeline(bundle: Bundle, target: TextPipeline) -> TextPipeline:
    """By what a generator reads its sources: a vocabulary of their own, or the target's."""
    path, expected = bundle.source_tokenizer_path, bundle.config.model["config"]
    expected = expected.get("source_vocab_size")
    pipeline = target
    if path is not None:
        pipeline = TextPipeline.load(path.parent, target.config, name=path.name)
    if pipeline.vocab_size != expected:
        raise BundleError(
            f"{path or bundle.tokenizer_path}: holds {pipeline.vocab_size} entries, "
            f"but config.json says {expected} for the source"
        )
    return pipeline


def fitting_calibration(bundle: Bundle) -> Calibration:
    """A bundle's calibration, refused where it was made for other labels."""
    labels = bundle.config.task.get("labels", ())
    try:
        found = Calibration.from_dict(bundle.calibration)
        if found.bias is not None and len(found.bias) != len(labels):
            raise BundleError(
                f"calibration.json: bias has {len(found.bias)} numbers for {len(labels)} labels"
            )
    except BundleError as error:
        raise BundleError(f"{bundle.path}/{error}") from None
    return found


def fitting_reading(bundle: Bundle) -> Reading:
    """How a classifier reads its texts, refused where its settings say nothing sensible."""
    settings = bundle.config.model["config"]
    for name in ("max_sentences", "max_characters"):
        value = settings.get(name, 1)
        if type(value) is not int or value < 0 or (name == "max_sentences" and value < 1):
            raise BundleError(
                f"{bundle.path / 'config.json'}: {name} must be a whole number, got {value!r:.40}"
            )
    return reading_of(settings)


def num_labels(task: dict[str, object]) -> int:
    """How many outputs a choice among labels needs."""
    labels = task.get("labels")
    if not isinstance(labels, (list, tuple)) or not 1 < len(set(labels)) == len(labels):
        raise ValueError(f"task.labels must be two or more different names, got {labels!r:.80}")
    return len(labels)


def num_classes(task: dict[str, object]) -> int:
    """How many outputs a classifier needs, whose metric must fit its labels."""
    metric = task.get("metric", "accuracy")
    if metric not in get_args(ClassMetric):
        raise ValueError(f"task.metric must be one of {', '.join(get_args(ClassMetric))}")
    if metric == "relation_f1" and not relations_of(task.get("labels", ())):  # type: ignore[arg-type]
        raise ValueError("task.labels must name a relation")
    return num_labels(task)


def num_grades(task: dict[str, object]) -> int:
    """How many outputs a grade on a scale needs: one."""
    low, high = task.get("low"), task.get("high")
    if not (isinstance(low, (int, float)) and isinstance(high, (int, float)) and low < high):
        raise ValueError(f"task.low must be under task.high, got {low!r} and {high!r}")
    return 1


def num_outputs_of_a_generator(task: dict[str, object]) -> None:
    """None: a generator has the outputs of its vocabulary, which is checked with it."""
    form = task.get("form", "free")
    if form not in ("free", "couplet"):
        raise ValueError(f"task.form must be free or couplet, got {form!r:.80}")


def num_ends(task: dict[str, object]) -> int:
    """How many outputs a reader needs for each word: where an answer starts, and where it ends."""
    ReadingRules.from_dict(task)
    return 2


def num_tags(task: dict[str, object]) -> int:
    """How many outputs a tagger needs for each word."""
    return len(TagSet.from_dict(task).labels)


def reading_of(settings: Mapping[str, Any]) -> Reading:
    """How the model of these settings reads: one sentence, words to be spelt, or documents.

    >>> reading_of({"max_sentences": 8}), reading_of({"max_characters": 0}).tokens
    (Reading(tokens='ids', max_sentences=8), 'ids')
    """
    return Reading(
        tokens="words" if settings.get("max_characters") else "ids",
        max_sentences=settings.get("max_sentences"),
    )


def limit_of(reading: Reading, pipeline: TextPipeline) -> str:
    """Where texts are cut, in words.

    >>> from softquery.text import TextConfig, build_pipeline
    >>> limit_of(Reading(max_sentences=8), build_pipeline(["a"], TextConfig(max_tokens=9)))
    '8 sentences of 9 tokens'
    """
    words = f"{pipeline.config.max_tokens:,} tokens"
    return (
        words if reading.max_sentences is None else f"{reading.max_sentences} sentences of {words}"
    )
