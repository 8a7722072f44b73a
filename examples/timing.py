"""What do the erf and the tanh GELU cost on this machine? PyTorch's built-in ones, in every floating-point dtype.

    python examples/timing.py
    python examples/timing.py --size 1048576 --repeats 50 --device cpu

Which one is faster depends on the device, the dtype and the version of PyTorch, so this prints what it measures: the
median time of one call in milliseconds. Calls of both take turns, so that a machine that slows down slows both.
"""

import argparse
import statistics
import sys
import time

import torch
from torch.nn import functional

DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
SIZES = {"cpu": 1 << 20, "cuda": 1 << 24}  # elements: enough that starting a kernel is not what is measured
WARM_UP = 3  # calls of each before the clock counts: kernels are loaded, memory is found
SECONDS = 0.002  # what is shorter is called more often between two looks at the clock


def medians(calls, wait, repeats):
    """Seconds that one run of each of ``calls`` takes; ``wait`` returns when the device is done."""
    for call in calls:
        for _ in range(WARM_UP):
            call()
    wait()
    start = time.perf_counter()
    calls[0]()
    wait()
    many = max(1, round(SECONDS / max(time.perf_counter() - start, 1e-9)))
    times = [[] for _ in calls]
    for turn in range(repeats):
        order = range(len(calls)) if turn % 2 else reversed(range(len(calls)))
        for i in order:
            wait()
            start = time.perf_counter()
            for _ in range(many):
                calls[i]()
            wait()
            times[i].append((time.perf_counter() - start) / many)
    return [statistics.median(own) for own in times]


def forward(x, flavour):
    def run():
        with torch.no_grad():
            functional.gelu(x, approximate=flavour)

    return run


def both_ways(x, flavour):
    x = x.clone().requires_grad_()
    upstream = torch.ones_like(x)

    def run():
        torch.autograd.grad(functional.gelu(x, approximate=flavour), x, upstream)

    return run


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", type=int, help="elements of the input (default: 2^20 on a CPU, 2^24 on a GPU)")
    parser.add_argument("--repeats", type=int, default=20, help="measurements of each (default: %(default)s)")
    parser.add_argument("--device", action="append", choices=("cpu", "cuda"), help="default: all that are there")
    options = parser.parse_args(arguments)
    if (options.size is not None and options.size < 1) or options.repeats < 1:
        parser.error("--size and --repeats are at least 1")
    if options.device and "cuda" in options.device and not torch.cuda.is_available():
        parser.error("--device cuda: PyTorch finds none")
    devices = options.device or ["cpu", *["cuda"] * torch.cuda.is_available()]
    print(f"PyTorch {torch.__version__}, median of {options.repeats}, milliseconds a call")
    head = f"{'device':6}  {'dtype':8}  {'pass':16}  {'erf':>9}  {'tanh':>9}  tanh / erf"
    for device in devices:
        name = torch.cuda.get_device_name() if device == "cuda" else f"{torch.get_num_threads()} thread(s)"
        size = options.size or SIZES[device]
        print(f"\n{device}: {name}, {size} elements\n{head}")
        wait = torch.cuda.synchronize if device == "cuda" else lambda: None
        for dtype in DTYPES:
            x = torch.randn(size, device=device).to(dtype)
            for label, make in (("forward", forward), ("forward+backward", both_ways)):
                row = f"{device:6}  {str(dtype).removeprefix('torch.'):8}  {label:16}"
                try:
                    erf, tanh = medians([make(x, "none"), make(x, "tanh")], wait, options.repeats)
                except RuntimeError as fault:  # older versions lack half precision on a CPU
                    print(f"{row}  not there: {str(fault).splitlines()[0]}")
                    continue
                print(f"{row}  {erf * 1e3:9.4f}  {tanh * 1e3:9.4f}  {tanh / erf:10.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
