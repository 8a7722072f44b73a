"""The tally of one output tensor, computed where the tensor is, and kept as a few numbers until they are read."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from gelu_lint.runtime.moments import Moments, Tally, total

#: A gate (output divided by input) of at most this is dead: x < −3.09 for erf, −3.05 for tanh, −4.06 for quick
#: GELU, where less than 1 % of the gradient comes through. One of at least 1 − GATE is saturated: x > 3.09 and so on.
GATE = 1e-3

#: Values that are looked at together; bounds the memory that the float64 copies of a tensor take.
CHUNK = 1 << 18
_CHUNK_ELSEWHERE = 1 << 24  # on an accelerator starting a kernel costs more than the memory

#: What stands in a row: of output and input how many are finite, mean, squares; then dead, saturated, gap.
_ROW = 9
_NEAR = 4.0  # farther out gates are 0 or 1, and the rounding of bfloat16 is all that differs
_SOME = 4096  # how many values of a row are compared with those of a GELU


def refusal(output: object) -> str:
    """Why this output cannot be measured, "" where it can."""
    if not isinstance(output, Tensor):
        return f"its output is a {type(output).__name__}, not a tensor"
    if output.layout is not torch.strided or output.is_nested:
        return f"its output is {'nested' if output.is_nested else str(output.layout).removeprefix('torch.')}"
    if type(output).__torch_dispatch__ is not Tensor.__torch_dispatch__:
        return f"its output is a {type(output).__name__}, whose values may lie elsewhere"
    if not output.is_floating_point():
        return f"its output is {str(output.dtype).removeprefix('torch.')}"
    if output.is_meta:
        return "its output is on the meta device and has no values"
    wrapped = getattr(getattr(torch._C, "_functorch", None), "is_functorch_wrapped_tensor", None)
    if wrapped is not None and wrapped(output):
        return "it runs inside torch.func"
    return ""


def measure(output: Tensor, input: Tensor | None) -> Tensor:
    """Rows of numbers, (chunks, 9), float64 (float32 on MPS), on the device of ``output``, which is not waited for.

    output  any shape, floating point; input  of the same shape and device, or None where it is not known
    """
    here = output.device.type == "cpu"
    with torch.no_grad(), torch._C.DisableTorchFunction():
        chunk = CHUNK if here else _CHUNK_ELSEWHERE
        outputs = output.detach().reshape(-1).split(chunk)  # type: ignore[no-untyped-call]
        inputs: Sequence[Tensor | None] = (None,) * len(outputs)
        if input is not None:
            inputs = input.detach().reshape(-1).split(chunk)  # type: ignore[no-untyped-call]
        return torch.stack([_row(y, x, here) for y, x in zip(outputs, inputs, strict=True)])


def _row(output: Tensor, input: Tensor | None, here: bool) -> Tensor:
    wide = torch.float32 if output.device.type == "mps" else torch.float64
    y = output.to(wide, copy=True)
    if input is None:
        return torch.stack([*_moments(y, here), *(y.new_zeros(()) for _ in range(_ROW - 3))])
    x = input.to(wide, copy=True)
    gates = y / x  # 0/0 is nan, which is neither
    dead, saturated = torch.count_nonzero(gates <= GATE), torch.count_nonzero(gates >= 1 - GATE)
    some = x[:_SOME]
    gap = (y[:_SOME] - F.gelu(some, approximate="none")).abs().nan_to_num(0, 0, 0).mul(some.abs() <= _NEAR).max()
    return torch.stack([*_moments(y, here), *_moments(x, here), dead.to(wide), saturated.to(wide), gap])


def _moments(values: Tensor, here: bool) -> tuple[Tensor, Tensor, Tensor]:
    """How many of the values are finite, their mean, and their squared distances; ``values`` are used up."""
    if here:  # where looking costs nothing, values that are all finite need no mask
        mean = values.mean()
        if mean.isfinite():
            values -= mean
            return values.new_tensor(values.numel()), mean, torch.dot(values, values)
    finite = values.isfinite()
    values = values.masked_fill_(~finite, 0.0)
    count = finite.sum().to(values.dtype)
    mean = values.sum() / count.clamp(min=1)
    values = values.sub_(mean).masked_fill_(~finite, 0.0)
    return count, mean, torch.dot(values, values)


def read(size: int, paired: bool, rows: Sequence[Sequence[float]]) -> Tally:
    """The tally of a tensor of ``size`` values from the numbers of its rows."""
    found = total(
        Tally(
            Moments(int(row[0]), row[1], row[2]),
            Moments(int(row[3]), row[4], row[5]),
            dead=int(row[6]),
            saturated=int(row[7]),
            gap=row[8],
        )
        for row in rows
    )
    bad_inputs, pairs = (size - found.input.size, size) if paired else (0, 0)
    return found._replace(bad_outputs=size - found.output.size, bad_inputs=bad_inputs, pairs=pairs)


def read_all(pending: Sequence[tuple[str, int, bool, Tensor]]) -> list[tuple[str, Tally]]:
    """The tallies of tensors given as name, size, whether the input is known, and rows: one transfer a device."""
    rows: list[list[list[float]]] = [[] for _ in pending]
    for device in {tensor.device for *_, tensor in pending}:
        here = [i for i, (*_, tensor) in enumerate(pending) if tensor.device == device]
        numbers = torch.cat([pending[i][3] for i in here]).tolist()
        for i in here:
            count = len(pending[i][3])
            rows[i], numbers = numbers[:count], numbers[count:]
    return [(name, read(size, paired, rows[i])) for i, (name, size, paired, _) in enumerate(pending)]
