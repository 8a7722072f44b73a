"""What holds for all tests."""

from __future__ import annotations

import importlib.util
import os

# Keras takes TensorFlow unless told otherwise; without it, it is to take what the tests have.
if importlib.util.find_spec("tensorflow") is None:
    os.environ.setdefault("KERAS_BACKEND", "torch")
