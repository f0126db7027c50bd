"""A bundle that generates text: translations, lower lines of couplets, whatever was learnt."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from softquery.answers import Generated
from softquery.bundle import Bundle
from softquery.decoding import Hypothesis, Rules, Strategy
from softquery.errors import BundleError, ConfigError, InputError
from softquery.explain import GenerationAlignment
from softquery.files import Row
from softquery.runtime.call_checks import listed_texts, one_text
from softquery.runtime.fit_checks import fitting_pipeline, fitting_source_pipeline
from softquery.runtime.generate.request import (
    GenerateRequest,
    RuleMaker,
    SourceText,
    all_found,
    checked_request,
    ranked_both_ways,
    read_sources,
)
from softquery.runtime.given_texts import Texts
from softquery.runtime.kinds import check_kind, check_task
from softquery.runtime.loading import Backend, Source, choose_backend, needs_torch, opened
from softquery.runtime.model_repr import model_repr
from softquery.runtime.opened_by import opened_by
from softquery.text import UNK_ID, TextPipeline

Ids = Sequence[Sequence[int]]
Tell = Callable[[NDArray[np.int64]], object]
CHUNK = 64
"""Sources of a bulk call that are answered together."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TextSearch:
    """How a backend searches texts for some sources.

    Attributes:
        strategy: Greedy, a beam, or samples.
        rules: What the texts of each source must keep to.
        numbers: Of the sources among all, by which samples are drawn.
        weights: Whether the texts come with their attention.
        tell: Takes the tokens of every step, as soon as they are chosen.
    """

    strategy: Strategy
    rules: Sequence[Rules]
    numbers: Sequence[int]
    weights: Literal["hidden", "shown"] = "hidden"
    tell: Tell | None = None


class GenerateBackend(Protocol):
    """Computes for a generator: ONNX Runtime, or torch. Ids come with both ends."""

    @property
    def name(self) -> str:
        """The name of the backend, such as `"onnx"`."""

    @property
    def max_length(self) -> int | None:
        """The most tokens that can be written; None for any number."""

    @property
    def attends(self) -> bool:
        """Whether its decoder looks at the source."""

    def write(
        self,
        sources: Ids,
        search: TextSearch,
    ) -> list[list[Hypothesis]]:
        """Texts for each source, best first."""

    def log_likelihoods(self, sources: Ids, targets: Ids) -> NDArray[np.float64]:
        """Log P(target | source) of every row, the end included."""


