#!/usr/bin/env python3
"""The big table: defaults on every side, sets × methods, five stratified folds × three seeds.

    python bench/auto/headline.py run SHARED/data CSV [--toprank PATH] [--methods a,b] [--sets small|large|A,B] [--folds 1]
                                  [--seeds 1] [--budget 60s] [--minutes 60]
    python bench/auto/headline.py table CSV [--measure ap] [--folds 1]

Every fit is one row of the CSV (set, method, fold, seed, measures on the test part, CPU seconds of training), appended when it is
done; a row that is there is not computed again. Seeds 1, 2, 3 are the seeds of the folds and of the models. Sets of more than
20,000 rows have one split, 70 to 30, stratified, per seed. Every method has one thread and its defaults: features are standardised
for scikit-learn's perceptron and logistic regression, which ask for it; nothing else is set. toprank is asked for `--objective
auprc`. `auto` has a fixed budget (60 s of one thread, unless said otherwise; its list of members is shorter where the cost table has it so), which is less than the summed time
of LightGBM, XGBoost and CatBoost on larger sets and more on the smallest.

Measures: average precision, AUROC, partial AUC to FPR 0.1 (fraction of its area), precision at as many as are relevant.
"""

import argparse
import os
import time
import traceback

import common
import numpy as np

PEERS = ["lightgbm", "xgboost", "catboost", "histgb", "forest", "extra-trees", "sklearn-mlp", "logistic-regression"]
TOPRANK = {
    "toprank-trees": ["--model", "trees"],
    "toprank-linear": ["--model", "linear"],
    "toprank-mlp": ["--model", "mlp"],
    "toprank-auto": ["--model", "auto"],
}
#: Not on sets above 20,000 rows.
ONLY_SMALL = ["sklearn-mlp"]


def splits(name, y, seed):
    return common.folds(y, seed) if name in common.SMALL else common.repeated(y, 1, 0.3, seed)


def run(args):
    end = time.time() + 60 * args.minutes
    names = {"small": common.SMALL, "large": common.LARGE}.get(args.sets) or args.sets.split(",")
    methods = args.methods.split(",") if args.methods else [*PEERS, *TOPRANK]
    done = {(row["set"], row["method"], row["fold"], row["seed"]) for row in common.rows(args.csv)}
    for seed in args.seeds:
        for fold in args.folds:
            for name in names:
                missing = [m for m in methods if (name, m, str(fold), str(seed)) not in done]
                missing = [m for m in missing if not (m in ONLY_SMALL and name not in common.SMALL)]
                if not missing:
                    continue
                x, y = common.read(args.data, name)
                parts = splits(name, y, seed)
                if fold > len(parts):
                    continue
                train, test = parts[fold - 1]
                for method in missing:
                    if time.time() > end:
                        print("time is up")
                        return
                    try:
                        if method in TOPRANK:
                            more = ["--budget", args.budget] if method == "toprank-auto" else []
                            asked = [*TOPRANK[method], *more, "--objective", "auprc", "--seed", str(seed)]
                            scores, seconds = common.toprank(args.toprank, asked, x[train], y[train], x[test])
                        else:
                            scores, seconds = common.fit_peer(method, seed, x[train], y[train], x[test])
                        values = [f"{v:.5f}" for v in common.measure(y[test], scores)]
                    except Exception:
                        traceback.print_exc()
                        continue
                    about = {"set": name, "method": method, "fold": fold, "seed": seed}
                    row = {**about, **dict(zip(common.MEASURES, values)), "seconds": f"{seconds:.2f}"}
                    common.append(args.csv, row)
                    print(common.now(), *row.values(), flush=True)


def table(args):
    rows = [row for row in common.rows(args.csv) if not args.folds or int(row["fold"]) in args.folds]
    if args.sets:
        kept = {"small": common.SMALL, "large": common.LARGE}.get(args.sets) or args.sets.split(",")
        rows = [row for row in rows if row["set"] in kept]
    methods = [m for m in [*TOPRANK, *PEERS] if any(row["method"] == m for row in rows)]
    if args.methods:
        methods = args.methods.split(",")
    # Only splits that all methods have.
    by = {}
    for row in rows:
        by.setdefault((row["set"], row["fold"], row["seed"]), {})[row["method"]] = row
    whole = {key: found for key, found in by.items() if all(m in found for m in methods)}
    names = sorted({key[0] for key in whole})
    print(f"{len(names)} sets, {len(whole)} splits")
    for measure in [args.measure] if args.measure else common.MEASURES:
        means = np.array([
            [np.mean([float(found[m][measure]) for key, found in whole.items() if key[0] == name]) for m in methods]
            for name in names
        ])
        rank = np.array([[np.sum(row > v) + (np.sum(row == v) + 1) / 2 for v in row] for row in np.round(means, 6)])
        print(f"\n| {measure} | mean rank | mean | first | auto ahead: won · p · Holm | trees ahead: won · p · Holm | CPU s |")
        print("| --- | --- | --- | --- | --- | --- | --- |")
        tests = {}
        for ours in ["toprank-auto", "toprank-trees"]:
            if ours in methods:
                at = methods.index(ours)
                others = {m: means[:, at] - means[:, k] for k, m in enumerate(methods) if k != at}
                tests[ours] = common.wilcoxon_holm(others), others
        for k in np.argsort(rank.mean(0)):
            m = methods[k]
            cells = []
            for ours in ["toprank-auto", "toprank-trees"]:
                if ours in tests and m in tests[ours][0]:
                    p, holm = tests[ours][0][m]
                    cells.append(f"{int(np.sum(tests[ours][1][m] > 0))} · {p:.3f} · {holm:.3f}")
                else:
                    cells.append("")
            seconds = np.mean([float(found[m]["seconds"]) for found in whole.values()])
            first = int(np.sum(rank[:, k] == rank.min(1)))
            print(f"| {m} | {rank[:, k].mean():.2f} | {means[:, k].mean():.3f} | {first} | {cells[0]} | {cells[1]} | {seconds:.1f} |")
        if args.each:
            print("\n| set | " + " | ".join(methods) + " |\n" + "| --- " * (len(methods) + 1) + "|")
            for name, row in zip(names, means):
                print(f"| {name} | " + " | ".join(f"{v:.3f}" for v in row) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    numbers = lambda text: [int(cell) for cell in text.split(",")]  # noqa: E731
    one = commands.add_parser("run")
    one.add_argument("data")
    one.add_argument("csv")
    one.add_argument("--toprank", default="target/release/toprank")
    one.add_argument("--methods")
    one.add_argument("--sets", default="small")
    one.add_argument("--folds", type=numbers, default=[1])
    one.add_argument("--seeds", type=numbers, default=[1])
    one.add_argument("--budget", default="60s")
    one.add_argument("--minutes", type=float, default=600)
    one.set_defaults(call=run)
    two = commands.add_parser("table")
    two.add_argument("csv")
    two.add_argument("--measure")
    two.add_argument("--methods")
    two.add_argument("--sets")
    two.add_argument("--each", action="store_true")
    two.add_argument("--folds", type=numbers)
    two.set_defaults(call=table)
    args = parser.parse_args()
    if getattr(args, "toprank", None):
        args.toprank = os.path.abspath(args.toprank)
    args.call(args)


if __name__ == "__main__":
    main()
