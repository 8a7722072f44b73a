"""What holds for all tests."""

import importlib.util
import os

# Keras takes TensorFlow where nothing else is said, and fails without it.
if importlib.util.find_spec("tensorflow") is None:
    os.environ.setdefault("KERAS_BACKEND", "torch")
