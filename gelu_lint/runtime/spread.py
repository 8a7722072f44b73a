"""What the spread of a GELU's output says, in words."""

from __future__ import annotations

from gelu_lint.runtime.moments import Tally, gaussian, input_std

#: The range of the release checklist. It is that of zero-mean input with a standard deviation of 0.541 to 1.181: a
#: layer with wider input lies above it and is healthy all the same.
BOUNDS = (0.3, 0.7)

_FITS = 0.1  # how near (relative) the spread must come to that of Gaussian input to be called explained
_PLAIN = 0.03  # how far a flavour of GELU may be from x·Φ(x): quick is by 0.0203, and bfloat16 rounds


def accounted_for(found: Tally) -> bool:
    """Whether the spread is that of a GELU of Gaussian input; also where the input is not known."""
    if not found.input.size:
        return True
    usual = gaussian(found.input.mean, found.input.std)[1]
    return found.gap <= _PLAIN and abs(found.output.std - usual) <= _FITS * usual


def explain(found: Tally, bounds: tuple[float, float], step: int) -> str:
    """One sentence on a spread outside ``bounds``: what it is, and whether the input explains it."""
    low, high = (input_std(bound) for bound in bounds)
    spread = found.output.std
    said = (
        f"gelu_output_std is {spread:.3g} at step {step}, outside {bounds[0]:g} to {bounds[1]:g} (input of mean 0 and "
        f"standard deviation {low:.2f} to {high:.2f}); "
    )
    if not found.input.size:
        return said + "its input is not known"
    if found.gap > _PLAIN:
        return said + f"its outputs are up to {found.gap:.2g} away from x·Φ(x) of its inputs: this is no plain GELU"
    mean, std = found.input.mean, found.input.std
    usual = gaussian(mean, std)[1]
    said += f"the input has mean {mean:.2g} and standard deviation {std:.3g}, "
    if accounted_for(found):
        kind = "wide" if std > high else "narrow" if std < low else "off zero"
        said += f"which gives {usual:.3g} where it is Gaussian: the input is {kind}"
    else:
        said += f"and is far from Gaussian, which would give {usual:.3g}"
    return said + ", the activation itself is as it should be"


def count_bad(found: Tally, step: int) -> str:
    """One sentence on outputs that are no finite numbers, and on whether they come from the input."""
    if not found.pairs:
        first = "its input is not known"
    elif found.bad_inputs:
        first = f"{found.bad_inputs} of its inputs were, too"
    else:
        first = "its inputs are all finite"
    size = found.output.size + found.bad_outputs
    return f"{found.bad_outputs} of {size} outputs are nan or infinite at step {step}; {first}"
