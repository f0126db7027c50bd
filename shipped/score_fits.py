"""Fits the score of search to many queries at once.

First the evidence: a softmax over the answers of a query and over none, whose log-likelihood is
maximised (the evidence for the rows of an answer adds up, so that no row must be the right one).
Then trust: a logistic regression of what that comes to, and of the circumstances.

Q queries, N rows at most, E kinds of evidence, C circumstances, K columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from softquery.search.score.features import MOST_SHARE

EVIDENCE_PENALTY, TRUST_PENALTY = 5.0, 5.0
"""Of the squares of weights, in queries."""
FIRST = 2
"""Answers of a query whose first rows trust is fitted to."""


@dataclass(frozen=True, slots=True)
class Table:
    """What was found for queries: rows are padded.

    Attributes:
        evidence: [Q, N, E]; 0 for padding.
        circumstances: [Q, C].
        answer: The number of each row's answer: [Q, N]; -1 for padding.
        right: [Q, N].
        answerable: [Q].
    """

    evidence: np.ndarray
    circumstances: np.ndarray
    answer: np.ndarray
    right: np.ndarray
    answerable: np.ndarray

    def __getitem__(self, chosen: np.ndarray) -> "Table":
        return Table(*(getattr(self, name)[chosen] for name in self.__slots__))


@dataclass(frozen=True, slots=True)
class Fit:
    """Weights, each of a column as it is.

    Attributes:
        evidence: [E].
        none: [C].
        none_offset: Added to that.
        trust: Of level, share and the circumstances: [2 + C].
        offset: Added to that.
    """

    evidence: np.ndarray
    none: np.ndarray
    none_offset: float
    trust: np.ndarray
    offset: float

    def columns(self, table: Table) -> np.ndarray:
        """What trust weighs: [Q, N, 2 + C]; minus infinity for the level of padding."""
        own = np.where(table.answer >= 0, table.evidence @ self.evidence, -np.inf)
        none = table.circumstances @ self.none + self.none_offset
        levels = _levels(own, table.answer)
        shares = _shares(levels, table.answer, none)
        shape = (*table.answer.shape, len(self.none))
        rest = np.broadcast_to(table.circumstances[:, None], shape)
        return np.concatenate([levels[..., None], shares[..., None], rest], axis=2)

    def totals(self, table: Table) -> np.ndarray:
        """The log-odds of each row, before calibration: [Q, N]; minus infinity for padding."""
        columns = np.where(np.isfinite(found := self.columns(table)), found, 0.0)
        return np.where(table.answer >= 0, columns @ self.trust + self.offset, -np.inf)


def _by_answer(values: np.ndarray, answer: np.ndarray) -> np.ndarray:
    """The largest value of each answer: [Q, N] by the numbers of answers."""
    found = np.full(values.shape, -np.inf)
    query, row = np.nonzero(answer >= 0)
    np.maximum.at(found, (query, answer[query, row]), values[query, row])
    return found


def _levels(own: np.ndarray, answer: np.ndarray) -> np.ndarray:
    """As `softquery.search.score.features.levels_of`, for all queries."""
    top = own.max(axis=1, keepdims=True, initial=-1e9)
    sums = np.zeros(own.shape)
    query, row = np.nonzero(answer >= 0)
    np.add.at(sums, (query, answer[query, row]), np.exp(own - top)[query, row])
    best = _by_answer(own, answer)
    levels = np.full(own.shape, -np.inf)
    place = query, answer[query, row]
    mass = np.log(np.maximum(sums[place], 1e-300))
    levels[query, row] = own[query, row] - best[place] + mass + top[query, 0]
    return levels


def _shares(levels: np.ndarray, answer: np.ndarray, none: np.ndarray) -> np.ndarray:
    """As `softquery.search.score.features.shares_of`, for all queries."""
    top = np.maximum(levels.max(axis=1, initial=-1e9), none)[:, None]
    masses = np.exp(_by_answer(levels, answer) - top)
    others = masses.sum(axis=1, keepdims=True) - masses + np.exp(none[:, None] - top)
    query, row = np.nonzero(answer >= 0)
    shares = np.zeros(levels.shape)
    rivals = np.log(np.maximum(others[query, answer[query, row]], 1e-300)) + top[query, 0]
    shares[query, row] = np.clip(levels[query, row] - rivals, -MOST_SHARE, MOST_SHARE)
    return shares


def fit(
    table: Table, weights: np.ndarray, trust_weights: np.ndarray, rising: Sequence[int] = (0, 1)
) -> Fit:
    """Fit evidence and trust.

    Args:
        table: What was found for the queries.
        weights: What each query counts for the evidence: [Q].
        trust_weights: And for trust: [Q].
        rising: Columns of trust that can only raise the score.
    """
    evidence, none, none_offset = fit_evidence(table, weights)
    found = Fit(evidence, none, none_offset, np.zeros(2 + len(none)), 0.0)
    columns = found.columns(table)
    rows, right, counts = [], [], []
    for query, row in zip(*_first_rows(columns[..., 0], table.answer), strict=True):
        rows.append(columns[query, row])
        right.append(table.right[query, row])
        counts.append(trust_weights[query])
    trust, offset = fit_logistic(
        np.array(rows), np.array(right, dtype=np.float64), np.array(counts), rising
    )
    return Fit(evidence, none, none_offset, trust, offset)


def _first_rows(levels: np.ndarray, answer: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The best row of each of the first answers."""
    is_best = np.zeros(levels.shape, dtype=np.bool_)
    left = levels.copy()
    every = np.arange(len(levels))
    for _ in range(FIRST):
        row = left.argmax(axis=1)
        is_best[every, row] = np.isfinite(left[every, row])
        left[answer == answer[every, row][:, None]] = -np.inf
    return np.nonzero(is_best)


