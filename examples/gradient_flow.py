"""How do gradients flow through a small transformer with GELU, ReLU or SiLU? Norms by layer, over several seeds.

    python examples/gradient_flow.py
    python examples/gradient_flow.py --seeds 20 --layers 8 --plot gradients.png

Each seed draws weights, inputs and targets of its own; within a seed all activations get the same ones, so that they
can be compared in pairs. The model is not trained: what is measured is the gradient of the first step, as the norm of
the gradient of all weights of a layer. That says which gradients are larger here, and not which activation is better.
"""

import argparse
import math
import statistics
import sys
from functools import partial

import torch
from torch import nn
from torch.nn import functional

ACTIVATIONS = {
    "GELU": partial(functional.gelu, approximate="none"),
    "ReLU": functional.relu,
    "SiLU": functional.silu,
}
VOCABULARY = 64


class Block(nn.Module):
    """Attention and a feed-forward layer, each behind a norm and beside a residual."""

    def __init__(self, width, heads, activation):
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.activation = activation

    def forward(self, x):
        y = self.norm_1(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.down(self.activation(self.up(self.norm_2(x))))


class Transformer(nn.Module):
    def __init__(self, layers, width, heads, length, activation):
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads, activation) for _ in range(layers))
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, VOCABULARY))

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def loss_of(activation, seed, options, dtype=torch.float32):
    """A model and its loss, cross-entropy in nats: random tokens are to be mapped to random tokens."""
    torch.manual_seed(seed)
    model = Transformer(options.layers, options.width, options.heads, options.length, activation).to(dtype)
    tokens, targets = torch.randint(VOCABULARY, (2, options.batch, options.length))

    def loss():
        return functional.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())

    return model, loss


def norms(activation, seed, options):
    """The norm of the gradient of the loss by all weights of a layer, for each layer."""
    model, loss = loss_of(activation, seed, options)
    loss().backward()
    return [math.sqrt(sum(float(p.grad.pow(2).sum()) for p in block.parameters())) for block in model.blocks]


def draw(measured, path):
    from gelu_lint.runtime.canvas import BLUE, GREEN, VERMILION, figure, legend, save, style

    looks = {"GELU": (BLUE, "o", "-"), "ReLU": (VERMILION, "s", "--"), "SiLU": (GREEN, "^", "-.")}
    with style():
        picture = figure(3.6)
        axes = picture.subplots()
        for i, (name, seeds) in enumerate(measured.items()):
            colour, marker, line = looks[name]
            columns = list(zip(*seeds))
            x = [layer + 1 + 0.06 * (i - 1) for layer in range(len(columns))]
            mean = [statistics.mean(column) for column in columns]
            spread = [spread_of(column) for column in columns]
            axes.errorbar(x, mean, spread, color=colour, marker=marker, linestyle=line, capsize=3, label=name)
        axes.set(xlabel="layer, from the input", ylabel="norm of the gradient", xticks=range(1, len(columns) + 1))
        axes.set_ylim(bottom=0)
        axes.set_title(f"Gradient of the first step by layer: mean ± standard deviation, {counted(len(seeds))}")
        legend(picture, axes)
    save(picture, path)


def counted(seeds):
    return "1 seed" if seeds == 1 else f"{seeds} seeds"


def spread_of(column):
    return statistics.stdev(column) if len(column) > 1 else 0.0


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name, default in {"seeds": 10, "layers": 4, "width": 64, "heads": 4, "length": 32, "batch": 16}.items():
        parser.add_argument(f"--{name}", type=int, default=default, help="default: %(default)s")
    parser.add_argument("--plot", metavar="FILE", help="write a picture, too: .png or .svg (needs matplotlib)")
    options = parser.parse_args(arguments)
    if min(options.seeds, options.layers, options.width, options.heads, options.length, options.batch) < 1:
        parser.error("every number is at least 1")
    if options.width % options.heads:
        parser.error(f"--width {options.width} is no multiple of --heads {options.heads}")
    measured = {
        name: [norms(activation, seed, options) for seed in range(options.seeds)]
        for name, activation in ACTIVATIONS.items()
    }
    print(f"Norm of the gradient by layer, mean ± standard deviation over {counted(options.seeds)}")
    print("layer  " + "  ".join(f"{name:>17}" for name in measured) + "  GELU < ReLU in")
    for layer in range(options.layers):
        columns = {name: [seed[layer] for seed in seeds] for name, seeds in measured.items()}
        cells = [f"{statistics.mean(c):8.4f} ± {spread_of(c):6.4f}" for c in columns.values()]
        smaller = sum(a < b for a, b in zip(columns["GELU"], columns["ReLU"]))
        print(f"{layer + 1:5}  {'  '.join(cells)}  {smaller} of {counted(options.seeds)}")
    if options.plot:
        try:
            draw(measured, options.plot)
        except (ImportError, ValueError) as fault:  # no matplotlib, or no such place
            print(f"gradient_flow.py: {fault}", file=sys.stderr)
            return 2
        print(f"wrote {options.plot}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
