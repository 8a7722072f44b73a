"""Calls that compare two things up to a tolerance: where the tolerance stands, and what it is where it is left out."""

from __future__ import annotations

from typing import NamedTuple


class Compares(NamedTuple):
    """One such call, by the last part of its name.

    absolute  the arguments that give the absolute tolerance, each with its index among positional arguments, operands
              included (None: keyword-only, or other frameworks have something else there), and relative ones alike
    defaults  absolute and relative tolerance where they are left out (those of float32, where the dtype decides)
    unit      tolerance (the arguments are that), places (they count decimals, and half a last one passes) or decimals
              (one and a half pass)
    either    the larger of both tolerances counts, not their sum
    named     what the operands are called
    """

    name: str
    absolute: tuple[tuple[str, int | None], ...]
    relative: tuple[tuple[str, int | None], ...]
    defaults: tuple[float, float]
    unit: str = "tolerance"
    either: bool = False
    named: tuple[str, str] = ("actual", "expected")


COMPARES = {
    row.name: row
    for row in (
        Compares("assert_close", (("atol", None),), (("rtol", None),), (1e-5, 1.3e-6)),
        Compares("assert_allclose", (("atol", 3),), (("rtol", 2),), (0.0, 1e-7), named=("actual", "desired")),
        Compares("allclose", (("atol", 3),), (("rtol", 2),), (1e-8, 1e-5), named=("input", "other")),
        Compares(
            "isclose", (("atol", 3), ("abs_tol", None)), (("rtol", 2), ("rel_tol", None)), (1e-8, 1e-5),
            named=("input", "other"),
        ),
        Compares("assertAllClose", (("atol", None),), (("rtol", None),), (1e-6, 1e-6), named=("a", "b")),
        Compares("assert_near", (("atol", None),), (("rtol", None),), (1.2e-6, 1.2e-6), named=("x", "y")),
        Compares("assert_trees_all_close", (("atol", None),), (("rtol", None),), (0.0, 1e-6)),
        Compares("assert_array_almost_equal", (("decimal", 2),), (), (6, 0.0), "decimals", named=("x", "y")),
        Compares("assert_almost_equal", (("decimal", 2),), (), (7, 0.0), "decimals"),
        Compares("assertAlmostEqual", (("places", 2),), (), (7, 0.0), "places", named=("first", "second")),
        Compares("approx", (("abs", 2),), (("rel", 1),), (1e-12, 1e-6), either=True),
    )
}  # fmt: skip

#: Words by one of which each of them shows, in a name; a bound on a difference shows by "abs".
WORDS = ("lose", "lmost", "approx(", "assert_near", "abs")