def fit_evidence(table: Table, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """The weights of evidence, and of the circumstances for none.

    Queries whose answer was not recalled say nothing of either.
    """
    kept = ~table.answerable | table.right.any(axis=1)
    table, weights = table[kept], weights[kept]
    known = table.answer >= 0
    scale = table.evidence[known].std(axis=0) + 1e-9
    centre, spread = table.circumstances.mean(axis=0), table.circumstances.std(axis=0) + 1e-9
    evidence = torch.tensor(table.evidence / scale, dtype=torch.float32)
    circumstances = torch.tensor((table.circumstances - centre) / spread, dtype=torch.float32)
    mask, right = torch.tensor(known), torch.tensor(table.right)
    counts = torch.tensor(weights / weights.sum(), dtype=torch.float32)
    beta = torch.zeros(evidence.shape[2], requires_grad=True)
    gamma = torch.zeros(circumstances.shape[1] + 1, requires_grad=True)
    search = torch.optim.LBFGS(
        [beta, gamma], max_iter=60, history_size=20, line_search_fn="strong_wolfe"
    )

    def loss() -> torch.Tensor:
        search.zero_grad()
        own = (evidence @ beta).masked_fill(~mask, -1e9)
        none = circumstances @ gamma[:-1] + gamma[-1]
        every = torch.logsumexp(torch.cat([own, none[:, None]], 1), 1)
        wanted = torch.logsumexp(own.masked_fill(~right, -1e9), 1)
        wanted = torch.where(right.any(1), wanted, none)
        penalty = EVIDENCE_PENALTY * (beta**2).sum() / len(evidence)
        found = (counts * (every - wanted)).sum() + penalty
        found.backward()  # type: ignore[no-untyped-call]
        return found

    search.step(loss)
    none = gamma.detach().numpy().astype(np.float64)
    weights_of_none = none[:-1] / spread
    return (
        beta.detach().numpy().astype(np.float64) / scale,
        weights_of_none,
        float(none[-1] - weights_of_none @ centre),
    )


def fit_logistic(
    rows: np.ndarray, right: np.ndarray, weights: np.ndarray, rising: Sequence[int] = ()
) -> tuple[np.ndarray, float]:
    """Weights [K] and offset of a logistic regression, by Newton's method.

    Args:
        rows: [M, K].
        right: Whether each is right: [M].
        weights: What each counts: [M].
        rising: Columns whose weight may not be below 0.
    """
    centre, scale = rows.mean(axis=0), rows.std(axis=0) + 1e-9
    inputs = np.concatenate([(rows - centre) / scale, np.ones((len(rows), 1))], axis=1)
    counts = weights / weights.mean()
    beta = np.zeros(inputs.shape[1])
    may_not_fall = np.zeros(len(beta), dtype=np.bool_)
    may_not_fall[list(rising)] = True
    penalty = np.full(len(beta), TRUST_PENALTY)
    penalty[-1] = 1e-3
    for _ in range(30):
        chance = logistic(inputs @ beta)
        gradient = inputs.T @ (counts * (right - chance)) - penalty * beta
        curvature = (inputs * (counts * chance * (1 - chance))[:, None]).T @ inputs
        curvature += np.diag(penalty)
        free = ~(may_not_fall & (beta <= 0) & (gradient <= 0))
        beta[free] += np.linalg.solve(curvature[np.ix_(free, free)], gradient[free])
        beta = np.where(may_not_fall, np.maximum(beta, 0), beta)
    found = beta[:-1] / scale
    return found, float(beta[-1] - found @ centre)


def logistic(values: np.ndarray) -> np.ndarray:
    """Log-odds as probabilities."""
    return 1 / (1 + np.exp(-np.clip(values, -30, 30)))
