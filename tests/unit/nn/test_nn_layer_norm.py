"""Layer normalisation: torch's own, and half precision under autocast."""

import torch
from torch import nn

from softquery.nn import LayerNorm


def test_without_autocast_it_is_torchs_own():
    torch.manual_seed(1)
    ours, theirs = LayerNorm(8, eps=1e-12), nn.LayerNorm(8, eps=1e-12)
    nn.init.normal_(ours.weight)
    theirs.load_state_dict(ours.state_dict())
    states = torch.randn(3, 5, 8)
    assert torch.equal(ours(states), theirs(states))


def test_under_autocast_the_answer_has_half_precision_and_parameters_learn():
    torch.manual_seed(1)
    norm = LayerNorm(8)
    for given in (torch.float32, torch.bfloat16):
        states = torch.randn(4, 8).to(given).requires_grad_()
        with torch.autocast("cpu", torch.bfloat16):
            answer = norm(states)
        assert answer.dtype == torch.bfloat16
        wanted = nn.functional.layer_norm(states.float(), (8,))
        torch.testing.assert_close(answer.float(), wanted, rtol=0.02, atol=0.02)
        answer.float().pow(3).sum().backward()
        assert norm.weight.grad is not None
        assert norm.weight.grad.dtype == torch.float32
        assert states.grad is not None
        assert states.grad.abs().sum() > 0
