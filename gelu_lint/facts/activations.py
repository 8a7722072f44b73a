"""Registries: tables in which libraries look up an activation by its name, and what each name is there.

transformers, torch and the names derived from them are run by tests/test_activations.py. The others were read in the
source of the release that ``source`` names, and run where it says so. Names are mapped to erf, tanh, quick, silu and
relu, or to "" where they mean something that is none of these (``gelu_10`` is a clipped GELU).
"""

from __future__ import annotations

from typing import NamedTuple

from gelu_lint.facts.activation_names import NAMES


class Registry(NamedTuple):
    """One table.

    names    what each name is; ``lower`` tells that names are looked up in lower case
    torch    what it gives computes in PyTorch
    raises   what looking up an unknown name raises, "" where it does not (or where that is not known)
    writes   the name to write for a flavour, where there is one
    """

    source: str
    names: dict[str, str]
    raises: str
    writes: dict[str, str]
    lower: bool = False
    torch: bool = True

    def flavour(self, name: str) -> str | None:
        """What ``name`` is; "" for what is no flavour, None for a name that the table does not have."""
        return self.names.get(name.lower() if self.lower else name)


_HF = {
    **NAMES,
    "gelu_10": "",
    "gelu_accurate": "tanh",
    "hardswish": "",
    "laplace": "",
    "leaky_relu": "",
    "linear": "",
    "mish": "",
    "relu": "relu",
    "relu2": "",
    "relu6": "",
    "sigmoid": "",
    "silu": "silu",
    "sqrtsoftplus": "",
    "swish": "silu",
    "tanh": "",
    "prelu": "",
    "xielu": "",
}
_HF_WRITES = {"erf": "gelu", "tanh": "gelu_pytorch_tanh", "quick": "quick_gelu"}
_KERAS = (
    *("celu", "elu", "exponential", "glu", "hard_shrink", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh"),
    *("leaky_relu", "linear", "log_sigmoid", "log_softmax", "mish", "relu6", "selu", "sigmoid", "soft_shrink"),
    *("softmax", "softplus", "softsign", "sparse_plus", "sparse_sigmoid", "sparsemax", "squareplus", "tanh"),
    *("tanh_shrink", "threshold"),
)


def _others(*names: str) -> dict[str, str]:
    return dict.fromkeys(names, "")


_PLAIN = {"relu": "relu", "gelu": "erf"}
_SILU = {"silu": "silu", "swish": "silu"}

#: Keys of transformers' configurations whose values are not looked up in ACT2FN, and where they are ("" for nowhere).
ELSEWHERE = {
    "feed_forward_proj": "transformers_t5",
    "afn": "transformers_openai",
    **dict.fromkeys(("summary_activation", "gelu_activation", "stem_act_func", "ffn_act_fn"), ""),
}

REGISTRIES: dict[str, Registry] = {
    "transformers": Registry("ACT2FN of transformers 5.24.0, run with torch 2.13.0", _HF, "KeyError", _HF_WRITES),
    "transformers_t5": Registry(
        "feed_forward_proj in configuration_t5.py of transformers 5.24.0: a name of ACT2FN, or gated- and one, but "
        "gated-gelu is gelu_new; run",
        {**_HF, **{f"gated-{name}": flavour for name, flavour in _HF.items()}, "gated-gelu": "tanh"},
        "KeyError",
        {"tanh": "gated-gelu"},
    ),
    "transformers_openai": Registry(
        "ACT_FNS in modeling_openai.py of transformers 5.24.0, whose gelu is gelu_new; run",
        {"gelu": "tanh", **_SILU, "relu": "relu"},
        "KeyError",
        {"tanh": "gelu"},
    ),
    "torch_encoder": Registry(
        "_get_activation_fn in torch/nn/modules/transformer.py of 2.13.0, run", _PLAIN, "RuntimeError", {"erf": "gelu"}
    ),
    "keras": Registry(
        "activations.get of keras 3.15.1, run", {**_PLAIN, **_SILU, **_others(*_KERAS)}, "ValueError", {"erf": "gelu"},
        torch=False,
    ),
    "timm": Registry(
        "get_act_layer of timm 1.0.31, run",
        {
            **_PLAIN, **_SILU, "gelu_tanh": "tanh", "quick_gelu": "quick",
            **_others("mish", "relu6", "leaky_relu", "elu", "prelu", "celu", "selu", "sigmoid", "tanh", "hard_sigmoid",
                      "hard_swish", "hard_mish", "hardsigmoid", "hardswish", "identity", ""),
        },
        "KeyError",
        {"erf": "gelu", "tanh": "gelu_tanh", "quick": "quick_gelu"},
        lower=True,
    ),
    "diffusers": Registry(
        "get_activation of diffusers 0.42.1, run", {**_PLAIN, **_SILU, "mish": ""}, "ValueError", {"erf": "gelu"},
        lower=True,
    ),
    "diffusers_feed_forward": Registry(
        "FeedForward in models/attention.py of diffusers 0.42.1, run",
        {"gelu": "erf", "gelu-approximate": "tanh", **_others("geglu", "geglu-approximate", "swiglu", "linear-silu")},
        "UnboundLocalError",
        {"erf": "gelu", "tanh": "gelu-approximate"},
    ),
    "vllm": Registry(
        "get_act_fn of vllm 0.6.0: newer releases know more names",
        {**_PLAIN, "gelu_fast": "tanh", "gelu_new": "tanh", "gelu_pytorch_tanh": "tanh", "quick_gelu": "quick",
         "relu2": ""},
        "",
        _HF_WRITES,
        lower=True,
    ),
    "fairseq": Registry(
        "get_activation_fn in fairseq/utils.py of 0.12.2",
        {**_PLAIN, "gelu_fast": "tanh", "gelu_accurate": "tanh", **_others("tanh", "linear", "swish", "relu_squared")},
        "RuntimeError",
        {"erf": "gelu", "tanh": "gelu_accurate"},
    ),
    "nemo": Registry("activation_registry in nemo/collections/common/parts/utils.py", {**_PLAIN, **_SILU}, "",
                     {"erf": "gelu"}),
    "megatron": Registry("activation_func of megatron_core: a function; its names in scripts", _PLAIN, "",
                         {"erf": "gelu"}),
    "mlx_lm": Registry(
        "_ACT2FN in mlx_lm/models/nemotron-nas.py",
        {**_PLAIN, "gelu_new": "tanh", "gelu_fast": "tanh", "silu": "silu"},
        "",
        {"erf": "gelu", "tanh": "gelu_new"},
        torch=False,
    ),
    "paddlenlp": Registry(
        "ACT2FN in paddlenlp/transformers/activations.py",
        {**_PLAIN, **_SILU, "gelu_10": "", "gelu_fast": "tanh", "gelu_new": "tanh", "gelu_python": "erf",
         "quick_gelu": "quick", **_others("linear", "mish", "relu6", "sigmoid", "tanh")},
        "KeyError",
        {"erf": "gelu", "tanh": "gelu_new", "quick": "quick_gelu"},
        torch=False,
    ),
    "nanotron": Registry(
        "ACT2FN in nanotron/nn/activations.py, its classes run",
        {**{name: flavour for name, flavour in _HF.items() if "gelu" in name and name != "gelu_python_tanh"},
         **_SILU, "relu": "relu"},
        "",
        _HF_WRITES,
    ),
    "allennlp": Registry(
        "Activation in allennlp/nn/activations.py",
        {**_PLAIN, "gelu_new": "tanh", "gelu_fast": "tanh", "swish": "silu"},
        "",
        {"erf": "gelu", "tanh": "gelu_new"},
    ),
    "bert4torch": Registry(
        "ACT2FN in bert4torch/activations.py",
        {**_PLAIN, "gelu_new": "tanh", "_gelu_new": "tanh", "gelu_fast": "tanh", "quick_gelu": "quick",
         "gelu_pytorch_tanh": "tanh"},
        "",
        _HF_WRITES,
    ),
}  # fmt: skip
