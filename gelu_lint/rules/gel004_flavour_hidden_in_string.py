"""A layer that is told "gelu": which one that is, the layer decides out of sight.

## What it does
Reports `activation="gelu"` (by keyword or by position, as a literal or as a constant) given to a layer of torch
(`nn.TransformerEncoderLayer`, `nn.TransformerDecoderLayer`, `nn.Transformer`) or of Keras (`Dense`, `Conv2D`,
`Activation` …, under any of its names in TensorFlow). Layers of other packages and strings in configs are not meant.

## Why is this bad
The layer looks the name up in a table of its own. It means erf in torch and in Keras (measured with torch 2.13 and
keras 3.15), while `keras.ops.gelu` and `jax.nn.gelu` are tanh by default, so whoever ports the model cannot see from
this line which function it is. This is a policy rule: the code runs as it is.

## Fix safety
There is no fix. Whether a callable may stand there depends on what else reads it: Keras saves a string, and refuses a
lambda or partial (GEL033), and torch's fast path knows the string, `F.gelu` and `nn.GELU` objects only.
"""

from __future__ import annotations

from collections.abc import Iterator

from gelu_lint.model import FileSummary, Finding, Project
from gelu_lint.rule import Rule, bad, good, report


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    for site in file.sites:
        if site.spelling != "string":
            continue
        message = f"{site.consumer} looks up the name gelu: in {site.framework} it means the {site.flavour} GELU"
        if project.policy not in ("", site.flavour):
            message += f", where the project's policy is {project.policy}"
        yield report("GEL004", file, site, message, "info", claimed=None)


def evidence() -> None:
    """In torch the name means erf in all three layers; tanh would be 4.7e-4 away."""
    import torch
    import torch.nn.functional as F
    from torch import nn

    x = torch.linspace(-6, 6, 24001)
    encoder = nn.TransformerEncoderLayer(4, 1, 4, activation="gelu")
    decoder = nn.TransformerDecoderLayer(4, 1, 4, 0.0, "gelu")
    both = nn.Transformer(4, 2, 1, 1, 4, activation="gelu", batch_first=True)
    for layer in (encoder, decoder, both.encoder.layers[0], both.decoder.layers[0]):
        assert torch.equal(layer.activation(x), F.gelu(x, approximate="none"))
        assert (layer.activation(x) - F.gelu(x, approximate="tanh")).abs().max() > 4.6e-4


_TORCH = "from torch import nn\n\n\ndef layer(width):\n"

RULE = Rule(
    "GEL004",
    "flavour-hidden-in-string",
    '`activation="gelu"` to a torch or Keras layer: the flavour is decided out of sight',
    "—",
    "info",
    check,
    __doc__,
    examples=(
        bad(_TORCH + '    return nn.TransformerEncoderLayer(width, 8, activation="gelu")\n', at="5:60"),
        bad(
            "from tensorflow import keras\n\n\ndef head():\n    act = 'gelu'\n"
            "    wide = keras.layers.Dense(256, act)\n"
            "    return wide, keras.layers.Conv2D(8, 3, activation='gelu')\n",
            at="6:36 7:55",
        ),
        bad(
            "import keras\n\n\nclass Wide(keras.layers.Dense):\n    def __init__(self, units):\n"
            '        super().__init__(4 * units, activation="gelu")\n',
            at="6:48",
        ),
        good(_TORCH + '    return nn.TransformerEncoderLayer(width, 8, activation="relu")\n'),
        good('import keras\n\ndense = keras.layers.Dense(8, activation="swish")\n'),
        good('from mylib import layers\n\ndense = layers.Dense(8, activation="gelu")\n'),
        good(
            'import keras\n\n\ndef build(activation="gelu"):\n    return keras.layers.Dense(8, activation=activation)\n'
        ),
    ),
    evidence=evidence,
    policy=True,
    opt_in=True,
)