@opened_by("softquery.load")
class Generator:
    """Generates a text from a text.

    Args:
        pipeline: Of the bundle: cuts targets, and sources too where no other is given.
        task: What the bundle's config says of its task.
        backend: What computes.
        bundle: The model folder; None for a model that has none yet.
        chunk: Sources that are answered together.
        source_pipeline: Cuts sources, where source and target have vocabularies of their own.
    """

    answers_as = "generator"
    """The kind by which files are answered, whatever the bundle's own is."""

    def __init__(
        self,
        pipeline: TextPipeline,
        task: dict[str, Any],
        backend: GenerateBackend,
        bundle: Bundle | None = None,
        chunk: int = CHUNK,
        source_pipeline: TextPipeline | None = None,
    ) -> None:
        self.source_pipeline = source_pipeline or pipeline
        self.pipeline, self.task, self.backend = pipeline, task, backend
        self._bundle, self.chunk = bundle, chunk
        self.rules = RuleMaker(pipeline, task.get("form", "free"), backend.max_length)

    def __repr__(self) -> str:
        if self._bundle is None:
            return f"{type(self).__name__}(not stored yet, backend={self.backend.name!r})"
        return model_repr(self, form=self.task.get("form", "free"))

    @property
    def bundle(self) -> Bundle:
        """The model folder."""
        if self._bundle is None:
            raise BundleError("this generator has not been stored yet")
        return self._bundle

    @property
    def is_couplet(self) -> bool:
        """Whether it answers the upper line of a couplet."""
        return self.rules.characters is not None

    def predict(self, texts: Texts, request: GenerateRequest | None = None) -> list[Generated]:
        """The best text for each source."""
        found = self.generate(texts, request)
        for number, answers in enumerate(found, 1):
            if not answers:
                raise InputError("the rules leave no text", source="the texts", row=number)
        return [answers[0] for answers in found]

    def generate(
        self, texts: Texts, request: GenerateRequest | None = None, *, first: int = 0
    ) -> list[list[Generated]]:
        """Texts for each source, best first; none where the rules leave none.

        Args:
            texts: Sources.
            request: How to search, and what to keep to.
            first: The number of the first text among all, by which texts are drawn.
        """
        request = checked_request(request)
        sources = read_sources(texts, self.source_pipeline)
        found: list[list[Generated]] = []
        for start in range(0, len(sources), self.chunk):
            chunk = sources[start : start + self.chunk]
            found += self._written(chunk, request, first + start)
        return found

    def stream(
        self, text: str, tell: Callable[[str], object], request: GenerateRequest | None = None
    ) -> list[Generated]:
        """Generate one text, telling each further piece as soon as it is certain.

        Only a search that never takes back a token can be followed: greedy, or one sample.
        """
        source = self._source(text)
        asked = checked_request(request)
        teller = _Teller(self, source, asked, tell)
        (answers,) = self._written([source], asked, 0, tell=teller)
        teller.finish(answers)
        return answers

    def explain(self, text: str, request: GenerateRequest | None = None) -> GenerationAlignment:
        """Where each token of the best answer looked."""
        source = self._source(text)
        if self._bundle is not None and goes_on(self._bundle):
            raise BundleError(
                "a language model has no source to look at; softquery explain with one text shows "
                "its self-attention"
            )
        if not self.backend.attends:
            raise BundleError("this model looks at nothing: its decoder has no attention")
        (answers,) = self._written([source], checked_request(request), 0, weights="shown")
        if not answers:
            raise InputError("the rules leave no text to explain")
        best = answers[0]
        name = "" if self._bundle is None else self._bundle.path.name
        return GenerationAlignment(
            source=text,
            text=best.text,
            source_tokens=("<bos>", *source.tokens, "<eos>"),
            tokens=(*best.tokens, "<eos>"),
            weights=np.moveaxis(np.asarray(best.attention), 0, -2),
            score=best.score,
            model=name,
        )

    def check(self, text: str, request: GenerateRequest) -> None:
        """Refuse, without any search, a text for which what is asked contradicts itself."""
        source = self._source(text)
        self._rules(source, request)

    def rows_within_rules(
        self,
        rows: Iterable[Row],
        request: GenerateRequest,
        on_bad: Callable[[InputError], object] | None = None,
    ) -> Iterator[Row]:
        """The rows that can keep to what is asked.

        Words that no row could keep to are refused at once; a source that contradicts them, by its
        file and row.

        Args:
            rows: With `source`.
            request: What is asked.
            on_bad: Told of a row that is left out; without it, the first one is raised.
        """
        self.rules.check_words(request)
        for row in rows:
            try:
                self.check(row.values["source"], request)
            except InputError as error:
                named = InputError(error.message, source=row.source, row=row.number)
                if on_bad is None:
                    raise named from None
                on_bad(named)
            else:
                yield row

    def log_likelihoods(self, sources: Sequence[str], targets: Sequence[str]) -> tuple[Any, Any]:
        """Log P(target | source) of every row, and how many tokens each target has with its end."""
        sources, targets = listed_texts(sources), listed_texts(targets)
        if len(sources) != len(targets):
            raise ValueError(f"{len(targets)} targets for {len(sources)} sources")
        given = self.source_pipeline.encode_ids(sources), self.pipeline.encode_ids(targets)
        return self.backend.log_likelihoods(*given), np.array([len(t) - 1 for t in given[1]])

    def num_cut(self, texts: Texts) -> int:
        """How many texts are longer than the model's limit."""
        return sum(
            cut > 0 for cut in self.source_pipeline.encode_ids_with_cuts(listed_texts(texts))[1]
        )

    def text_of(self, tokens: Sequence[int], source: SourceText, request: GenerateRequest) -> str:
        """The text that tokens stand for; signs that the model lacks are those of the source."""
        if not self.rules.couplet_rules_of(request):
            return self.pipeline.decode(tokens)
        spelt = [self._spelt(token) for token in tokens]
        return "".join(
            source.tokens[place] if number == UNK_ID and place < len(source.tokens) else entry
            for place, (number, entry) in enumerate(zip(tokens, spelt, strict=True))
        )

    def _source(self, text: str) -> SourceText:
        return read_sources([one_text(text, "the text")], self.source_pipeline)[0]

    def _written(
        self,
        sources: Sequence[SourceText],
        request: GenerateRequest,
        first: int,
        *,
        weights: Literal["hidden", "shown"] = "hidden",
        tell: Tell | None = None,
    ) -> list[list[Generated]]:
        if request.strategy.ranking.coverage and not self.backend.attends:
            raise ConfigError("coverage is counted by attention, and this model has none")
        both_ways, strategy = request.rank == "both_ways", request.strategy
        if both_ways and not self.is_couplet:
            raise ConfigError("ranking both ways is for models of couplets")
        made = [self._rules(source, request) for source in sources]
        found = self.backend.write(
            [source.ids for source in sources],
            TextSearch(
                strategy=all_found(strategy) if both_ways else strategy,
                rules=made,
                numbers=list(range(first, first + len(sources))),
                weights=weights,
                tell=tell,
            ),
        )
        answers = [
            [self._answer(each, source, request) for each in texts]
            for texts, source in zip(found, sources, strict=True)
        ]
        if not both_ways:
            return answers
        uppers = [source.text for source in sources]
        return ranked_both_ways(answers, uppers, strategy, self.log_likelihoods)

    def _rules(self, source: SourceText, request: GenerateRequest) -> Rules:
        rules = self.rules(source, request)
        if request.prefix:
            self.rules.check_prefix(rules, request)
        return rules

    def _answer(self, found: Hypothesis, source: SourceText, request: GenerateRequest) -> Generated:
        return Generated(
            text=self.text_of(found.tokens, source, request),
            score=found.score,
            log_probability=found.log_probability,
            is_cut=found.is_cut and not self.is_couplet,
            tokens=tuple(map(self._spelt, found.tokens)),
            attention=found.attention,
        )

    def _spelt(self, token: int) -> str:
        return str(self.pipeline.tokenizer.id_to_token(int(token)))


