#!/usr/bin/env python3
"""Six sets, 20 repeated stratified splits (3 to 1): trees by toprank's defaults beside LightGBM's.

    python bench/auto/six_sets.py run SHARED/data CSV [--toprank PATH] [--minutes 60] [--methods a,b]
    python bench/auto/six_sets.py table CSV

The splits are those of scikit-learn's StratifiedShuffleSplit(20, test_size=0.25, random_state=32); split k has the seed k for every
model. Every fit is one row of the CSV; a row that is there is not computed again.
"""

import argparse
import os
import time

import common
import numpy as np

SEED = 32
COUNT = 20
TOPRANK = {"trees-auprc": "auprc", "trees-auroc": "auroc", "trees-logistic": "logistic"}
METHODS = ["lightgbm", *TOPRANK]


def run(args):
    end = time.time() + 60 * args.minutes
    done = {(row["set"], row["method"], row["split"]) for row in common.rows(args.csv)}
    data = {name: common.read(args.data, name) for name in common.SIX}
    splits = {name: common.repeated(y, COUNT, 0.25, SEED) for name, (_, y) in data.items()}
    for k in range(COUNT):
        for name, (x, y) in data.items():
            train, test = splits[name][k]
            for method in args.methods.split(","):
                if (name, method, str(k + 1)) in done:
                    continue
                if time.time() > end:
                    print("time is up")
                    return
                if method in TOPRANK:
                    asked = ["--model", "trees", "--objective", TOPRANK[method], "--seed", str(k + 1)]
                    scores, seconds = common.toprank(args.toprank, asked, x[train], y[train], x[test])
                else:
                    scores, seconds = common.fit_peer(method, k + 1, x[train], y[train], x[test])
                values = [f"{v:.5f}" for v in common.measure(y[test], scores)]
                about = {"set": name, "method": method, "split": k + 1}
                common.append(args.csv, {**about, **dict(zip(common.MEASURES, values)), "seconds": f"{seconds:.2f}"})
    print("done")


def table(args):
    rows = common.rows(args.csv)
    methods = [m for m in METHODS if any(row["method"] == m for row in rows)]
    by = {}
    for row in rows:
        by.setdefault((row["set"], row["split"]), {})[row["method"]] = row
    whole = {key: found for key, found in by.items() if all(m in found for m in methods)}
    for measure in ["ap", "auroc"]:
        print(f"\n| {measure} | splits | " + " | ".join(methods) + " |\n" + "| --- " * (len(methods) + 2) + "|")
        all_means = []
        for name in common.SIX:
            found = [f for key, f in whole.items() if key[0] == name]
            if not found:
                continue
            values = np.array([[float(f[m][measure]) for m in methods] for f in found])
            first = values[:, 0]
            cells = [f"{first.mean():.3f}"]
            for k in range(1, len(methods)):
                difference = values[:, k] - first
                won = int(np.sum(difference > 0) + 0.5 * np.sum(difference == 0))
                error = difference.std(ddof=1) / len(difference) ** 0.5 if len(difference) > 1 else float("nan")
                cells.append(f"{values[:, k].mean():.3f} ({difference.mean():+.3f} ± {error:.3f}, {won} won)")
            all_means.append(values.mean(0))
            print(f"| {name} | {len(found)} | " + " | ".join(cells) + " |")
        print("| mean | | " + " | ".join(f"{v:.4f}" for v in np.mean(all_means, axis=0)) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("run")
    one.add_argument("data")
    one.add_argument("csv")
    one.add_argument("--toprank", default="target/release/toprank")
    one.add_argument("--methods", default=",".join(METHODS))
    one.add_argument("--minutes", type=float, default=600)
    one.set_defaults(call=run)
    two = commands.add_parser("table")
    two.add_argument("csv")
    two.set_defaults(call=table)
    args = parser.parse_args()
    if getattr(args, "toprank", None):
        args.toprank = os.path.abspath(args.toprank)
    args.call(args)


if __name__ == "__main__":
    main()
