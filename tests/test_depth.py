"""The gradient through the layers of a model: transformers pass, what vanishes or explodes does not."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from gelu_lint.runtime import depth_flow

torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


def layers(depth: int, activation: type[nn.Module], gain: float | None = None) -> nn.Sequential:
    """Linear layers of width 64, with normal weights of standard deviation gain/√64, or those that torch gives."""
    parts: list[nn.Module] = []
    for _ in range(depth):
        linear = nn.Linear(64, 64)
        if gain is not None:
            nn.init.normal_(linear.weight, std=gain / 8)
        parts += [linear, activation()]
    return nn.Sequential(*parts)


def bert(depth: int) -> nn.Module:
    from transformers import BertConfig, BertModel

    sizes = {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 99}
    return BertModel(BertConfig(num_hidden_layers=depth, **sizes))


def test_twelve_layers_of_bert_pass() -> None:
    depth = depth_flow(bert(12), input_ids=torch.randint(0, 99, (2, 7)), attention_mask=torch.ones(2, 7))
    assert depth.why == "" and depth.ok
    paths = [layer.path for layer in depth.layers]
    assert paths[0] == "embeddings.word_embeddings" and paths[-1] == "pooler.dense"
    assert sum("intermediate.dense" in path for path in paths) == 12


@pytest.mark.parametrize("first", [False, True])
def test_twelve_layers_of_torchs_encoder_pass(first: bool) -> None:
    layer = nn.TransformerEncoderLayer(32, 4, 64, activation="gelu", batch_first=True, norm_first=first)
    encoder = nn.TransformerEncoder(layer, 12, enable_nested_tensor=False).eval()
    assert depth_flow(encoder, torch.randn(2, 5, 32)).why == ""


def test_fifty_layers_with_a_sigmoid_vanish() -> None:
    depth = depth_flow(layers(50, nn.Sigmoid), torch.randn(8, 64))
    assert depth.why.startswith("the gradient vanishes on its way to the input: ")
    assert "at 98" in depth.why and "at 0, of 50 such layers (Linear)" in depth.why


def test_fifty_layers_with_big_weights_explode() -> None:
    depth = depth_flow(layers(50, nn.GELU, gain=2.5), torch.randn(8, 64))
    assert depth.why.startswith("the gradient explodes on its way to the input: ")
    assert "at 0," in depth.why and "at 98, of 50 such layers (Linear)" in depth.why


def test_a_few_layers_with_a_gelu_pass() -> None:
    assert depth_flow(layers(4, nn.GELU), torch.randn(8, 64)).ok


def test_a_gradient_that_is_not_finite() -> None:
    model = layers(3, nn.GELU)
    model[2].register_forward_hook(lambda module, inputs, output: output * math.inf)
    assert depth_flow(model, torch.randn(8, 64)).why == "the gradient is not finite at 4 (Linear)"


class Detached(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.first(x).detach())


def test_a_gradient_that_is_cut_off() -> None:
    why = depth_flow(Detached(), torch.randn(2, 4)).why
    assert why.startswith("the gradient is 0 at first (Linear): cut off (detach, ")


def test_frozen_layers_do_not_count() -> None:
    model = Detached()
    model.first.requires_grad_(False)
    depth = depth_flow(model, torch.randn(2, 4))
    assert depth.ok and "frozen" in depth.table()


def test_norms_are_those_of_autograd() -> None:
    """For y = W₂W₁x + … and a gradient of ±1, that at the first layer is W₂ᵀ(±1)."""
    model = nn.Sequential(nn.Linear(3, 3, bias=False), nn.Linear(3, 1, bias=False))
    x = torch.tensor([[1.0, 2.0, 3.0]])
    first, second = depth_flow(model, x).layers
    assert first.signal == pytest.approx(model[1].weight.norm().item(), rel=1e-6)
    assert second.signal == 1.0
    assert second.weights == pytest.approx(model[0](x).norm().item(), rel=1e-6)
    assert first.weights == pytest.approx(first.signal * x.norm().item(), rel=1e-6)


class Outputs(nn.Module):
    """Gives a mapping with a tuple in it, an integer, and None."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor, *, scale: float) -> dict[str, object]:
        return {"pair": (self.a(x), scale * self.b(x)), "count": torch.tensor(3), "none": None}


def test_all_outputs_and_keyword_arguments() -> None:
    depth = depth_flow(Outputs(), torch.randn(2, 4), scale=3.0)
    assert [(layer.path, round(layer.signal, 4)) for layer in depth.layers] == [("a", 2.8284), ("b", 8.4853)]


class Stateful(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear, self.norm, self.drop = nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5)
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return self.drop(self.norm(self.linear(x)))


@pytest.mark.parametrize("training", [False, True])
def test_the_model_is_left_as_it_was(training: bool) -> None:
    model = Stateful().train(training)
    model.norm.eval()
    model.linear.weight.grad = kept = torch.full((4, 4), 7.0)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    state = torch.get_rng_state()
    with torch.no_grad():
        assert depth_flow(model, torch.randn(16, 4, generator=torch.Generator())).ok
        assert not torch.is_grad_enabled()
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert model.linear.weight.grad is kept and bool((kept == 7).all()) and model.norm.weight.grad is None
    assert (model.training, model.norm.training, model.drop.training, model.calls) == (training, False, training, 0)
    assert not model.linear._forward_hooks


def test_the_same_is_found_each_time() -> None:
    model, x = Stateful(), torch.randn(16, 4)
    assert depth_flow(model, x) == depth_flow(model, x)


def test_models_without_a_gradient() -> None:
    with pytest.raises(ValueError, match="no parameter of the model requires a gradient"):
        depth_flow(nn.Linear(2, 2).requires_grad_(False), torch.randn(1, 2))
    model = nn.Linear(2, 2)
    model.register_forward_hook(lambda module, inputs, output: output.argmax())
    with pytest.raises(ValueError, match="gives no floating-point tensor"):
        depth_flow(model, torch.randn(1, 2))


def test_embeddings_with_sparse_gradients() -> None:
    model = nn.Sequential(nn.Embedding(9, 4, sparse=True), nn.Linear(4, 4))
    assert depth_flow(model, torch.tensor([[1, 2]])).ok
