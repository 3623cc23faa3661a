"""Writes the peers' values and gradients of ranking losses: crates/objectives/tests/golden/peers.json.

    python bench/peers/make_objectives.py crates/objectives/tests/golden/peers.json

The versions are those of requirements-objectives.txt. Every case is checked against our formula written plainly
(objectives/twins.py) before it is written; objectives/cases.py describes a case.
"""

import collections
import importlib.metadata
import json
import pathlib
import sys

from objectives import allrank, libauc, rax, trees
from objectives import lists as seeded
from objectives.cases import check

PACKAGES = ("allRank", "jax", "libauc", "lightgbm", "rax", "torch", "xgboost-cpu")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    lists = seeded.make()
    cases = [
        *allrank.from_allrank(lists),
        *rax.from_rax(lists),
        *libauc.from_libauc(lists),
        *trees.from_lightgbm(lists),
        *trees.from_xgboost(lists),
    ]
    seen, wrong = collections.defaultdict(list), []
    for made in cases:
        apart, why = check(made)
        seen[made["peer"], made["objective"]].append(apart)
        wrong += [why] if why else []
    for (peer, objective), apart in seen.items():
        print(f"{peer:9} {objective:40} {len(apart):3} cases, largest distance {max(apart):.1e}")
    if wrong:
        sys.exit("\n".join(wrong))

    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    file = pathlib.Path(sys.argv[1])
    file.parent.mkdir(parents=True, exist_ok=True)
    line = lambda value: json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    body = ",\n".join(line(made) for made in cases)
    file.write_text(f'{{"versions":{line(versions)},\n"cases":[\n{body}\n]}}\n')
    print(f"{len(cases)} cases, {file.stat().st_size} bytes")


if __name__ == "__main__":
    main()
