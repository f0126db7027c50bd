"""Nothing here asks the data what to do next: graphs may capture it, exporters may trace it."""

import pytest
import torch

from softquery.attention import (
    Additive,
    MultiHead,
    attend,
    causal_mask,
    cosine,
    fused_attend,
    hard_attend,
    padding_mask,
    straight_through,
)


def ask_everything(device: str) -> list[torch.Tensor]:
    query, key = torch.ones(2, 3, 4, device=device), torch.ones(2, 5, 4, device=device)
    lengths = torch.full((2,), 3, device=device)
    mask = padding_mask(lengths, 5)[:, None] & causal_mask(3, 5, device=device)
    additive = Additive(4, 4, 6).to(device)
    heads = MultiHead(4, 2, dropout=0.1).to(device)
    memory = heads.remember(key, key, past=heads.remember(key, key))
    return [
        attend(query, key, key, score=cosine, mask=mask, dropout=0.1).mixed,
        attend(query, key, key, score=additive, mask=mask).mixed,
        hard_attend(query, key, key, mask=mask).mixed,
        straight_through(query, key, key, mask=mask).mixed,
        fused_attend(query, key, key, mask=mask, causal=True, dropout=0.1),
        heads(query, key, key, mask=mask).mixed,
        heads.mix(query, memory, causal=True),
    ]


def test_shapes_alone_decide_what_is_computed():
    # On the meta device there are no numbers to look at: any look at one raises.
    assert {tuple(answer.shape) for answer in ask_everything("meta")} == {(2, 3, 4)}


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_cuda_graphs_capture_forward_and_backward():
    torch.manual_seed(0)
    query, key, value = (
        torch.randn(2, length, 8, device="cuda", requires_grad=True) for length in (3, 5, 5)
    )
    mask = padding_mask(torch.tensor([5, 2], device="cuda"), 5)[:, None]

    def step() -> list[torch.Tensor]:
        mixed = attend(query, key, value, mask=mask).mixed
        mixed = mixed + fused_attend(query, key, value, mask=mask)
        return [mixed, *torch.autograd.grad(mixed.square().sum(), (query, key, value))]

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = step()
    mask.copy_(padding_mask(torch.tensor([3, 0], device="cuda"), 5)[:, None])  # a blind sentence
    graph.replay()
    for found, expected in zip(captured, step(), strict=True):
        assert found.isfinite().all()
        torch.testing.assert_close(found, expected)
