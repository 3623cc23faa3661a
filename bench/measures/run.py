#!/usr/bin/env python3
"""Does a measure's own objective help? Sets × {trees, mlp} × {cross-entropy, the measure's objective, one then the other}.

    python bench/measures/run.py run SHARED/data WORK CSV [--toprank PATH] [--seeds 1,2,3] [--models trees,mlp] [--minutes N]
    python bench/measures/run.py table CSV [--seeds 1]

The ten sets have 11,000 to 620,000 rows. Of each at most 24,000 are drawn (seed below; at least 400 relevant ones where the set has
them) and cut in three, stratified: a quarter trains, an eighth stops training and chooses, the rest is the test part.

A recipe has two tries, its two learning rates; the try with the best validation value of the measure is kept, and its test value is
the recipe's. The second stage starts from the kept cross-entropy model of the same measure and has two rates of its own; it is kept
only if a try is better than its start on validation data, else the recipe is its start. So each recipe chooses among two tries of its
own (the two-stage recipe among two, and its start).

Every try is one row of the CSV; a row that is there is not computed again. Test values are computed with the try, and read for the
kept one only. This file, with the grid and the seeds, was committed before the first run.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "auto"))
import common  # noqa: E402
from trees import stratified  # noqa: E402

SETS = ["mammography", "a9a", "w8a", "adbench-aloi", "adbench-campaign", "give-me-some-credit", "adbench-smtp", "adbench-cover",
        "adbench-donors", "kddcup99"]
SEED = 20261119
MOST_ROWS = 24_000
LEAST_RELEVANT = 400
#: Name of a measure, the metric of validation, the objective of each kind of model; K: relevant rows of the training part.
MEASURES = {
    "auroc": ("auroc", {"trees": "auroc", "mlp": "auroc"}),
    "pauc": ("pauc:fpr=0.1", {
        "trees": "pauc-cvar:fpr=0.1:surrogate=logistic:variables=exact", "mlp": "pauc-cvar:fpr=0.1:surrogate=sigmoid"}),
    "ap": ("auprc", {"trees": "ap:surrogate=sigmoid:gamma=1", "mlp": "ap:surrogate=sigmoid:gamma=0.9"}),
    "rprec": ("rprec", {"trees": "lambda-p@K", "mlp": "lambda-p@K"}),
}
RATES = {"trees": [0.1, 0.05], "mlp": [0.01, 0.003]}
SECOND_RATES = {"trees": [0.05, 0.02], "mlp": [0.003, 0.001]}
MORE = {"trees": ["--epochs", "300", "--patience", "30"], "mlp": ["--epochs", "30", "--patience", "6"]}
RECIPES = ["cross-entropy", "own", "two-stage"]


def kddcup99(data):
    """u2r and r2l connections among all; the three columns of words as numbers by first appearance."""
    import pandas

    table = pandas.read_csv(os.path.join(data, "binary/kddcup99/kddcup99.10percent.csv.gz"), header=None)
    rare = set("buffer_overflow. loadmodule. perl. rootkit. ftp_write. guess_passwd. imap. multihop. phf. spy. warezclient. "
               "warezmaster.".split())
    y = table[41].isin(rare).to_numpy()
    for column in (1, 2, 3):
        table[column] = pandas.factorize(table[column])[0]
    return table.iloc[:, :41].to_numpy(np.float32), y


class Set:
    """The three parts of a set, also as tables for the command."""

    def __init__(self, data, work, name):
        self.folder = os.path.join(work, name)
        stored = os.path.join(self.folder, "parts.npz")
        if not os.path.exists(stored):
            os.makedirs(self.folder, exist_ok=True)
            x, y = kddcup99(data) if name == "kddcup99" else common.read(data, name)
            random = np.random.default_rng([SEED, *name.encode()])
            if len(y) > MOST_ROWS:
                relevant = int(max(round(y.mean() * MOST_ROWS), min(LEAST_RELEVANT, y.sum())))
                ones = random.permutation(np.flatnonzero(y))[:relevant]
                rest = random.permutation(np.flatnonzero(~y))[: MOST_ROWS - relevant]
                rows = np.sort(np.concatenate([ones, rest]))
                x, y = x[rows], y[rows]
            eighth = stratified(y, 8, random)
            parts = {"train": eighth < 2, "valid": eighth == 2, "test": eighth > 2}
            for part, rows in parts.items():
                common.write_table(os.path.join(self.folder, f"{part}.csv"), x[rows], y[rows])
            np.savez(stored, **{part: y[rows] for part, rows in parts.items()})
        self.y = np.load(stored)

    def path(self, name):
        return os.path.join(self.folder, name)

    def evaluated(self, program, model, part):
        scores = self.path("scores.txt")
        words = ["predict", model, "-q", "--threads", "1", "--data", self.path(f"{part}.csv"), "--label", "label", "-o", scores]
        pathlib.Path(scores).unlink(missing_ok=True)
        subprocess.run([program, *words], check=True, capture_output=True)
        return dict(zip(common.MEASURES, common.measure(self.y[part], np.loadtxt(scores, ndmin=1))))


def fit(program, data, kind, seed, measure, algorithm, rate, start):
    """Trains; the model file, CPU seconds."""
    model = data.path(f"{kind}.toprank")
    metric = MEASURES[measure][0]
    words = ["train", "-q", "--force", "--threads", "1", "--data", data.path("train.csv"), "--valid", data.path("valid.csv"), "--label",
             "label", "--model", kind, "--objective", metric, "--algorithm", algorithm, "--valid-metric", metric, "--learning-rate",
             str(rate), "--seed", str(seed), "-o", model, *MORE[kind]]
    before = common.cpu(common.resource.RUSAGE_CHILDREN)
    done = subprocess.run([program, *words, *(["--from", start] if start else [])], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr}")
    return model, common.cpu(common.resource.RUSAGE_CHILDREN) - before


def run(args):
    end = time.time() + 60 * args.minutes
    program = os.path.abspath(args.toprank)
    done = {tuple(row[key] for key in ["set", "model", "seed", "measure", "recipe", "rate"]): row for row in common.rows(args.csv)}
    for seed in args.seeds:
        for kind in args.models:
            for name in args.sets:
                data = Set(args.data, args.work, name)
                relevant = int(data.y["train"].sum())
                for measure, (_, own) in MEASURES.items():
                    algorithm = own[kind].replace("K", str(relevant))
                    kept = None
                    for recipe in RECIPES:
                        objective = "logistic" if recipe == "cross-entropy" else algorithm
                        for rate in (SECOND_RATES if recipe == "two-stage" else RATES)[kind]:
                            key = (name, kind, str(seed), measure, recipe, str(rate))
                            start = data.path(f"{kind}.{seed}.{measure}.first.toprank") if recipe == "two-stage" else None
                            if key in done and (recipe != "cross-entropy" or os.path.exists(
                                    data.path(f"{kind}.{seed}.{measure}.first.toprank"))):
                                continue
                            if time.time() > end:
                                print("time is up")
                                return
                            try:
                                model, seconds = fit(program, data, kind, seed, measure, objective, rate, start)
                            except RuntimeError as error:
                                print(error, flush=True)
                                continue
                            valid, test = (data.evaluated(program, model, part) for part in ("valid", "test"))
                            if recipe == "cross-entropy" and (kept is None or valid[measure] > kept):
                                kept = valid[measure]
                                os.replace(model, data.path(f"{kind}.{seed}.{measure}.first.toprank"))
                            if key in done:
                                continue
                            row = dict(zip(["set", "model", "seed", "measure", "recipe", "rate"], key))
                            row |= {"objective": objective, "valid": f"{valid[measure]:.6f}"}
                            row |= {f"test {m}": f"{test[m]:.6f}" for m in common.MEASURES} | {"seconds": f"{seconds:.2f}"}
                            common.append(args.csv, row)
                            done[key] = row
                            print(common.now(), *row.values(), flush=True)


def kept_tries(rows):
    """{(set, model, seed, measure): {recipe: (test value, CPU seconds of both tries)}} where all six tries are there."""
    groups = {}
    for row in rows:
        groups.setdefault((row["set"], row["model"], row["seed"], row["measure"]), []).append(row)
    found = {}
    for key, tries in groups.items():
        by = {recipe: [row for row in tries if row["recipe"] == recipe] for recipe in RECIPES}
        if any(len(by[recipe]) < 2 for recipe in RECIPES):
            continue
        best = {recipe: max(by[recipe], key=lambda row: float(row["valid"])) for recipe in RECIPES}
        if float(best["two-stage"]["valid"]) <= float(best["cross-entropy"]["valid"]):
            best["two-stage"] = best["cross-entropy"]
        best["best on validation"] = max(best.values(), key=lambda row: float(row["valid"]))
        found[key] = {recipe: float(row[f"test {key[3]}"]) for recipe, row in best.items()}
    return found


def table(args):
    rows = [row for row in common.rows(args.csv) if not args.seeds or int(row["seed"]) in args.seeds]
    found = kept_tries(rows)
    recipes = [*RECIPES, "best on validation"]
    print("| model | measure | sets | cross-entropy | own: gain · sets won · p | two-stage: gain · sets won · p | "
          "best on validation: gain · sets won · p |")
    print("| --- " * 7 + "|")
    for kind in RATES:
        for measure in MEASURES:
            names = [name for name in SETS if any(key[0] == name and key[1] == kind and key[3] == measure for key in found)]
            if not names:
                continue
            means = np.array([[np.mean([value[recipe] for key, value in found.items()
                                        if (key[0], key[1], key[3]) == (name, kind, measure)]) for recipe in recipes] for name in names])
            cells = []
            for k in range(1, len(recipes)):
                gain = means[:, k] - means[:, 0]
                p = common.wilcoxon_holm({"x": gain})["x"][0]
                cells.append(f"{100 * gain.mean():+.2f} · {np.sum(gain > 0)} of {len(gain)} · {p:.3f}")
            print(f"| {kind} | {measure} | {len(names)} | {means[:, 0].mean():.4f} | " + " | ".join(cells) + " |")
            if args.each:
                for name, row in zip(names, means):
                    print(f"|  | {name} |  | " + " | ".join(f"{v:.4f}" for v in row) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    numbers = lambda text: [int(cell) for cell in text.split(",")]  # noqa: E731
    words = lambda text: text.split(",")  # noqa: E731
    one = commands.add_parser("run")
    one.add_argument("data")
    one.add_argument("work")
    one.add_argument("csv")
    one.add_argument("--toprank", default="target/release/toprank")
    one.add_argument("--seeds", type=numbers, default=[1, 2, 3])
    one.add_argument("--models", type=words, default=list(RATES))
    one.add_argument("--sets", type=words, default=SETS)
    one.add_argument("--minutes", type=float, default=600)
    one.set_defaults(call=run)
    two = commands.add_parser("table")
    two.add_argument("csv")
    two.add_argument("--seeds", type=numbers)
    two.add_argument("--each", action="store_true")
    two.set_defaults(call=table)
    args = parser.parse_args()
    args.call(args)


if __name__ == "__main__":
    main()
