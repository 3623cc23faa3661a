#!/usr/bin/env python3
"""Which defaults? Tries on the training parts of fold 1 (seed 1) of the big table: its test rows are never read.

    python bench/auto/tune.py run SHARED/data CSV --plan small [--toprank PATH] [--minutes 20] [--candidates a,b] [--splits 1,2]
    python bench/auto/tune.py table CSV --plan small [--measure ap]

The training part of a set is split again, three times (70 to 30, stratified, random_state=7); a try trains with the command as a
user would, with `early-stopping` by folds and the refit, and is measured on the 30 %. Every try is one row of the CSV. A candidate is
chosen for all sets of its plan, never for one; what is chosen is what is best by mean rank and mean together on the plan's measure.
Sets of more than 20,000 rows give 14,000 of their training rows (stratified). The plans below were committed before their runs.
"""

import argparse
import os
import time

import common
import numpy as np

SMALL_SETS = [name for name in common.SMALL if name not in ("mammography", "higgs-sample", "hiva")]
MID_SETS = ["mammography", "higgs-sample", "a9a", "w8a", "adbench-aloi", "adbench-campaign", "give-me-some-credit", "adbench-donors",
            "adbench-cover"]
MOST = 14_000

TREES = ["--model", "trees"]


def trees(parameters, *more):
    return ["--model", f"trees:{parameters}", *more]


PLANS = {
    # Fewer than 5,000 rows learn. `now`: leaves=7:min-rows=5:l2=1:node-features=0.6:rows=0.7, rate 0.05, at most 300 rounds.
    "small": (SMALL_SETS, {
        "now": TREES,
        "bagged": ["--model", "auto", "--members", "trees", "--folds", "5"],
        "slow": [*TREES, "--learning-rate", "0.03"],
        "leaves15": trees("leaves=15"),
        "leaves4": trees("leaves=4"),
        "l2=5": trees("l2=5"),
        "rows.5": trees("rows=0.5:node-features=0.4"),
        "extra": trees("extra=yes"),
        "smooth": trees("smooth=3"),
        "min10": trees("min-rows=10"),
        "auroc-stops": [*TREES, "--valid-metric", "auroc"],
        "former": trees("leaves=31:min-rows=20:l2=0:node-features=1:rows=1", "--learning-rate", "0.1"),
    }),
    # What plan `small` showed: averaging the folds' models is worth most, extra trees and smaller draws next. With `early-stopping
    # average`, the mean of the folds' models and the one on all rows.
    "small2": (SMALL_SETS, {
        "average": TREES,
        "folds": [*TREES, "--early-stopping", "folds"],
        "average-extra": trees("extra=yes"),
        "average-rows.5": trees("rows=0.5:node-features=0.4"),
        "average-slow": [*TREES, "--learning-rate", "0.03"],
        "average-slow-l15": trees("leaves=15", "--learning-rate", "0.03"),
        "average-slow-extra": trees("leaves=15:extra=yes", "--learning-rate", "0.03"),
        "average-node.3": trees("rows=0.7:node-features=0.3:leaves=15", "--learning-rate", "0.03"),
        "average-fast": [*TREES, "--learning-rate", "0.1"],
        "average-extra-rows.5": trees("extra=yes:rows=0.5:node-features=0.4"),
        "average-extra-l2=.3": trees("extra=yes:l2=0.3"),
    }),
    # 5,000 to 14,000 rows learn. `now`: 31 leaves, 20 rows per leaf, rate 0.1, all rows and features.
    "mid": (MID_SETS, {
        "now": TREES,
        "small-default": trees("leaves=7:min-rows=5:l2=1:node-features=0.6:rows=0.7", "--learning-rate", "0.05"),
        "l2=1": trees("l2=1"),
        "sampled": trees("l2=1:node-features=0.6:rows=0.7"),
        "sampled-slow": trees("l2=1:node-features=0.6:rows=0.7", "--learning-rate", "0.05"),
        "mid-slow": trees("leaves=15:l2=1:node-features=0.6:rows=0.7", "--learning-rate", "0.05"),
        "mid-min10": trees("leaves=15:min-rows=10:l2=1:node-features=0.6:rows=0.7", "--learning-rate", "0.05"),
        "wide-l2=5": trees("min-rows=10:l2=5:node-features=0.5:rows=0.7", "--learning-rate", "0.05"),
    }),
    # The same with averages, and with what won on small sets.
    "mid2": (["mammography", "higgs-sample", "adbench-campaign", "a9a", "give-me-some-credit"], {
        "average": TREES,
        "small-default": trees("leaves=7:min-rows=5:l2=1:node-features=0.6:rows=0.7", "--learning-rate", "0.05"),
        "small-extra": trees("leaves=7:min-rows=5:l2=1:node-features=0.6:rows=0.7:extra=yes", "--learning-rate", "0.05"),
        "mid-slow": trees("leaves=15:min-rows=10:l2=1:node-features=0.6:rows=0.7", "--learning-rate", "0.05"),
        "mid-extra": trees("leaves=15:min-rows=10:l2=1:node-features=0.6:rows=0.7:extra=yes", "--learning-rate", "0.05"),
        "wide-slow": trees("min-rows=10:l2=1:node-features=0.6:rows=0.7", "--learning-rate", "0.05"),
    }),
}
PEERS = ["lightgbm", "xgboost", "catboost"]


