"""Questions about contexts: SQuAD's JSON, or JSONL."""

import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from torch import Tensor, nn

from softquery.answers import (
    ContextWindows,
    ReadingRules,
    WindowedContext,
    choose_answers,
    make_windows,
)
from softquery.data import NO_ANSWER, PieceWindows, Questions, encode_piece_windows, encode_windows
from softquery.errors import ConfigError, InputError, counted
from softquery.files import NOWHERE, QUESTION_FORMS, AskedQuestion, read_questions
from softquery.models import REGISTRY
from softquery.recipes import ReadSettings, Run
from softquery.running.adapter import (
    Prepared,
    TaskAdapter,
    bucketed_slots,
    check_finite,
    vocabulary_of,
)
from softquery.running.row_checks import Rows
from softquery.running.run_options import Say
from softquery.runtime.read.torch import span_scores
from softquery.runtime.torch_models import max_characters
from softquery.tasks import SpanReading
from softquery.text import TextPipeline
from softquery.training import TrainingPlan

Label = tuple[int, int]
NONE: Label = (NO_ANSWER, NO_ANSWER)


class ReadAdapter(TaskAdapter):
    """TextInput as a `TaskAdapter`."""

    kind: ClassVar[str] = "reader"
    noun: ClassVar[str] = "questions"
    forms: ClassVar[Sequence[str] | None] = QUESTION_FORMS

    def parse(self, path: Path, rename: Mapping[str, str] | None) -> Iterable[AskedQuestion]:
        """The questions of a file."""
        return read_questions(path, rename=rename)

    def group(self, row: AskedQuestion) -> Hashable:
        """Questions about one context stay together."""
        return row.context

    def identity(self, row: AskedQuestion) -> Hashable:
        """The question with its context."""
        return row.question, row.context

    def chance(self, prepared: Prepared, split: str) -> float | None:
        """No answer to any question."""
        rows: list[AskedQuestion] = prepared.rows[split]
        return sum(not row.answers for row in rows) / len(rows)

    def written(self, row: AskedQuestion) -> str:
        """All but the id."""
        return json.dumps([row.question, row.context, row.answers], ensure_ascii=True)

    def settle(self, run: Run, rows: Rows, labels: Sequence[str], say: Say) -> Run:
        """Whether contexts without an answer are among the training questions."""
        if isinstance(run.task, SpanReading):
            rules = run.task.rules.to_dict()
            settings = ReadSettings(**rules, consistency=run.task.consistency)
        else:
            settings = run.settings if isinstance(run.settings, ReadSettings) else ReadSettings()
        without = sum(not row.answers for row in (*rows["train"], *rows["tune"]))
        if without:
            settings = replace(settings, no_answer="learnt")
            many = counted(without, "question has", "questions have")
            say(f"{many} no answer: that there may be none is learnt")
        model = replace(run.model, no_answer=settings.no_answer)
        task = SpanReading(rules=settings.rules, consistency=settings.consistency)
        return replace(run, settings=settings, task=task, model=model)

    def build_pipeline(self, run: Run, rows: Rows) -> TextPipeline:
        """The words of all questions, and of every context once."""
        if run.text.unit in ("bpe", "wordpiece"):
            raise ConfigError(f"a reader reads words; text.unit is {run.text.unit!r}")
        read = rows["train"]
        texts = dict.fromkeys(text for row in read for text in (row.context, row.question))
        return vocabulary_of(run, texts)

    def encode(
        self,
        rows: list[AskedQuestion],
        prepared: Prepared,
        say: Say,
        name: str,
        *,
        to_train: bool = False,
    ) -> Questions | PieceWindows:
        """Windows of words; to train on, those that say something about the answer."""
        rules: ReadingRules = prepared.task.rules
        size = prepared.pipeline.config.max_tokens
        pairs = [(row.question, row.context) for row in rows]
        windowed = make_windows(pairs, prepared.pipeline, rules.sliding_window(size))
        tokens = prepared.pipeline.config.noun
        if windowed.num_long:
            many = counted(windowed.num_long, "context is", "contexts are")
            say(f"{name}: {many} longer than {size} {tokens}; read in windows")
        if windowed.num_cut:
            many = counted(windowed.num_cut, "question was", "questions were")
            say(f"{name}: {many} cut at {rules.max_question} {tokens}")
        labels = None
        if to_train:
            windowed, labels = labelled_windows(rows, windowed, rules)
            left_out = len(rows) - windowed.num_asked
            if left_out:
                many = counted(left_out, "question is", "questions are")
                say(f"{name}: {many} left out; no window holds the answer")
        if REGISTRY[prepared.run.model_name()].has_encoder:
            pieces = encode_piece_windows(windowed.windows, prepared.pipeline, labels=labels)
            return replace(pieces, windowed=windowed.without_windows())
        longest = max_characters(prepared.run.model)
        made = encode_windows(
            windowed.windows, prepared.pipeline, max_characters=longest, labels=labels
        )
        return replace(made, windowed=windowed.without_windows())

    def num_trained(self, rows: list[AskedQuestion], train: Questions | PieceWindows) -> int:
        """Those of which some window was kept."""
        return _windowed_of(train).num_asked

    def plan(
        self, prepared: Prepared, train: Questions | PieceWindows, tune: Questions | PieceWindows
    ) -> TrainingPlan:
        """Shuffled batches, and F1 of what was held back."""
        if not len(train):
            source = prepared.rows["train"][0].source
            raise InputError("no answer to any question lies within one window", source=source)

        def measure(model: nn.Module) -> dict[str, float]:
            found = self._report(prepared, model, tune, prepared.rows["tune"], num_samples=1)
            return {f"tune_{name}": found[name] for name in ("f1", "exact_match")}

        return TrainingPlan(
            slots=bucketed_slots(prepared.run, train.lengths().cpu()),
            make_batch=_batches(train, twice=prepared.task.consistency > 0),
            measure=measure,
        )

    def report(
        self, prepared: Prepared, model: nn.Module, dev: Questions | PieceWindows
    ) -> dict[str, Any]:
        """Exact match and F1."""
        return self._report(prepared, model, dev, prepared.rows["dev"])

    def _report(
        self,
        prepared: Prepared,
        model: nn.Module,
        questions: Questions | PieceWindows,
        rows: Sequence[AskedQuestion],
        *,
        num_samples: int = 1000,
    ) -> dict[str, Any]:
        scores = span_scores(model, questions)
        check_finite(all(np.isfinite(part).all() for each in scores for part in each[:2]))
        rules: ReadingRules = prepared.task.rules
        answers = choose_answers(
            _windowed_of(questions),
            scores,
            max_words=rules.max_words,
            abstain_below=rules.abstain_below,
        )
        found: dict[str, Any] = prepared.task.report(
            [[answer.text for answer in row.answers] for row in rows],
            [answer.text for answer in answers],
            num_samples=num_samples,
        )
        return found


