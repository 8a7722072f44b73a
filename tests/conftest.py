"""What holds for all tests."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator

import pytest

# Keras takes TensorFlow unless told otherwise; without it, it is to take what the tests have.
if importlib.util.find_spec("tensorflow") is None:
    os.environ.setdefault("KERAS_BACKEND", "torch")


@pytest.fixture
def one_thread() -> Iterator[None]:
    """torch on one thread, for results and times that do not depend on how busy the machine is, from a fixed seed."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    torch.set_num_threads(before)