def part(data, name):
    """The training part of fold 1, seed 1, of at most MOST rows."""
    x, y = common.read(data, name)
    if name in common.SMALL:
        rows = common.folds(y, 1)[0][0]
    else:
        rows = common.repeated(y, 1, 0.3, 1)[0][0]
        if len(rows) > MOST:
            from sklearn.model_selection import train_test_split

            rows = train_test_split(rows, train_size=MOST, stratify=y[rows], random_state=7)[0]
    return x[rows], y[rows]


def run(args):
    end = time.time() + 60 * args.minutes
    names, candidates = PLANS[args.plan]
    if args.sets:
        names = args.sets.split(",")
    wanted = args.candidates.split(",") if args.candidates else [*PEERS, *candidates]
    done = {(row["plan"], row["set"], row["split"], row["candidate"]) for row in common.rows(args.csv)}
    parts = {}
    for k in args.splits:
        for candidate in wanted:
            for name in names:
                if (args.plan, name, str(k), candidate) in done:
                    continue
                if time.time() > end:
                    print("time is up")
                    return
                if name not in parts:
                    parts[name] = part(args.data, name)
                x, y = parts[name]
                train, test = common.repeated(y, 3, 0.3, 7)[k - 1]
                if candidate in PEERS:
                    scores, seconds = common.fit_peer(candidate, k, x[train], y[train], x[test])
                else:
                    asked = ["--objective", "auprc", "--seed", str(k), *candidates[candidate]]
                    if "--objective" in candidates[candidate]:
                        asked = ["--seed", str(k), *candidates[candidate]]
                    scores, seconds = common.toprank(args.toprank, asked, x[train], y[train], x[test])
                values = [f"{v:.5f}" for v in common.measure(y[test], scores)]
                about = {"plan": args.plan, "set": name, "split": k, "candidate": candidate}
                common.append(args.csv, {**about, **dict(zip(common.MEASURES, values)), "seconds": f"{seconds:.2f}"})
            print(common.now(), k, candidate, flush=True)


def table(args):
    rows = [row for row in common.rows(args.csv) if row["plan"] == args.plan]
    order = [*PLANS[args.plan][1], *PEERS]
    counts = {c: sum(row["candidate"] == c for row in rows) for c in order}
    most = max(counts.values())
    candidates = [c for c in order if counts[c] >= args.least * most]
    by = {}
    for row in rows:
        by.setdefault((row["set"], row["split"]), {})[row["candidate"]] = row
    whole = {key: found for key, found in by.items() if all(c in found for c in candidates)}
    names = sorted({key[0] for key in whole})
    print(f"{len(names)} sets, {len(whole)} splits; first: {candidates[0]}")
    print("| candidate | " + " | ".join(f"{m}: mean · rank · won" for m in common.MEASURES) + " | CPU s |")
    print("| --- " * (len(common.MEASURES) + 2) + "|")
    columns = {}
    for measure in common.MEASURES:
        means = np.array([
            [np.mean([float(f[c][measure]) for key, f in whole.items() if key[0] == name]) for c in candidates] for name in names
        ])
        rank = np.array([[np.sum(row > v) + (np.sum(row == v) + 1) / 2 for v in row] for row in np.round(means, 6)])
        won = (means > means[:, :1] + 1e-9).sum(0) + 0.5 * (np.abs(means - means[:, :1]) <= 1e-9).sum(0)
        columns[measure] = [f"{means[:, k].mean():.4f} · {rank[:, k].mean():.2f} · {won[k]:.1f}" for k in range(len(candidates))]
        if args.each == measure:
            print("\n| set | " + " | ".join(candidates) + " |")
            for name, row in zip(names, means):
                print(f"| {name} | " + " | ".join(f"{v:.3f}" for v in row) + " |")
    for k, c in enumerate(candidates):
        seconds = np.mean([float(f[c]["seconds"]) for f in whole.values()])
        print(f"| {c} | " + " | ".join(columns[m][k] for m in common.MEASURES) + f" | {seconds:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    numbers = lambda text: [int(cell) for cell in text.split(",")]  # noqa: E731
    one = commands.add_parser("run")
    one.add_argument("data")
    one.add_argument("csv")
    one.add_argument("--plan", required=True)
    one.add_argument("--toprank", default="target/release/toprank")
    one.add_argument("--candidates")
    one.add_argument("--sets")
    one.add_argument("--splits", type=numbers, default=[1, 2, 3])
    one.add_argument("--minutes", type=float, default=600)
    one.set_defaults(call=run)
    two = commands.add_parser("table")
    two.add_argument("csv")
    two.add_argument("--plan", required=True)
    two.add_argument("--each")
    two.add_argument("--least", type=float, default=0.9)
    two.set_defaults(call=table)
    args = parser.parse_args()
    if getattr(args, "toprank", None):
        args.toprank = os.path.abspath(args.toprank)
    args.call(args)


if __name__ == "__main__":
    main()
