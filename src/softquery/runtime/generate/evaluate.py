"""How good a writer is on sources with their targets: likelihood, BLEU, and rules of couplets."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.answers import Generated
from softquery.decoding import Beam, Greedy, Ranking
from softquery.errors import InputError
from softquery.files import Row
from softquery.measure import (
    CoupletReport,
    TranslationReport,
    bleu_counts,
    bleu_of_counts,
    by_length,
    measure_slices,
    rivals,
)
from softquery.runtime.generate.model import Generator
from softquery.runtime.generate.request import GenerateRequest

NUM_RIVALS = 9


@dataclass(frozen=True, kw_only=True, slots=True)
class GenerateEvaluation:
    """Sources, targets, and what was written for them."""

    writer: Generator
    rows: list[Row]
    request: GenerateRequest
    answers: list[list[Generated]]
    log_likelihoods: NDArray[np.float64]
    num_tokens: NDArray[np.int64]
    greedy: list[str] | None = None
    num_cut: int = 0
    free: list[str] = field(default_factory=list)
    """Lower lines that were written without any rules."""

    @property
    def targets(self) -> list[str]:
        """What should have been written."""
        return [row.values["target"] for row in self.rows]

    @property
    def texts(self) -> list[str]:
        """The best answers; nothing where the rules left none."""
        return [each[0].text if each else "" for each in self.answers]

    def report(self, *, num_samples: int = 1000) -> dict[str, Any]:
        """All metrics of the task."""
        mean = float(self.log_likelihoods.sum() / self.num_tokens.sum())
        found: dict[str, Any] = {
            "log_likelihood": mean,
            "perplexity": math.exp(min(-mean, 700.0)),
            "num_tokens": int(self.num_tokens.sum()),
            "n": len(self.rows),
        }
        tokens = self.writer.task.get("bleu", "13a")
        if tokens != "none":
            best = TranslationReport.of(
                self.texts, self.targets, tokens=tokens, num_samples=num_samples
            )
            found |= best.to_dict()
            if self.greedy is not None:
                plain = TranslationReport.of(self.greedy, self.targets, tokens=tokens)
                found["bleu_greedy"] = plain.bleu
        if self.writer.is_couplet:
            found |= self._couplets()
        return found

    def slices(self, by: str) -> list[dict[str, Any]]:
        """BLEU by length of the source in tokens."""
        tokens = self.writer.task.get("bleu", "13a")
        if by != "length" or tokens == "none":
            raise InputError(
                f"cannot slice by {by!r}; expected length, with BLEU", source=self.rows[0].source
            )
        ids = self.writer.source_pipeline.encode_ids([row.values["source"] for row in self.rows])
        counts = bleu_counts(self.texts, self.targets, tokens=tokens)
        groups = by_length([len(each) - 2 for each in ids])
        parts = measure_slices(groups, {"bleu": bleu_of_counts}, counts)
        return [part.to_dict() for part in parts]

    def mistakes(self) -> list[dict[str, Any]]:
        """Answers that differ from their targets, the least likely target first."""
        order = np.argsort(self.log_likelihoods / self.num_tokens, kind="stable").tolist()
        return [
            {
                "source": self.rows[place].values["source"],
                "target": self.targets[place],
                "text": self.texts[place],
                "log_likelihood": round(float(self.log_likelihoods[place]), 4),
                "row": self.rows[place].number,
            }
            for place in order
            if self.texts[place] != self.targets[place]
        ]

    def _couplets(self) -> dict[str, Any]:
        """Each rule, with and without constraints, and the true line's rank among ten."""
        uppers = [row.values["source"] for row in self.rows]
        found: dict[str, Any] = CoupletReport.of(uppers, self.texts).to_dict()
        found |= self._ranked(uppers)
        if self.free:
            found["without_rules"] = CoupletReport.of(uppers, self.free).to_dict()
        return found

    def _ranked(self, uppers: Sequence[str]) -> dict[str, Any]:
        """How often the true lower line fits its upper line better than nine others of its length.

        A line fits by how much likelier it is there than after other upper lines, because a common
        line is likely after any (Li et al. 2016, Section 4.1), and by how well the upper line is
        foretold from it, because both lines of a couplet answer each other. By likelihood alone is
        told, too.
        """
        others = rivals(self.targets, count=NUM_RIVALS)
        ranked = [place for place, each in enumerate(others) if each]
        if not ranked:
            return {"ranked_first": None, "num_ranked": 0}
        pairs = [(place, line) for place in ranked for line in (place, *others[place])]
        usual = self._usual_likelihoods(uppers)
        likely = self._likelihoods_of(uppers, pairs)
        fits = likely - [usual(line, place) for place, line in pairs]
        fits += self._likelihoods_of(uppers, pairs, backwards=True)
        likely, fits = (each.reshape(-1, 1 + NUM_RIVALS) for each in (likely, fits))
        rank = 1 + (~(fits[:, 1:] < fits[:, :1])).sum(axis=1)
        return {
            "ranked_first": float((rank == 1).mean()),
            "ranked_first_by_likelihood": float((likely[:, 1:] < likely[:, :1]).all(axis=1).mean()),
            "mean_reciprocal_rank": float((1 / rank).mean()),
            "num_ranked": len(rank),
        }

    def _usual_likelihoods(self, uppers: Sequence[str]) -> Callable[[int, int], float]:
        """The mean log-likelihood of a lower line after nine upper lines, this one left out."""
        strangers = rivals(self.targets, count=NUM_RIVALS, seed=1)
        pairs = [(other, place) for place, each in enumerate(strangers) for other in each]
        likelihoods: list[float] = self._likelihoods_of(uppers, pairs).tolist()
        scores = dict(zip(pairs, likelihoods, strict=True))

        def usual(line: int, upper: int) -> float:
            found = [scores[other, line] for other in strangers[line] if other != upper]
            return sum(found) / len(found)

        return usual

    def _likelihoods_of(
        self, uppers: Sequence[str], pairs: Sequence[tuple[int, int]], *, backwards: bool = False
    ) -> NDArray[np.float64]:
        """Of lower lines after upper lines, both by their places; or of the upper ones."""
        sides = [uppers[upper] for upper, _ in pairs], [self.targets[lower] for _, lower in pairs]
        found, _ = self.writer.log_likelihoods(*(sides[::-1] if backwards else sides))
        scores: NDArray[np.float64] = np.asarray(found, dtype=np.float64)
        return scores


