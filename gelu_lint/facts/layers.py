"""Layers that take their activation by name. "gelu" is erf in all of them, whatever the framework's functions default
to.

torch: read in torch/nn/modules/transformer.py of 2.13.0, and run. Keras: signatures of keras 3.15.1, where
``activations.get("gelu")`` was run and is ``keras.activations.gelu`` with approximate=False; its copies in TensorFlow
and tf_keras have the same arguments in the same places.
"""

from __future__ import annotations

from gelu_lint.facts.record import Layer

_TORCH = "torch/nn/modules/transformer.py of 2.13.0: _get_activation_fn gives F.gelu; run with torch 2.13.0"
_KERAS = "signature in keras 3.15.1; its output was run and is that of activations.gelu(x, approximate=False)"
_MODULES = ("torch.nn.modules", "torch.nn.modules.transformer")
_ROOTS = (
    *("keras.api", "keras.src", "keras._tf_keras.keras", "tensorflow.keras", "tensorflow.python.keras"),
    *("tensorflow.compat.v1.keras", "tensorflow.compat.v2.keras", "tf_keras", "tf_keras.src"),
)
_RECURRENT = "recurrent_activation"
_HUB = "read in keras_hub 0.32.0: keras.activations.get(activation)"
_HUB_ROOTS = ("keras_hub.src.layers.modeling", "keras_nlp.layers", "keras_nlp.src.layers.modeling")


def _torch(name: str, position: int, decides: tuple[tuple[str, int, int | bool | None], ...] = ()) -> Layer:
    aliases = tuple(f"{module}.{name}" for module in _MODULES)
    return Layer(f"torch.nn.{name}", "torch", (("activation", position),), "erf", _TORCH, aliases, decides)


def _keras(name: str, *options: tuple[str, int]) -> Layer:
    aliases = tuple(f"{root}.layers.{name}" for root in _ROOTS)
    if name == "EinsumDense":
        aliases += tuple(f"{root}.layers.experimental.{name}" for root in _ROOTS)
    return Layer(f"keras.layers.{name}", "keras", options, "erf", _KERAS, aliases)


def _hub(name: str, position: int, module: str) -> Layer:
    aliases = tuple(f"{root}.{module if '.src.' in root else ''}{name}" for root in _HUB_ROOTS)
    return Layer(f"keras_hub.layers.{name}", "keras", (("activation", position),), "erf", _HUB, aliases)


#: The fast path of an encoder asks for batch_first, biases and an even number of heads.
_ENCODER = (("nhead", 1, None), ("batch_first", 6, False), ("bias", 8, True))
_BOTH = (("nhead", 1, 8), ("custom_encoder", 7, None), ("batch_first", 10, False), ("bias", 12, True))

#: The layer whose copies compute ReLU if its activation is a module: its ``__setstate__`` misses the module among the
#: attributes of the object, where torch does not keep modules, and sets F.relu beside it.
FORGETS = "torch.nn.TransformerDecoderLayer"
#: The layer that copies one of these itself, unless it is given a decoder or makes no layer for one.
COPIES_ITS_OWN = "torch.nn.Transformer"
SPARES = (("custom_decoder", 8), ("num_decoder_layers", 3))
#: What copies the layer that it is given, and the name of that argument, the first.
COPIERS = {
    **{f"{module}.TransformerDecoder": "decoder_layer" for module in ("torch.nn", *_MODULES)},
    "torch.nn.modules.transformer._get_clones": "module",
    "copy.deepcopy": "x",
}

LAYERS = (
    _torch("TransformerEncoderLayer", 4, _ENCODER),
    _torch("TransformerDecoderLayer", 4),
    _torch("Transformer", 6, _BOTH),
    *(
        _keras(f"{kind}{sort}", ("activation", position))
        for kind, sorts, position in (
            ("Conv", ("1D", "1DTranspose", "2D", "2DTranspose", "3D", "3DTranspose"), 7),
            ("Convolution", ("1D", "1DTranspose", "2D", "2DTranspose", "3D", "3DTranspose"), 7),
            ("SeparableConv", ("1D", "2D"), 7),
            ("SeparableConvolution", ("1D", "2D"), 7),
            ("DepthwiseConv", ("1D", "2D"), 6),
        )
        for sort in sorts
    ),
    *(_keras(f"ConvLSTM{n}D", ("activation", 6), (_RECURRENT, 7)) for n in (1, 2, 3)),
    *(_keras(name, ("activation", 1), (_RECURRENT, 2)) for name in ("GRU", "GRUCell", "LSTM", "LSTMCell")),
    *(_keras(name, ("activation", 1)) for name in ("Dense", "SimpleRNN", "SimpleRNNCell")),
    _keras("EinsumDense", ("activation", 2)),
    _keras("Activation", ("activation", 0)),
    _hub("TransformerEncoder", 3, "transformer_encoder."),
    _hub("TransformerDecoder", 3, "transformer_decoder."),
    _hub("FNetEncoder", 2, "f_net_encoder."),
    Layer(
        "keras.layers.Lambda", "keras", (("function", 0),), "", "signature in keras 3.15.1: it takes functions",
        tuple(f"{root}.layers.Lambda" for root in _ROOTS),
    ),
)  # fmt: skip