def _batches(train: Questions | PieceWindows, *, twice: bool) -> Callable[[Tensor, int], Any]:
    """Batches of windows, with each window twice where two passes are to agree.

    All questions are padded to one length, so that a recorded step has one shape per length of a
    context; pieces of a question and of its context are one row.
    """
    length_of_question = None if isinstance(train, PieceWindows) else train.question_length()

    def make_batch(rows: Tensor, length: int) -> Any:
        rows = rows.repeat(2) if twice else rows
        if isinstance(train, PieceWindows):
            return train.batch(rows, length)
        return train.batch(rows, length, question_length=length_of_question or 1)

    return make_batch


def labelled_windows(
    rows: Sequence[AskedQuestion], windowed: ContextWindows, rules: ReadingRules
) -> tuple[ContextWindows, list[Label]]:
    """Windows that can be learnt from, with the first and last word of the answer on each.

    Of several answers the first that stands in the context is taken. A window without it says that
    there is none, where that is learnt; a question whose answers stand nowhere says nothing.
    """
    spans = [_words_of(row, context) for row, context in zip(rows, windowed.contexts, strict=True)]
    kept, labels = [], []
    for number, (window, place) in enumerate(zip(windowed.windows, windowed.places, strict=True)):
        span = spans[place.pair]
        first, last = (each - place.first for each in span or NONE)
        is_here = span is not None and 0 <= first <= last < len(window.words)
        is_nowhere = span is not None or not rows[place.pair].answers
        if is_here or (is_nowhere and rules.no_answer == "learnt"):
            kept.append(number)
            labels.append((first, last) if is_here else NONE)
    chosen = replace(
        windowed,
        windows=[windowed.windows[number] for number in kept],
        places=[windowed.places[number] for number in kept],
    )
    return chosen, labels


def _windowed_of(questions: Questions | PieceWindows) -> ContextWindows:
    if questions.windowed is None:
        raise TypeError("these windows do not know where they come from")
    return questions.windowed


def _words_of(row: AskedQuestion, context: WindowedContext) -> Label | None:
    """The first and last word of the first answer that stands in the context."""
    for text, start in row.answers:
        found = None if start == NOWHERE else context.words_at(start, start + len(text))
        if found is not None:
            return found
    return None
