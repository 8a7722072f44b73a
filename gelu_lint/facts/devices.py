"""Words with which code asks what it runs on."""

from __future__ import annotations

import re

#: Words of names and strings that mean a device or a platform.
WORDS = frozenset(
    (
        *("cuda", "gpu", "rocm", "hip", "mps", "xpu", "npu", "tpu", "hpu", "xla", "cpu", "device", "devices", "metal"),
        *("platform", "darwin", "neuron", "ipu", "mlu", "musa", "directml", "uname", "ascend", "nvidia", "aarch"),
    )
)
#: Calls and attributes that mean one, and have no such word.
NAMES = ("default_backend", "os.name")

#: A line that may ask so: more lines than really do.
ASKS = re.compile("|".join((*sorted(WORDS), "default_backend", r"os\.name")), re.IGNORECASE)
