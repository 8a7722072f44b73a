"""GELUs under a random mask: which are drawn at inference, too, and which are never scaled up again."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from gelu_lint.cli import main
from gelu_lint.engine import judge, summarise
from gelu_lint.model import Finding, Project
from gelu_lint.registry import all_rules
from gelu_lint.screen import passes
from gelu_lint.skeleton import skeleton
from gelu_lint.source import decode

CODES = tuple(rule.code for rule in all_rules())
HEAD = "import numpy as np\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\n"
MODULE = (
    HEAD + "class Sparse(nn.Module):\n    def __init__(self, p=0.5):\n        super().__init__()\n        self.p = p\n"
)
MODULE += "        self.act = nn.GELU(approximate='none')\n\n    def forward(self, x):\n"


def found(text: str, path: str = "model.py") -> list[Finding]:
    """The findings, seen in part and in all of a text alike."""
    source = decode(path, text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gelu_lint.engine.skeleton", functools.partial(skeleton, small=0))
        part = judge(summarise(source), Project(), CODES) if passes(text.encode()) else []
    whole = [f for f in judge(summarise(source, complete=True), Project(), CODES) if f.code == "GEL040"]
    assert [(f.span, f.message) for f in part if f.code == "GEL040"] == [(f.span, f.message) for f in whole]
    return whole


ALWAYS = {
    "a comparison": MODULE + "        return F.gelu(x, approximate='none') * (torch.rand_like(x) > self.p)\n",
    "the mask first": MODULE + "        return (torch.rand(x.shape) < 0.5).float() * self.act(x)\n",
    "a variable": MODULE
    + "        y = self.act(x)\n        mask = torch.rand_like(y) > self.p\n        return y * mask\n",
    "bernoulli": MODULE
    + "        mask = torch.bernoulli(torch.full_like(x, 1 - self.p))\n        return self.act(x) * mask\n",
    "in place": MODULE
    + "        mask = torch.empty_like(x).bernoulli_(1 - self.p)\n        return mask * self.act(x)\n",
    "in place and scaled": MODULE + "        mask = x.new_empty(x.shape).bernoulli_(0.5).div_(0.5)\n"
    "        return self.act(x).mul(mask)\n",
    "a method": MODULE + "        return self.act(x).mul_(torch.rand_like(x) > self.p)\n",
    "torch.mul": MODULE + "        return torch.mul(F.gelu(x), (torch.rand_like(x) > 0.1).to(x.dtype))\n",
    "scaled": MODULE + "        keep = 1 - self.p\n        mask = (torch.rand_like(x) < keep) / keep\n"
    "        return F.gelu(x) * mask\n",
    "floor": MODULE
    + "        mask = torch.floor(torch.rand_like(x) + 1 - self.p)\n        return self.act(x) * mask\n",
    "where": MODULE + "        return torch.where(torch.rand_like(x) > self.p, self.act(x), 0.0)\n",
    "where zeros": MODULE + "        y = self.act(x)\n"
    "        return torch.where(torch.rand_like(y) > self.p, y, torch.zeros_like(y))\n",
    "masked_fill": MODULE + "        return self.act(x).masked_fill(torch.rand_like(x) < self.p, 0.0)\n",
    "an index": MODULE + "        y = self.act(x)\n        y[torch.rand_like(y) < self.p] = 0\n        return y\n",
    "augmented": MODULE + "        y = self.act(x)\n        y *= torch.rand_like(y) > self.p\n        return y\n",
    "a distribution": MODULE + "        mask = torch.distributions.Bernoulli(1 - self.p).sample(x.shape)\n"
    "        return self.act(x) * mask\n",
    "numpy": MODULE + "        mask = torch.from_numpy(np.random.rand(4) > 0.5)\n"
    "        return self.act(x) * (np.random.rand(4) > 0.5)\n",
    "binomial": HEAD + "def gelu_sparse(x, p):\n    return F.gelu(x) * np.random.binomial(1, p, size=x.shape)\n",
    "a number as condition": MODULE + "        y = self.act(x)\n        if self.p > 0:\n"
    "            y = y * (torch.rand_like(y) > self.p)\n        return y\n",
    "the share as condition": MODULE + "        y = self.act(x)\n        if self.p:\n"
    "            y = y * (torch.rand_like(y) > self.p)\n        return y\n",
    "a method of its own": MODULE + "        return self.act(x) * self._mask(x)\n\n    def _mask(self, x):\n"
    "        return (torch.rand_like(x) > self.p).float()\n",
    "a method that is called": MODULE + "        return self.ffn(x)\n\n    def ffn(self, x):\n"
    "        return self.act(x) * (torch.rand_like(x) > self.p)\n",
    "a sequential": HEAD + "class A(nn.Module):\n    def __init__(self, d):\n        super().__init__()\n"
    "        self.net = nn.Sequential(nn.Linear(d, d), nn.GELU())\n\n    def forward(self, x):\n"
    "        return self.net(x) * (torch.rand_like(x) > 0.5)\n",
    "a function of this file": HEAD + "def my_gelu(x):\n    return F.gelu(x, approximate='tanh')\n\n\n"
    "def sparse(x):\n    return my_gelu(x) * (torch.rand_like(x) > 0.5)\n",
    "a module at the top": HEAD + "act = nn.GELU()\n\n\ndef ffn(x):\n    return act(x) * (torch.rand_like(x) > 0.5)\n",
    "typed by hand": HEAD + "class SparseGELU(nn.Module):\n    def forward(self, x):\n"
    "        y = 0.5 * x * (1 + torch.erf(x / 1.4142135623730951))\n        return y * (torch.rand_like(x) > 0.5)\n",
    "typed in the product": HEAD + "def gelu(x):\n"
    "    return 0.5 * x * (1 + torch.erf(x / 1.4142135623730951)) * (torch.rand_like(x) > 0.5)\n",
    "jax": "import jax\nimport jax.numpy as jnp\n\n\ndef ffn(x, key, p=0.1):\n"
    "    mask = jax.random.bernoulli(key, 1 - p, x.shape)\n"
    "    return jnp.where(mask, jax.nn.gelu(x, approximate=True) / (1 - p), 0.0)\n",
    "jax product": "import jax\n\n\ndef ffn(x, key):\n"
    "    return jax.nn.gelu(x, approximate=False) * jax.random.bernoulli(key, 0.9, x.shape) / 0.9\n",
    "flax": "import jax\nfrom flax import linen as nn\n\n\nclass A(nn.Module):\n    @nn.compact\n"
    "    def __call__(self, x):\n"
    "        keep = jax.random.bernoulli(self.make_rng('mask'), 0.5, x.shape)\n        return nn.gelu(x) * keep\n",
    "tensorflow": "import tensorflow as tf\n\n\nclass A(tf.keras.layers.Layer):\n    def call(self, x):\n"
    "        mask = tf.cast(tf.random.uniform(tf.shape(x)) > 0.5, x.dtype)\n        return tf.nn.gelu(x) * mask\n",
    "beside a shortcut": MODULE + "        keep = torch.rand_like(x) > self.p\n"
    "        return self.skip(x) + self.act(x) * keep\n",
    "a helper": HEAD
    + "def draw(x, p):\n    return (torch.rand_like(x) > p).float()\n\n\n"
    + MODULE[len(HEAD) :]
    + "        y = self.act(x)\n        mask = draw(y, self.p)\n        return y * mask\n",
    "a helper with a coin": HEAD + "def draw(x, p):\n    return torch.empty_like(x).bernoulli_(p)\n\n\n"
    "def ffn(x):\n    y = F.gelu(x)\n    keep = draw(x, 0.9)\n    return y * keep / 0.9\n",
    "a method that compares": MODULE + "        return self.act(x) * torch.rand_like(x).ge(self.p)\n",
    "an even draw in place": MODULE + "        mask = torch.empty_like(x).uniform_(0, 1).gt(0.5)\n"
    "        return self.act(x).masked_fill(~mask, 0)\n",
    "numpy to torch": MODULE + "        mask = torch.from_numpy((np.random.rand(*x.shape) > 0.5).astype("
    "'float32')).to(x.device)\n"
    "        return self.act(x) * mask\n",
    "a lambda": HEAD + "sparse = lambda x: F.gelu(x) * (torch.rand_like(x) > 0.5)\n",
    "keras": "import keras\n\n\nclass A(keras.layers.Layer):\n    def call(self, x):\n"
    "        mask = keras.ops.cast(keras.random.uniform(keras.ops.shape(x)) > 0.5, x.dtype)\n"
    "        return keras.activations.gelu(x) * mask\n",
}
IN_TRAINING = {
    "a branch": MODULE + "        y = self.act(x)\n        if self.training:\n"
    "            y = y * (torch.rand_like(y) > self.p)\n        return y\n",
    "a return before": MODULE + "        y = self.act(x)\n        if not self.training:\n            return y\n"
    "        return y * (torch.rand_like(y) > self.p)\n",
    "a condition": MODULE + "        y = self.act(x)\n"
    "        return y * (torch.rand_like(y) > self.p) if self.training else y\n",
    "the mask in a branch": MODULE + "        mask = torch.ones_like(x)\n        if self.training:\n"
    "            mask = torch.bernoulli(mask - self.p)\n        return self.act(x) * mask\n",
    "augmented": MODULE
    + "        y = self.act(x)\n        if self.training:\n            keep = torch.rand_like(y) > self.p\n"
    "            y *= keep\n        return y\n",
    "a flag": HEAD + "def sparse_gelu(x, p, training=False):\n    y = F.gelu(x, approximate='none')\n"
    "    return y * (torch.rand_like(y) > p) if training else y\n",
    "flax": "import jax\nfrom flax import linen as nn\n\n\nclass A(nn.Module):\n"
    "    def __call__(self, x, deterministic, key):\n        y = nn.gelu(x, approximate=True)\n"
    "        if deterministic:\n            return y\n        return y * jax.random.bernoulli(key, 0.5, y.shape)\n",
    "tensorflow": "import tensorflow as tf\n\n\nclass A(tf.keras.layers.Layer):\n    def call(self, x, "
    "training=None):\n"
    "        y = tf.nn.gelu(x, approximate=False)\n        if training:\n"
    "            y = y * tf.cast(tf.random.uniform(tf.shape(y)) > 0.5, y.dtype)\n        return y\n",
    "a share for each": MODULE + "        y = self.act(x)\n        if self.training:\n"
    "            y = y * torch.bernoulli(torch.ones_like(y) * (1 - self.p))\n        return y\n",
    "the mask by a condition": MODULE + "        mask = torch.rand_like("
    "x) > self.p if self.training else torch.ones_like(x)\n"
    "        return self.act(x) * mask\n",
    "two arms": MODULE + "        if self.training and self.p > 0:\n"
    "            return self.act(x) * (torch.rand_like(x) > self.p).float()\n"
    "        else:\n            return self.act(x)\n",
    "where": MODULE + "        y = self.act(x)\n        if self.training:\n"
    "            y = torch.where(torch.rand_like(y) > self.p, y, 0.0)\n        return y\n",
}
FINE = {
    "guarded and scaled": MODULE + "        y = self.act(x)\n        if self.training:\n"
    "            y = y * (torch.rand_like(y) > self.p) / (1 - self.p)\n        return y\n",
    "scaled afterwards": MODULE + "        y = self.act(x)\n        if self.training:\n"
    "            y = y * (torch.rand_like(y) > self.p)\n            y = y / (1 - self.p)\n        return y\n",
    "scaled by a factor": MODULE + "        y = self.act(x)\n        if self.training:\n"
    "            y = y * (torch.rand_like(y) > self.p) * self.scale\n        return y\n",
    "scaled in eval": MODULE + "        y = self.act(x)\n        if self.training:\n"
    "            return y * (torch.rand_like(y) > self.p)\n        return y * (1 - self.p)\n",
    "the mask is scaled": MODULE + "        if not self.training:\n            return self.act(x)\n"
    "        mask = torch.empty_like(x).bernoulli_(1 - self.p).div_(1 - self.p)\n        return self.act(x) * mask\n",
    "the mask is scaled in a step": MODULE + "        y = self.act(x)\n        if not self.training:\n"
    "            return y\n"
    "        mask = (torch.rand_like(y) > self.p).float()\n        mask = mask / (1 - self.p)\n"
    "        return y * mask\n",
    "the share is none in eval": MODULE + "        keep = 1 - self.p if self.training else 1.0\n"
    "        return self.act(x) * (torch.rand_like(x) < keep) / keep\n",
    "F.dropout": MODULE + "        return F.dropout(self.act(x), self.p, self.training)\n",
    "nn.Dropout": MODULE + "        return self.drop(self.act(x))\n",
    "drop path": MODULE + "        return x + self.drop_path(self.act(x))\n",
    "a buffer": MODULE + "        return self.act(x) * self.mask\n\n    def reset(self):\n"
    "        self.mask = torch.rand(4) > 0.5\n",
    "a constant": HEAD + "MASK = torch.rand(4) > 0.5\n\n\ndef f(x):\n    return F.gelu(x) * MASK\n",
    "an attention mask": MODULE + "        mask = x.abs().sum(-1, keepdim=True) > 0\n"
    "        return self.act(x) * mask\n",
    "a mask that is given": MODULE.replace("(self, x)", "(self, x, mask)") + "        return self.act(x) * mask\n",
    "noise": MODULE + "        return self.act(x) * torch.randn_like(x)\n",
    "even noise": MODULE + "        return self.act(x) * torch.rand_like(x)\n",
    "a mask on the input": MODULE + "        x = x * (torch.rand_like(x) > self.p)\n        return self.act(x)\n",
    "a mask on something else": MODULE + "        return self.fc(self.act(x)) * (torch.rand_like(x) > self.p)\n",
    "another activation": MODULE + "        return F.relu(x) * (torch.rand_like(x) > self.p) + self.act(x)\n",
    "a gate": MODULE + "        a, b = x.chunk(2, dim=-1)\n        return a * self.act(b)\n",
    "another flag": MODULE + "        y = self.act(x)\n        if self.masking:\n"
    "            y = y * (torch.rand_like(y) > self.p)\n        return y\n",
    "a key that may be missing": "import jax\n\n\ndef ffn(x, key=None):\n    y = jax.nn.gelu(x, approximate=True)\n"
    "    if key is None:\n        return y\n    return y * jax.random.bernoulli(key, 0.9, y.shape) / 0.9\n",
    "inference": "import jax\n\n\ndef ffn(x, key, inference):\n    y = jax.nn.gelu(x, approximate=True)\n"
    "    if inference:\n        return y\n    return y * jax.random.bernoulli(key, 0.9, y.shape) / 0.9\n",
    "a training step": HEAD + "def train_step(x):\n    return F.gelu(x) * (torch.rand_like(x) > 0.5)\n",
    "a loss": HEAD + "def masked_loss(x):\n    return (F.gelu(x) * (torch.rand_like(x) > 0.5)).mean()\n",
    "monte carlo": HEAD + "class MCDropoutGELU(nn.Module):\n    def forward(self, x):\n"
    "        return F.gelu(x) * (torch.rand_like(x) > 0.5)\n",
    "seeded": HEAD + "def f(x):\n    torch.manual_seed(0)\n    return F.gelu(x) * (torch.rand_like(x) > 0.5)\n",
    "a generator": HEAD + "def f(x, g):\n    return F.gelu(x) * (torch.rand(4, generator=g) > 0.5)\n",
    "a script": HEAD + "x = torch.ones(4)\ny = F.gelu(x) * (torch.rand_like(x) > 0.5)\n",
    "called in training": MODULE + "        y = self.act(x)\n        if self.training:\n"
    "            y = self.sparse(x)\n"
    "        return y\n\n    def sparse(self, x):\n"
    "        return self.act(x) * (torch.rand_like(x) > self.p) / (1 - self.p)\n",
    "a function that is called in training": HEAD + "def sparse(x, p):\n"
    "    return F.gelu(x) * (torch.rand_like(x) > p) / (1 - p)\n\n\nclass A(nn.Module):\n    def forward(self, x):\n"
    "        if self.training:\n            return sparse(x, 0.5)\n        return F.gelu(x)\n",
    "a mixture": MODULE + "        mask = (torch.rand_like(x) > self.p).float()\n"
    "        return mask * self.act(x) + (1 - mask) * self.token\n",
    "a number of times": MODULE + "        n = np.random.randint(1, 5)\n        return self.act(x) * n\n",
    "a function that is called after a return": HEAD + "def sparse(x, p):\n"
    "    return F.gelu(x) * (torch.rand_like(x) > p) / (1 - p)\n\n\nclass A(nn.Module):\n    def forward(self, x):\n"
    "        if not self.training:\n            return F.gelu(x)\n        return sparse(x, 0.5)\n",
    "a helper of something else": HEAD + "def draw(x, p):\n    return (torch.rand_like(x) > p).float()\n\n\n"
    + MODULE[len(HEAD) :] + "        return self.act(x * draw(x, self.p))\n",
    "a helper with a flag": HEAD + "def draw(x, p, training):\n    if not training:\n"
    "        return torch.ones_like(x)\n"
    "    return (torch.rand_like(x) > p) / (1 - p)\n\n\n" + MODULE[len(HEAD) :]
    + "        return self.act(x) * draw(x, self.p, self.training)\n",
    "a lambda with a flag": HEAD + "f = lambda x, train: F.gelu(x) * (torch.rand_like(x) > 0.5) * "
    "2 if train else F.gelu(x)\n",
    "one number": MODULE + "        return self.act(x) * (torch.rand(1) > self.p)\n",
    "data": HEAD + "def sample(n):\n    x = torch.rand(n)\n    return x, F.gelu(x) * 2\n",
    "stochastic depth": MODULE + "        y = self.act(x)\n        if torch.rand(1) < self.p:\n            return x\n"
    "        return y\n",
}  # fmt: skip


@pytest.mark.parametrize("code", ALWAYS.values(), ids=list(ALWAYS))
def test_a_mask_that_is_drawn_always(code: str) -> None:
    assert ["in eval, too" in finding.message for finding in found(code)] == [True]


@pytest.mark.parametrize("code", IN_TRAINING.values(), ids=list(IN_TRAINING))
def test_a_mask_that_is_never_made_up_for(code: str) -> None:
    assert ["never divides" in finding.message for finding in found(code)] == [True]


@pytest.mark.parametrize("code", FINE.values(), ids=list(FINE))
def test_other_masks_are_fine(code: str) -> None:
    assert found(code) == []


def test_tests_may_do_it() -> None:
    assert found(ALWAYS["a comparison"], "tests/test_model.py") == []


@pytest.mark.parametrize("name", ["scaled", "in place and scaled", "jax", "jax product"])
def test_a_mask_that_is_scaled_is_not_said_to_be_not(name: str) -> None:
    assert "nothing divides" not in found(ALWAYS[name])[0].message


def test_a_file_without_any_site_is_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.py"
    path.write_text(HEAD + "from ops import gelu\n\n\ndef f(x):\n    return gelu(x) * (torch.rand_like(x) > 0.5)\n")
    assert main(["check", "--no-cache", "--output-format", "concise", str(path)]) == 1
    assert "GEL040" in capsys.readouterr().out