class _Teller:
    """Turns tokens into pieces of text that are told once each."""

    def __init__(
        self,
        generator: Generator,
        source: SourceText,
        request: GenerateRequest,
        tell: Callable[[str], object],
    ) -> None:
        self.generator, self.source, self.request, self.tell = generator, source, request, tell
        self.tokens: list[int] = []
        self.told = ""
        self.steps = 0

    def __call__(self, tokens: NDArray[np.int64]) -> None:
        self.steps += 1
        if self.steps == 1 or len(tokens) != 1:  # the beginning of the text is no token of it
            return
        self.tokens.append(int(tokens[0]))
        self._tell(self.generator.text_of(self.tokens, self.source, self.request))

    def finish(self, answers: Sequence[Generated]) -> None:
        if answers:
            self._tell(answers[0].text)

    def _tell(self, text: str) -> None:
        if text.startswith(self.told) and text != self.told:
            self.tell(text[len(self.told) :])
            self.told = text


def goes_on(bundle: Bundle) -> bool:
    """Whether a bundle is a language model that reads from left to right."""
    if bundle.config.kind != "encoder":
        return False
    return bool(bundle.config.model["config"].get("direction", "both") == "left")


def load_generator(
    name_or_path: Source,
    *,
    backend: Backend = "auto",
    threads: int | None = None,
    device: str | None = None,
) -> Generator:
    """Open a generating bundle; the arguments are those of `softquery.load`.

    A language model that reads from left to right is one, too: it goes on from a text.
    """
    bundle = opened(name_or_path)
    if goes_on(bundle):
        from softquery.runtime.generate.continuation import open_continuation

        continuing = open_continuation(bundle, backend, threads, device)
        return Generator(continuing.pipeline, {"form": "free"}, continuing, bundle)
    check_kind(bundle, "generator")
    check_task(bundle)
    pipeline = fitting_pipeline(bundle)
    source = fitting_source_pipeline(bundle, pipeline)
    if not pipeline.config.boundaries:
        raise BundleError(f"{bundle.path / 'config.json'}: a generator's text needs boundaries")
    if choose_backend(bundle, backend, threads, device) == "onnx":
        from softquery.runtime.generate.onnx import OnnxGenerateBackend

        onnx = OnnxGenerateBackend(bundle, pipeline.vocab_size, threads)
        return Generator(pipeline, dict(bundle.config.task), onnx, bundle, source_pipeline=source)
    with needs_torch():
        from softquery.runtime.generate.torch import TorchGenerateBackend, load_generator_model
    model = load_generator_model(bundle, device, threads)
    computing = TorchGenerateBackend(model)
    return Generator(pipeline, dict(bundle.config.task), computing, bundle, source_pipeline=source)
