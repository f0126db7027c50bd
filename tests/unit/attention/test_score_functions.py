import pytest
import torch
from torch.autograd import gradcheck

from softquery.attention import Additive, Bilinear, Concat, Score, cosine, dot, scaled_dot

HALF_AND_FULL = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


def learned_scores() -> list[Score]:
    torch.manual_seed(0)
    return [Bilinear(3, 4), Additive(3, 4, 5), Concat(3, 4, 5)]


@pytest.mark.parametrize("score", learned_scores(), ids=lambda score: type(score).__name__)
def test_learned_scores_have_right_gradients_for_inputs_and_parameters(score):
    score = score.double()
    parameters = dict(score.named_parameters())
    query = torch.randn(2, 2, 3, dtype=torch.float64, requires_grad=True)
    key = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)

    def logits(query, key, *values):
        named = dict(zip(parameters, values, strict=True))
        return torch.func.functional_call(score, named, (query, key))

    assert gradcheck(logits, (query, key, *parameters.values()))


@pytest.mark.parametrize("score", [dot, scaled_dot, cosine])
def test_plain_scores_have_right_gradients(score):
    torch.manual_seed(1)
    query = torch.randn(2, 2, 3, dtype=torch.float64, requires_grad=True)
    key = torch.randn(2, 4, 3, dtype=torch.float64, requires_grad=True)
    assert gradcheck(score, (query, key))


def test_concat_equals_additive_with_the_matrix_split():
    concat, additive = Concat(3, 4, 5), Additive(3, 4, 5)
    with torch.no_grad():
        additive.query_projection.weight.copy_(concat.projection.weight[:, :3])
        additive.key_projection.weight.copy_(concat.projection.weight[:, 3:])
        additive.energy.weight.copy_(concat.energy.weight)
    query, key = torch.randn(2, 6, 3), torch.randn(2, 7, 4)
    torch.testing.assert_close(concat(query, key), additive(query, key))


def test_additive_compares_keys_projected_beforehand():
    score = Additive(3, 4, 5)
    query, key = torch.randn(2, 1, 3), torch.randn(2, 7, 4)
    projected = score.compare(score.query_projection(query), score.key_projection(key))
    assert projected.equal(score(query, key))


def test_scaled_dot_keeps_unit_variance_at_any_width():
    torch.manual_seed(2)
    for width in (4, 64, 1024):
        logits = scaled_dot(torch.randn(200, width), torch.randn(200, width))
        assert logits.std().item() == pytest.approx(1.0, abs=0.1)


def test_scaled_dot_survives_where_the_plain_product_overflows_half_precision():
    long = torch.full((1, 64), 40.0, dtype=torch.float16)
    assert dot(long, long).isinf().all()
    assert scaled_dot(long, long).item() == 40.0 * 40.0 * 8


@pytest.mark.parametrize("dtype", HALF_AND_FULL)
def test_cosine_of_the_zero_vector_is_zero_and_its_gradient_of_ordinary_size(dtype):
    query = torch.zeros(1, 2, 3, dtype=dtype, requires_grad=True)
    key = torch.eye(3, dtype=dtype).unsqueeze(0).clone().requires_grad_()
    logits = cosine(query, key)
    logits.sum().backward()
    assert logits.eq(0).all()
    assert query.grad.abs().max() <= 3
    assert key.grad.isfinite().all()


@pytest.mark.parametrize("dtype", HALF_AND_FULL)
@pytest.mark.parametrize("length", [1e-3, 1.0, 300.0])
def test_cosine_ignores_length(dtype, length):
    query = torch.tensor([[3.0, 4.0]], dtype=dtype)
    key = torch.tensor([[4.0, 3.0]], dtype=dtype) * length
    tolerance = 4 * torch.finfo(dtype).eps
    assert cosine(query, key).item() == pytest.approx(0.96, abs=max(tolerance, 1e-3 * length**-1))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_cosine_of_vanishing_vectors_has_finite_gradients(dtype):
    query = torch.full((1, 3), 1e-30, dtype=dtype, requires_grad=True)
    cosine(query, torch.ones(1, 3, dtype=dtype)).sum().backward()
    assert query.grad.isfinite().all()


@pytest.mark.parametrize(
    "score",
    [dot, scaled_dot, cosine, *learned_scores()],
    ids=lambda score: getattr(score, "__name__", type(score).__name__),
)
def test_scores_take_any_number_of_batch_axes(score):
    query_size, key_size = (3, 4) if isinstance(score, torch.nn.Module) else (3, 3)
    query, key = torch.randn(2, 3, 5, query_size), torch.randn(2, 3, 6, key_size)
    logits = score(query, key)
    assert logits.shape == (2, 3, 5, 6)
    torch.testing.assert_close(logits[1, 2], score(query[1, 2], key[1, 2]))
