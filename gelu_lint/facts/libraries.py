"""Libraries whose GELUs have one flavour each and nothing to choose: read in the versions that are named.

Some names say another flavour than they compute: fairseq's ``gelu_accurate`` is tanh, NeMo's ``ApproxGELUActivation``
and torchmultimodal's ``SiLU`` are quick. ``gelu`` of one package may be erf in one module and tanh in the next.
"""

from __future__ import annotations

from gelu_lint.facts.record import Callable

_ROWS = (
    # framework, version, module, kind, {flavour: names}
    ("allennlp", "2.10.1", "allennlp.nn.activations", "class", {"tanh": "GeluNew GeluFast"}),
    ("bert4keras", "", "bert4keras.backend", "function", {"erf": "gelu_erf", "tanh": "gelu_tanh"}),
    ("colossalai", "", "colossalai.kernel.jit.bias_gelu", "function", {"tanh": "bias_gelu"}),
    ("deepspeed", "", "deepspeed.sequence.fpdt_layer", "function", {"tanh": "bias_gelu"}),
    ("esm", "2.0.0", "esm.modules", "function", {"erf": "gelu"}),
    ("espnet", "", "espnet2.asr.encoder.beats_encoder", "function", {"erf": "gelu", "tanh": "gelu_accurate"}),
    ("fairseq", "0.12.2", "fairseq.modules.gelu", "function", {"erf": "gelu", "tanh": "gelu_accurate"}),
    ("megatron", "0.16.1", "megatron.core.activations", "function", {"quick": "quick_gelu", "tanh": "fast_gelu"}),
    ("megatron", "0.16.1", "megatron.core.transformer.utils", "function",
     {"tanh": "gelu_impl openai_gelu", "erf": "erf_gelu"}),
    ("megatron", "0.16.1", "megatron.core.fusions.fused_bias_geglu", "function", {"quick": "quick_gelu"}),
    ("mmpretrain", "1.2.0", "mmpretrain.models.multimodal.chinese_clip.bert", "function",
     {"erf": "gelu", "tanh": "gelu_new"}),
    ("mmpretrain", "1.2.0", "mmpretrain.models.utils.clip_generator_helper", "class", {"quick": "QuickGELU"}),
    ("nanotron", "", "nanotron.nn.activations", "class",
     {"tanh": "PytorchGELUTanh NewGELUActivation FastGELUActivation AccurateGELUActivation", "erf": "GELUActivation",
      "quick": "QuickGELUActivation", "clipped": "ClippedGELUActivation"}),
    ("nemo", "", "nemo.utils.megatron_utils", "function", {"quick": "ApproxGELUActivation"}),
    ("open_clip", "3.3.0", "open_clip.transformer", "class", {"quick": "QuickGELU"}),
    ("pytorch_pretrained_bert", "0.6.2", "pytorch_pretrained_bert.modeling", "function", {"erf": "gelu"}),
    ("pytorch_pretrained_bert", "0.6.2", "pytorch_pretrained_bert.modeling_gpt2", "function", {"tanh": "gelu"}),
    ("pytorch_pretrained_bert", "0.6.2", "pytorch_pretrained_bert.modeling_openai", "function", {"tanh": "gelu"}),
    ("speechbrain", "", "speechbrain.lobes.models.beats", "function", {"erf": "gelu", "tanh": "gelu_accurate"}),
    ("torchmultimodal", "", "torchmultimodal.modules.layers.activation", "class", {"quick": "SiLU"}),
    ("torchtune", "0.6.1", "torchtune.models.clip._text_encoder", "class", {"quick": "QuickGELU"}),
    ("transformer_engine", "", "transformer_engine.pytorch.ops.basic.activation", "class", {"tanh": "GELU"}),
    *(
        ("pytorch_transformers", "", f"pytorch_transformers.modeling_{model}", "function", {flavour: "gelu"})
        for flavour, models in (("erf", "bert distilbert xlm"), ("tanh", "gpt2 openai xlnet"))
        for model in models.split()
    ),
)  # fmt: skip

#: Shorter public paths of names above.
_SHORT = {
    "fairseq.modules.gelu.gelu": ("fairseq.modules.gelu",),
    "fairseq.modules.gelu.gelu_accurate": ("fairseq.modules.gelu_accurate",),
    "open_clip.transformer.QuickGELU": ("open_clip.model.QuickGELU", "open_clip.coca_model.QuickGELU"),
    "transformer_engine.pytorch.ops.basic.activation.GELU": (
        "transformer_engine.pytorch.ops.GELU",
        "transformer_engine.pytorch.ops.basic.GELU",
    ),
}

CALLABLES = tuple(
    Callable(
        f"{module}.{name}", framework, kind, flavour,
        f"{module.replace('.', '/')}.py" + (f" of {version}" if version else ""),
        aliases=_SHORT.get(f"{module}.{name}", ()),
    )
    for framework, version, module, kind, flavours in _ROWS
    for flavour, names in flavours.items()
    for name in names.split()
)  # fmt: skip
