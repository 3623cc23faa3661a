"""Writes PyTorch's optimiser steps in double precision: crates/train/tests/golden/optimisers.json.

    python bench/peers/make_optimisers.py crates/train/tests/golden/optimisers.json

Eight parameters, of which the first five are decayed, 12 seeded gradients that span ten orders of magnitude, a rate that
changes from step to step. A case: our name of the optimiser, the parameters after every step. The version of PyTorch is
that of requirements-objectives.txt.
"""

import json
import pathlib
import sys

import numpy
import torch

DECAYED = 5
STEPS = 12


def run(make, start, gradients, rates):
    w = [torch.tensor(part, dtype=torch.float64, requires_grad=True) for part in (start[:DECAYED], start[DECAYED:])]
    optimiser = make(w)
    after = []
    for gradient, rate in zip(gradients, rates):
        w[0].grad = torch.tensor(gradient[:DECAYED], dtype=torch.float64)
        w[1].grad = torch.tensor(gradient[DECAYED:], dtype=torch.float64)
        for group in optimiser.param_groups:
            group["lr"] = rate
        optimiser.step()
        after.append([float(x) for part in w for x in part.detach()])
    return after


def groups(w, decay):
    return [{"params": [w[0]], "weight_decay": decay}, {"params": [w[1]], "weight_decay": 0.0}]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    random = numpy.random.default_rng(1)
    start = random.normal(size=8).astype(numpy.float32).astype(float).tolist()
    size = 10.0 ** random.integers(-6, 4, size=8)
    gradients = (random.normal(size=(STEPS, 8)) * size).astype(numpy.float32).astype(float).tolist()
    rates = [0.1 / (1 + t) for t in range(STEPS)]
    optim = torch.optim
    cases = {
        "sgd": lambda w: optim.SGD(groups(w, 0.0), lr=1),
        "sgd:decay=0.1": lambda w: optim.SGD(groups(w, 0.1), lr=1),
        "adam": lambda w: optim.Adam(groups(w, 0.0), lr=1),
        "adam:beta1=0.5:beta2=0.9:eps=1e-3": lambda w: optim.Adam(groups(w, 0.0), lr=1, betas=(0.5, 0.9), eps=1e-3),
        "adam:decay=0.1": lambda w: optim.Adam(groups(w, 0.1), lr=1),
        "adamw": lambda w: optim.AdamW(groups(w, 0.01), lr=1),
        "adamw:beta1=0.8:decay=0.3": lambda w: optim.AdamW(groups(w, 0.3), lr=1, betas=(0.8, 0.999)),
    }
    golden = {
        "versions": {"torch": torch.__version__.split("+")[0]},
        "decayed": DECAYED,
        "start": start,
        "rates": rates,
        "gradients": gradients,
        "cases": [{"optimiser": name, "after": run(make, start, gradients, rates)} for name, make in cases.items()],
    }
    pathlib.Path(sys.argv[1]).write_text(json.dumps(golden, indent=1).replace("\n   ", " ") + "\n")


main()
