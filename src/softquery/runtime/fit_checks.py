"""Whether the parts of a bundle fit each other: vocabulary, model and task. Needs no torch."""

from collections.abc import Callable
from typing import get_args

from softquery.answers import Calibration, ReadingRules, TagSet
from softquery.bundle import Bundle
from softquery.errors import BundleError, ConfigError
from softquery.measure import ClassMetric, relations_of
from softquery.runtime.classify.inputs import reading_of
from softquery.text import TextConfig, TextInput, TextPipeline


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


def fitting_reading(bundle: Bundle) -> TextInput:
    """How a classifier reads its texts, refused where its settings say nothing sensible."""
    settings = bundle.config.model["config"]
    for name in ("max_sentences", "max_characters"):
        value = settings.get(name, 1)
        if type(value) is not int or value < 0 or (name == "max_sentences" and value < 1):
            raise BundleError(
                f"{bundle.path / 'config.json'}: {name} must be a whole number, got {value!r:.40}"
            )
    return reading_of(settings)


def check_task(bundle: Bundle) -> None:
    """Refuse a task that is not one, or that the model's outputs cannot answer."""
    task = bundle.config.task
    checks: dict[str, Callable[[dict[str, object]], int | None]] = {
        "match": _num_labels,
        "grade": _num_grades,
        "tag": _num_tags,
        "classify": _num_classes,
        "read": _num_ends,
        "generate": _no_labels,
    }
    place = bundle.path / "config.json"
    if task["name"] not in checks:
        raise BundleError(f"{place}: unknown task {task['name']!r} (known: {', '.join(checks)})")
    try:
        num_answers = checks[task["name"]](task)
    except ValueError as error:
        raise BundleError(f"{place}: {error}") from None
    num_outputs = bundle.config.model["config"].get("output_size")
    if num_outputs != num_answers:
        raise BundleError(
            f"{place}: the model has {num_outputs} outputs, but its task needs {num_answers}"
        )


def _num_labels(task: dict[str, object]) -> int:
    labels = task.get("labels")
    if not isinstance(labels, (list, tuple)) or not 1 < len(set(labels)) == len(labels):
        raise ValueError(f"task.labels must be two or more different names, got {labels!r:.80}")
    return len(labels)


def _num_classes(task: dict[str, object]) -> int:
    metric = task.get("metric", "accuracy")
    if metric not in get_args(ClassMetric):
        raise ValueError(f"task.metric must be one of {', '.join(get_args(ClassMetric))}")
    if metric == "relation_f1" and not relations_of(task.get("labels", ())):  # type: ignore[arg-type]
        raise ValueError("task.labels must name a relation")
    return _num_labels(task)


def _num_grades(task: dict[str, object]) -> int:
    low, high = task.get("low"), task.get("high")
    if not (isinstance(low, (int, float)) and isinstance(high, (int, float)) and low < high):
        raise ValueError(f"task.low must be under task.high, got {low!r} and {high!r}")
    return 1


def _no_labels(task: dict[str, object]) -> None:
    """What is written has the outputs of its vocabulary, which is checked with it."""
    form = task.get("form", "free")
    if form not in ("free", "couplet"):
        raise ValueError(f"task.form must be free or couplet, got {form!r:.80}")


def _num_ends(task: dict[str, object]) -> int:
    ReadingRules.from_dict(task)
    return 2


def _num_tags(task: dict[str, object]) -> int:
    return len(TagSet.from_dict(task).labels)
