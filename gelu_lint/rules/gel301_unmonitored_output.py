"""A project that trains a model with GELUs and never logs what they give.

## What it does
In a run over a whole project with a GELU outside its tests, looks for what trains: a loop with `.backward()` and a step
of an optimizer (in its body, or in a function that it calls), `jax.grad` with optax or Flax updates, a `GradientTape`,
`fit` of Keras and Lightning, `train` of a Hugging Face Trainer. Reported once, at the first of them, where no code of
the project names `gelu_output_std`, or the `GeluMonitor` of this package or its `GeluCallback`. Tests do not count. Off
unless selected.

## Why is this bad
This is a policy, an item of the release checklist: the spread of what the GELUs give shows, long before the loss does,
that activations vanish or blow up. No single range is right: for zero-mean Gaussian input with a standard deviation of
0.5, 1 and 2 the output of a GELU has 0.275, 0.588 and 1.192, and each of these layers is healthy. Watch for what drifts
away from where it began.

## Fix safety
There is no fix: where the model is at hand depends on your code. With torch it is
`with GeluMonitor(model, sinks=[log]): train(model)` (`from gelu_lint.runtime import GeluMonitor`), for a Trainer of
Hugging Face or Lightning the `GeluCallback` of `gelu_lint.runtime.sinks`. Elsewhere, log the standard deviation of what
a GELU gives as `gelu_output_std`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gelu_lint.model import FileSummary, Finding, Loop, Project
from gelu_lint.patterns import lazy
from gelu_lint.roles import first_gelu, is_test
from gelu_lint.rule import Rule, bad, good, report

#: Names of what fits a mask, a picture or a pose to a model that stays as it is.
_OTHER = lazy(r"explain|regist|attack|inver|latent|pose_|calibrat|conformal|lr_find|find_learning")
_TRAINS = lazy(r"train|fit\b|epoch|loader|batch|tune|learn")


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    """One file alone says nothing."""
    yield from ()


def across(files: Sequence[FileSummary], project: Project) -> Iterator[Finding]:
    gelu = first_gelu(files)
    if gelu is None or any(file.watched for file in files):
        return
    every = [(file, loop) for file in files for loop in file.loops if not is_test(file.place, loop.symbol)]
    found = [each for each in every if not _OTHER.search(_names(*each))]
    if not found:
        return
    # A library may have loops that fit something smaller: those that speak of training come first.
    file, loop = next((each for each in found if _TRAINS.search(_names(*each))), found[0])
    more = f", and {len(found) - 1} more of the project" if len(found) > 1 else ""
    message = (
        f"trains a model{more}, and nothing logs gelu_output_std; its usual value depends on the input: 0.275, 0.588 "
        "and 1.192 for zero-mean Gaussian input of standard deviation 0.5, 1 and 2"
    )
    related = ((gelu[0].path, gelu[1].span, "the first GELU"),)
    yield report("GEL301", file, loop, message, "info", None)._replace(related=related)


def _names(file: FileSummary, loop: Loop) -> str:
    return f"{file.place} {loop.symbol} {loop.written}".lower()


def evidence() -> None:
    """The spread of a GELU's output for healthy Gaussian input, and for input that has blown up or vanished."""
    import torch
    import torch.nn.functional as F

    torch.manual_seed(0)
    x = torch.randn(1_000_000, dtype=torch.float64)
    for spread, output in ((0.5, 0.275), (1.0, 0.588), (2.0, 1.192)):
        assert abs(F.gelu(spread * x).std().item() - output) < 2e-3
    assert F.gelu(0.01 * x).std() < 0.01 and F.gelu(100 * x).std() > 50


_MODEL = "import torch.nn.functional as F\n\n\ndef mlp(x, w):\n    return F.gelu(x @ w, approximate='tanh')\n"
_TRAIN = (
    "import torch\nimport torch.nn.functional as F\n\n\ndef train(loader, net):\n"
    "    optimizer = torch.optim.AdamW(net.parameters())\n"
    "    for x, y in loader:\n        loss = (F.gelu(net(x), approximate='tanh') - y).pow(2).mean()\n"
    "        loss.backward()\n        optimizer.step()\n{}"
)
_JAX = (
    "import jax\nimport optax\n\n\ndef loss(w, x):\n    return jax.nn.gelu(x @ w, approximate=True).sum()\n\n\n"
    "def step(tx, state, w, x):\n    grads = jax.grad(loss)(w, x)\n    updates, state = tx.update(grads, state)\n"
    "    return optax.apply_updates(w, updates), state\n\n\n"
    "def fit(tx, state, w, data):\n    for x in data:\n        w, state = step(tx, state, w, x)\n    return w\n"
)
_TRAINER = (
    "import torch.nn.functional as F\nfrom transformers import Trainer\n\n\ndef mlp(x, w):\n"
    "    return F.gelu(x @ w, approximate='tanh')\n\n\ndef run(model, args, data):\n"
    "    trainer = Trainer(model, args, train_dataset=data)\n{}    trainer.train()\n"
)

RULE = Rule(
    "GEL301",
    "unmonitored-output",
    "training loop with a GELU, and nothing logs `gelu_output_std` (opt-in)",
    "—",
    "info",
    check,
    __doc__,
    examples=(
        bad(_TRAIN.format(""), at="7:5", beside={"setup.py": "from setuptools import setup\n\nsetup()\n"}),
        bad(_JAX, at="16:5", beside={"setup.py": "from setuptools import setup\n\nsetup()\n"}),
        good(
            _TRAIN.format("        log({'gelu_output_std': net(x).std()})\n"),
            beside={"setup.py": "from setuptools import setup\n\nsetup()\n"},
        ),
        good(
            _TRAIN.format("") + "\n\ndef main(loader, net):\n    with GeluMonitor(net):\n        train(loader, net)\n",
            beside={"setup.py": "from setuptools import setup\n\nsetup()\n"},
        ),
        bad(_TRAINER.format(""), at="11:5", beside={"setup.py": "from setuptools import setup\n\nsetup()\n"}),
        good(
            _TRAINER.format("    trainer.add_callback(GeluCallback(trainer))\n"),
            beside={"setup.py": "from setuptools import setup\n\nsetup()\n"},
        ),
        good(_MODEL, beside={"serve.py": "def serve(net, queue):\n    for x in queue:\n        yield net(x)\n"}),
    ),
    evidence=evidence,
    policy=True,
    opt_in=True,
    project=True,
    across=across,
    loops=True,
)
