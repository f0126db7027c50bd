"""What was exported answers as torch does: float32 graphs, logits to 1e-5, alignments likewise."""

from itertools import chain, combinations, product

import numpy as np
import pytest

from small_bundles import exported, make_bundle
from softquery.models.esim import PARTS
from softquery.runtime import load

CLOSE = {"rtol": 0, "atol": 1e-5}
FIRST = [[5, 6, 7, 8], [3], [], [8, 9, 10], [11, 2, 3, 4, 5, 6, 7], [], [1]]
SECOND = [[9, 10], [4, 5, 6, 7, 8], [6, 7], [], [3], [], [1]]
"""Long and short, one token and none."""

SUBSETS = [
    parts
    for parts in chain(*(combinations(PARTS, count) for count in range(1, 5)))
    if parts != ("own",)
]
CASES = [
    *(
        {"name": "esim", "cell": cell, "outputs": outputs}
        for cell, outputs in product(("lstm", "gru"), (1, 2, 3))
    ),
    *({"name": "esim", "parts": parts} for parts in SUBSETS),
    {"name": "esim", "parts": ("product", "difference"), "cell": "gru"},
    *(
        {"name": "esim", "composer": composer, "projection_size": 7, "composer_size": 9}
        for composer in ("lstm", "gru", "feedforward", "convolution")
    ),
    {"name": "esim", "composer": "convolution", "parts": ("aligned", "product"), "outputs": 1},
    {"name": "esim", "cell": "gru", "composer": "feedforward", "projection_size": 16},
    *({"name": "esim", "alignment_size": 5, "parts": parts} for parts in SUBSETS),
    *(
        {"name": "esim", "alignment_size": size, "composer": composer, "projection_size": 7}
        for size, composer in ((4, "convolution"), (6, "gru"), (30, "feedforward"))
    ),
    *(
        {"name": "siamese", "pooling": pooling, "head": head, "outputs": outputs}
        for pooling, (head, outputs) in product(
            ("mean", "max", "attentive"),
            (("cosine", 1), ("cosine", 2), ("features", 1), ("features", 2), ("features", 3)),
        )
    ),
    {"name": "siamese", "cell": "gru", "pooling": "attentive"},
    *(
        {"name": "decomposable", "max_distance": distance, "outputs": outputs}
        for distance, outputs in ((10, 3), (2, 2), (0, 3), (0, 1))
    ),
]


def shown(case):
    return "-".join("+".join(v) if isinstance(v, tuple) else str(v) for v in case.values())


@pytest.fixture(scope="module", params=CASES, ids=shown)
def both(request, tmp_path_factory):
    """A model on torch, and the same on ONNX Runtime."""
    folder = tmp_path_factory.mktemp("parity")
    bundle = make_bundle(folder / "plain", size=12, spread=False, **request.param)
    report = exported(bundle, folder / "exported")
    assert report.precision == "float32"
    assert report.difference <= 1e-5
    theirs = load(bundle, backend="torch", device="cpu").backend
    return theirs, load(report.bundle, backend="onnx", threads=1).backend


def test_logits_straight_from_ids(both):
    theirs, ours = both
    wanted = theirs.pair_logits(FIRST, SECOND)
    np.testing.assert_allclose(ours.pair_logits(FIRST, SECOND), wanted, **CLOSE)
    if wanted.shape[1] > 1:
        assert np.ptp(wanted, axis=0).max() > 0.01  # or else nothing was compared


def test_one_first_side_meets_many(both):
    theirs, ours = both
    for asked in ([5, 6, 7, 8], [3], []):
        first, second = ours.encode([asked]), ours.encode(SECOND)
        many = ours.compare(first, second)
        wanted = theirs.pair_logits([asked] * len(SECOND), SECOND)
        np.testing.assert_allclose(many, wanted, **CLOSE)
        pairwise = [ours.compare(first, [each])[0] for each in second]
        np.testing.assert_allclose(many, pairwise, **CLOSE)
        torch_many = theirs.compare(theirs.encode([asked]), theirs.encode(SECOND))
        np.testing.assert_allclose(torch_many, wanted, **CLOSE)


def test_alignments(both):
    theirs, ours = both
    for first, second in zip(FIRST, SECOND, strict=True):
        aligned = [
            backend.align(*(backend.encode([side])[0] for side in (first, second)))
            for backend in both
        ]
        if aligned[0] is None:
            assert aligned[1] is None
            continue
        for wanted, found in zip(*aligned, strict=True):
            np.testing.assert_allclose(found, wanted, **CLOSE)
        weights = aligned[1].first_to_second[: len(first), : len(second)]
        np.testing.assert_allclose(weights.sum(axis=1), 1.0 if second else 0.0, atol=1e-5)


def test_encodings_do_not_depend_on_their_company(both):
    _, ours = both
    for alone, together in zip(
        (ours.encode([each])[0] for each in FIRST), ours.encode(FIRST), strict=True
    ):
        np.testing.assert_allclose(together, alone, **CLOSE)


def test_an_esim_without_alignment_is_refused(tmp_path):
    from softquery.errors import ConfigError

    bundle = make_bundle(tmp_path / "plain", size=8, parts=("own",))
    with pytest.raises(ConfigError, match=r"^an ESIM without alignment \(parts = own\) is not exp"):
        exported(bundle, tmp_path / "exported")
    assert not (tmp_path / "exported").exists()