def evaluate_generator(
    writer: Generator,
    rows: Sequence[Row],
    *,
    beam: int = 5,
    length_penalty: float = 1.0,
    advance: Callable[[int], object] = lambda done: None,
) -> GenerateEvaluation:
    """Write for every source and keep what was written.

    Args:
        writer: The model.
        rows: With `source` and `target`.
        beam: Width of the search.
        length_penalty: Of the search.
        advance: Told how many rows are done.
    """
    if not rows:
        raise InputError("there are no rows to evaluate on")
    ranking = Ranking(length=length_penalty)
    request = GenerateRequest(strategy=Beam(size=beam, ranking=ranking))
    sources = [row.values["source"] for row in rows]
    scores, num_tokens = writer.log_likelihoods(sources, [row.values["target"] for row in rows])
    answers: list[list[Generated]] = []
    for start in range(0, len(sources), writer.chunk):
        answers += writer.generate(sources[start : start + writer.chunk], request)
        advance(len(answers))
    greedy = replace(request, strategy=Greedy(ranking=ranking))
    return GenerateEvaluation(
        writer=writer,
        rows=list(rows),
        request=request,
        answers=answers,
        log_likelihoods=scores,
        num_tokens=num_tokens,
        greedy=_best(writer, sources, greedy) if writer.task.get("bleu") != "none" else None,
        num_cut=writer.num_cut(sources),
        free=_best(writer, sources, replace(request, rules=())) if writer.is_couplet else [],
    )


def _best(writer: Generator, sources: Sequence[str], request: GenerateRequest) -> list[str]:
    return [each[0].text if each else "" for each in writer.generate(sources, request)]
