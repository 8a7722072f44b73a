"""The gradient through the layers of a model: transformers pass, what vanishes or explodes does not."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from gelu_lint.runtime import depth_flow
from gelu_lint.runtime.depth import NotTrainable

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
    """For y = W₂W₁x and a gradient of g, that at the first layer is W₂ᵀg."""
    model = nn.Sequential(nn.Linear(3, 3, bias=False), nn.Linear(3, 1, bias=False))
    x = torch.tensor([[1.0, 2.0, 3.0]])
    first, second = depth_flow(model, x).layers
    assert first.signal == pytest.approx(second.signal * model[1].weight.norm().item(), rel=1e-6)
    assert second.signal > 0
    assert second.weights == pytest.approx(second.signal * model[0](x).norm().item(), rel=1e-6)
    assert first.weights == pytest.approx(first.signal * x.norm().item(), rel=1e-6)


class Outputs(nn.Module):
    """Gives a mapping with a tuple in it, an integer, and None."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor, *, scale: float) -> dict[str, object]:
        return {"pair": (self.a(x), scale * self.b(x)), "count": torch.tensor(3), "none": None}


def test_all_outputs_and_keyword_arguments() -> None:
    """Normal numbers are sent back: eight of them to b, with a norm of about √8, and through the scale to it."""
    a, b = depth_flow(Outputs(), torch.randn(2, 4), scale=3.0).layers
    assert (a.path, b.path) == ("a", "b")
    assert 0.5 < a.signal / math.sqrt(8) < 2 and 1.5 < b.signal / math.sqrt(8) < 6


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


class Odd(nn.Module):
    """Two linear layers, and between them what is given."""

    def __init__(self, between: Callable[[Tensor], object]) -> None:
        super().__init__()
        self.first, self.second, self.between = nn.Linear(4, 4), nn.Linear(4, 4), between

    def forward(self, x: Tensor) -> object:
        return self.second(self.between(self.first(x)))


def test_behind_weights_that_start_at_0() -> None:
    """As in LoRA, adaLN-Zero and ReZero; what is cut off besides is found."""
    model, cut = Odd(torch.relu), Odd(torch.detach)
    for one in (model, cut):
        nn.init.zeros_(one.second.weight)
    assert depth_flow(model, torch.randn(2, 4)).why == ""
    assert not model.second.weight.any()
    assert depth_flow(cut, torch.randn(2, 4)).why.startswith("the gradient is 0 at first (Linear): cut off")


def test_layers_whose_output_is_written_on() -> None:
    assert depth_flow(Odd(lambda x: x.view(2, 2, 2)[:].mul_(2).view(2, 4)), torch.randn(2, 4)).why == ""
    assert depth_flow(Odd(torch.relu_), torch.randn(2, 4)).why == ""


def test_parameters_for_a_case_that_does_not_occur() -> None:
    """The embedding of masked positions of XLNet, say."""
    model = Odd(torch.relu)
    model.mask = nn.Parameter(torch.randn(4))
    depth = depth_flow(model, torch.randn(2, 4))
    assert depth.why == "" and depth.layers[-1].weights is None


@pytest.mark.parametrize("training", [True, False])
def test_a_batch_norm_of_one_sample(training: bool) -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.GELU()).train(training)
    assert depth_flow(model, torch.randn(1, 4)).why == ""
    assert model.training == model[1].training == training


@dataclasses.dataclass
class Given:
    y: Tensor
    count: int = 3


def test_a_dataclass_is_looked_into() -> None:
    model = Odd(torch.relu)
    model.register_forward_hook(lambda module, inputs, output: Given(output))
    assert len(depth_flow(model, torch.randn(2, 4)).layers) == 2


def test_no_gradient_at_all() -> None:
    model = Odd(torch.relu)
    model.register_forward_hook(lambda module, inputs, output: output.detach())
    assert "what the model gives is cut off from its parameters" in depth_flow(model, torch.randn(2, 4)).why
    written = Odd(lambda x: (y := torch.tanh(x), y.mul_(2))[0])
    assert "backward raises RuntimeError: one of the variables" in depth_flow(written, torch.randn(2, 4)).why


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
def test_models_that_are_not_trained() -> None:
    model = Odd(torch.relu)
    model.register_forward_hook(lambda module, inputs, output: output.argmax(-1))
    with pytest.raises(NotTrainable, match="no floating-point tensor"):
        depth_flow(model, torch.randn(2, 4))
    with pytest.raises(NotTrainable, match="scripted"):
        depth_flow(torch.jit.script(nn.Linear(4, 4)), torch.randn(2, 4))
    with pytest.raises(NotTrainable, match="meta device"):
        depth_flow(nn.Linear(4, 4, device="meta"), torch.randn(2, 4, device="meta"))
    with pytest.raises(NotTrainable, match="requires a gradient"):
        depth_flow(model.requires_grad_(False), torch.randn(2, 4))


@pytest.mark.parametrize("kind", ["XLNet", "Deberta", "Wav2Vec2"])
def test_models_of_transformers_with_odd_ways(kind: str) -> None:
    """A parameter that is not used, one whose gradient is written over, an output that is written on."""
    import transformers

    sizes: dict[str, object] = {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 99}
    inputs = torch.randint(0, 99, (2, 7))
    if kind == "XLNet":
        config = transformers.XLNetConfig(d_model=32, n_head=4, d_inner=64, vocab_size=99, n_layer=2)
    elif kind == "Deberta":
        kinds = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}
        config = transformers.DebertaConfig(num_hidden_layers=2, **sizes, **kinds)
    else:
        convolutions = {"conv_dim": (8, 8), "conv_stride": (5, 2), "conv_kernel": (10, 3), "num_feat_extract_layers": 2}
        groups = {"num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4}
        config = transformers.Wav2Vec2Config(num_hidden_layers=2, **sizes, **convolutions, **groups)
        inputs = torch.randn(1, 4000)
    assert depth_flow(getattr(transformers, f"{kind}Model")(config), inputs).why == ""


def test_the_repr_is_a_sentence() -> None:
    sound = depth_flow(nn.Sequential(nn.Linear(4, 4), nn.GELU(), nn.Linear(4, 1)), torch.eye(4))
    assert repr(sound) == "<Depth: a gradient gets through 2 layers, nothing is wrong>"
    cut = depth_flow(nn.Sequential(nn.Linear(4, 4), nn.Threshold(9.0, 0.0), nn.Linear(4, 1)), torch.ones(2, 4))
    assert cut.why and repr(cut) == f"<Depth: {cut.why}>"


def test_rows_that_are_alike_do_not_cancel_out() -> None:
    """As signs alone would, for one output in two."""
    for width in (1, 2):
        for seed in range(8):
            torch.manual_seed(seed)
            net = nn.Sequential(nn.Linear(4, 8), nn.GELU(approximate="none"), nn.Linear(8, width))
            assert depth_flow(net, torch.ones(2, 4)).ok
