"""One case of the golden file: a peer's value and gradient, how they become ours, and the check that they do."""

import math

from . import twins

EXACT = 1e-9


def case(peer, loss, objective, lists, value, gradient, note="", scale=1.0, offset=0.0, gradient_scale=None, slip=None, **more):
    """`value × scale + offset` is ours, `gradient × gradient_scale` too; with `slip` they are not, and must not be.

    A list has `scores` and `labels`, sometimes `weights` of its items, or scores of `earlier` visits for a tracker.
    `more`: `tolerance` of a peer that computes in 32 bits, `hessian` with its `hessian_scale`.
    A value the peer does not have is None; `not_finite` says that it has NaN.
    """
    made = {"peer": peer, "loss": loss, "objective": objective, "lists": lists}
    made["value"] = finite(value)
    made["gradient"] = [[finite(part) for part in row] for row in gradient]
    if value is not None and made["value"] is None or any(part is None for row in made["gradient"] for part in row):
        made["not_finite"] = True
    if scale != 1.0:
        made["scale"] = scale
    if offset != 0.0:
        made["offset"] = offset
    if gradient_scale is not None:
        made["gradient_scale"] = gradient_scale
    made.update({key: part for key, part in more.items() if part is not None})
    made["slip" if slip else "note"] = slip or note
    return made


def finite(number):
    return float(number) if number is not None and math.isfinite(number) else None


def distance(ours, theirs):
    """Largest difference over the largest entry of ours."""
    pairs = [(a, b) for row_a, row_b in zip(ours, theirs, strict=True) for a, b in zip(row_a, row_b, strict=True)]
    size = max(abs(a) for a, _ in pairs)
    apart = max(abs(a - b) for a, b in pairs)
    return apart / size if size > 0 else apart


def check(made):
    """How far the peer's numbers are from the twin's, and what is wrong with that, if anything."""
    what = f"{made['peer']} {made['loss']} as {made['objective']} on {len(made['lists'][0]['scores'])} items"
    if "not_finite" in made:
        return 0.0, None if "slip" in made else f"{what}: not finite"
    value, gradient = twins.value_and_gradient(made["objective"], made["lists"])
    scale = made.get("scale", 1.0)
    gradient_scale = made.get("gradient_scale", scale)
    theirs = [[part * gradient_scale for part in row] for row in made["gradient"]]
    apart = distance(gradient, theirs)
    if made["value"] is not None:
        apart = max(apart, abs(made["value"] * scale + made.get("offset", 0.0) - value) / max(1.0, abs(value)))
    if "hessian" in made:
        scaled = [[part * made.get("hessian_scale", 1.0) for part in row] for row in made["hessian"]]
        apart = max(apart, distance(twins.hessian(made["objective"], made["lists"]), scaled))
    allowed = made.get("tolerance", EXACT)
    if "slip" in made:
        return 0.0, None if apart > 1e-3 else f"{what}: the slip does not show, {apart}"
    return apart, None if apart <= allowed else f"{what}: apart by {apart}"
