#!/usr/bin/env python3
"""Defaults of boosted trees on binary data: which are chosen, and what the peers reach.

    python bench/defaults/trees.py prepare SHARED/data WORK
    python bench/defaults/trees.py try WORK --toprank target/release/toprank [--configs a,b] [--objectives auprc] [--minutes 20]
    python bench/defaults/trees.py test WORK --toprank target/release/toprank --configs a,b
    python bench/defaults/trees.py peers WORK
    python bench/defaults/trees.py table WORK

Protocol. Every set has at most 20,000 rows (drawn with SEED, at least 200 relevant ones where the set has them). A quarter of the
rows, stratified, is the test part; the rest is learned from. A try is a configuration and an objective: it is trained on the folds
of the rest (three, stratified; above 6,000 rows one held-out third), without early stopping, and its value is the best, over the
number of rounds, of the mean over the folds of a metric on the rows that were held out. That number of rounds is what a refit on
the whole rest uses when the test part is evaluated: once for each configuration that `test` names. Sets are halved by a hash of
their origin (sets of one origin in one half): what is chosen on one half is tabulated on the other.

Peers learn from the rest with their defaults (LightGBM 100 rounds, XGBoost 100, CatBoost 1000), LightGBM also with early stopping
(patience 50) by the mean of the same folds and a refit.

Every try is a row of WORK/tries.csv, every test value one of WORK/tests.csv; `table` copies what is to be kept into bench/defaults.
The grid is `CONFIGS` below: it was committed before the runs.
"""

import argparse
import csv
import glob
import gzip
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time

import numpy as np

SEED = 20261118
MOST_ROWS = 20_000
LEAST_RELEVANT = 200
SMALL = 6_000
FOLDS = 3
ROUNDS = 200
EVERY = 5
METRICS = ["auprc", "auroc", "pauc", "rprec"]
OBJECTIVES = ["auprc", "auroc", "pauc:fpr=0.1", "logistic"]
METRIC_OF = {"auprc": "auprc", "auroc": "auroc", "pauc:fpr=0.1": "pauc"}

# name -> (learning rate, parameters of trees, objective that replaces the one asked for, by what is asked for).
CONFIGS = {
    # What the command does today.
    "today": (0.1, "trees", {}, 150),
    # The causes: leaf values of rows whose Hessian is nearly gone, by l2 (the mean Hessian of a row is 1/4 at the start).
    "l2=1": (0.1, "trees:l2=1", {}, 150),
    "l2=5": (0.1, "trees:l2=5", {}, 150),
    "minh=1": (0.1, "trees:min-hessian=1", {}, 150),
    # Smaller trees, shorter steps.
    "small": (0.05, "trees:leaves=7", {}),
    "small-l2=5": (0.05, "trees:leaves=7:l2=5", {}),
    "small-f.5": (0.05, "trees:leaves=7:features=0.5", {}),
    "small-min5": (0.05, "trees:leaves=7:min-rows=5:l2=1", {}),
    "mid": (0.05, "trees:leaves=15:l2=1", {}),
    # Draws of rows.
    "small-r.6": (0.05, "trees:leaves=7:l2=1:rows=0.6", {}),
    "small-r.6-f.6": (0.05, "trees:leaves=7:l2=1:rows=0.6:features=0.6", {}),
    "small-r.6-n.6": (0.05, "trees:leaves=7:l2=1:rows=0.6:node-features=0.6", {}),
    "small-extra": (0.05, "trees:leaves=7:l2=1:extra=yes", {}),
    "small-extra-r.6": (0.05, "trees:leaves=7:l2=1:extra=yes:rows=0.6", {}),
    "small-smooth": (0.05, "trees:leaves=7:rows=0.6:node-features=0.6:smooth=2", {}),
    "mid-r.6-n.6": (0.05, "trees:leaves=15:l2=1:rows=0.6:node-features=0.6", {}),
    "mid-smooth": (0.05, "trees:leaves=15:rows=0.6:node-features=0.6:smooth=2", {}),
    "full-r.6-n.6": (0.05, "trees:l2=1:rows=0.6:node-features=0.6", {}),
    # Small leaves, too, for sets of a few hundred rows.
    "min5-r.7-n.6": (0.05, "trees:leaves=7:min-rows=5:l2=1:rows=0.7:node-features=0.6", {}),
    "min5-mid": (0.05, "trees:leaves=15:min-rows=5:l2=1:rows=0.7:node-features=0.6", {}),
    "min5-l2=5": (0.05, "trees:leaves=15:min-rows=5:l2=5:rows=0.7:node-features=0.6", {}),
    "min5-smooth": (0.05, "trees:leaves=15:min-rows=5:smooth=5:rows=0.7:node-features=0.6", {}),
    # Cross-entropy first, then the objective; shorter steps.
    "small-then": (0.05, "trees:leaves=7:min-rows=5:l2=1:rows=0.7:node-features=0.6", {"from": "min5-r.7-n.6"}, 100),
    # Forms of the objectives, on one configuration.
    "forms-logistic": (0.05, "trees:leaves=7:min-rows=5:l2=1:rows=0.7:node-features=0.6", {
        "auroc": "auroc:surrogate=logistic", "auprc": "ap:surrogate=logistic:gamma=0.9",
        "pauc:fpr=0.1": "pauc-kl:surrogate=logistic"}),
    "forms-other": (0.05, "trees:leaves=7:min-rows=5:l2=1:rows=0.7:node-features=0.6", {
        "auroc": "auroc:surrogate=sigmoid", "auprc": "ap:surrogate=sigmoid:gamma=1",
        "pauc:fpr=0.1": "pauc-cvar:fpr=0.1:surrogate=logistic:variables=exact"}),
}


def origin(name):
    name = re.sub(r"^(keel|adbench|libsvm)-", "", name)
    for stem in ["yeast", "winequality", "ecoli", "kddcup", "smtp"]:
        if name.startswith(stem):
            return "kddcup" if stem == "smtp" else stem
    return name


def halves(names):
    """Half of the origins, in the order of their hashes, by turns: so that both halves have as many."""
    origins = sorted({origin(name) for name in names}, key=lambda name: hashlib.sha256(name.encode()).digest())
    return {name: origins.index(origin(name)) % 2 for name in names}


# ---------------------------------------------------------------- data


def read_csv(path):
    with gzip.open(path, "rt") as lines:
        lines.readline()
        table = np.loadtxt(lines, delimiter=",", dtype=np.float32, ndmin=2)
    return table[:, :-1], table[:, -1] > 0


def read_libsvm(path, width):
    rows, labels = [], []
    with gzip.open(path, "rt") as lines:
        for line in lines:
            label, *pairs = line.split()
            row = np.zeros(width, dtype=np.float32)
            for pair in pairs:
                index, value = pair.split(":")
                row[int(index) - 1] = float(value)
            rows.append(row)
            labels.append(float(label) > 0)
    return np.array(rows), np.array(labels)


def sets(data):
    folder = os.path.join(data, "binary")
    for path in sorted(glob.glob(f"{folder}/*.csv.gz")):
        yield os.path.basename(path)[: -len(".csv.gz")], lambda path=path: read_csv(path)
    for path in sorted(glob.glob(f"{folder}/adbench-*/*.csv.gz")):
        yield os.path.basename(os.path.dirname(path)), lambda path=path: read_csv(path)
    yield "give-me-some-credit", lambda: read_csv(f"{folder}/give-me-some-credit/gmsc.csv.gz")
    for name, width in [("a9a", 123), ("w8a", 300)]:
        yield name, lambda name=name, width=width: read_libsvm(f"{folder}/libsvm/{name}.gz", width)


    def higgs():
        with gzip.open(f"{folder}/lightgbm-binary/binary.train.gz", "rt") as lines:
            table = np.loadtxt(lines, dtype=np.float32)
        return table[:, 1:], table[:, 0] > 0

    yield "higgs-sample", higgs


def stratified(labels, parts, random):
    """The part of every row: relevant and other rows are dealt out in turn, in random order."""
    part = np.zeros(len(labels), dtype=int)
    for value in [True, False]:
        rows = random.permutation(np.flatnonzero(labels == value))
        part[rows] = np.arange(len(rows)) % parts
    return part


def write_table(path, x, y):
    with open(path, "w") as out:
        out.write(",".join(f"f{i}" for i in range(x.shape[1])) + ",label\n")
        for row, label in zip(x, y):
            out.write(",".join(repr(float(v)) if v != int(v) else str(int(v)) for v in row) + f",{int(label)}\n")


def prepare(data, work):
    os.makedirs(work, exist_ok=True)
    with open(f"{work}/sets.csv", "w") as out:
        out.write("set,rows,relevant,features,folds,half\n")
        half = halves([name for name, _ in sets(data)])
        for name, read in sets(data):
            random = np.random.default_rng([SEED, *name.encode()])
            x, y = read()
            if len(y) > MOST_ROWS:
                relevant = int(max(round(y.mean() * MOST_ROWS), min(LEAST_RELEVANT, y.sum())))
                ones = random.permutation(np.flatnonzero(y))[:relevant]
                rest = random.permutation(np.flatnonzero(~y))[: MOST_ROWS - relevant]
                rows = np.sort(np.concatenate([ones, rest]))
                x, y = x[rows], y[rows]
            test = stratified(y, 4, random) == 0
            folds = FOLDS if len(y) < SMALL else 1
            np.savez(f"{work}/{name}.npz", x=x, y=y, test=test)
            fold = stratified(y[~test], FOLDS, random)
            write_table(f"{work}/{name}.rest.csv", x[~test], y[~test])
            for k in range(folds):
                write_table(f"{work}/{name}.{k}.csv", x[~test][fold != k], y[~test][fold != k])
            np.savez(f"{work}/{name}.folds.npz", fold=fold)
            out.write(f"{name},{len(y)},{int(y.sum())},{x.shape[1]},{folds},{half[name]}\n")
            print(name, x.shape, int(y.sum()), half[name], flush=True)


class Set:
    def __init__(self, work, line):
        self.work, self.name, self.folds, self.half = work, line["set"], int(line["folds"]), int(line["half"])
        stored = np.load(f"{work}/{self.name}.npz")
        fold = np.load(f"{work}/{self.name}.folds.npz")["fold"]
        x, y, test = stored["x"], stored["y"], stored["test"]
        self.test = x[test], y[test]
        self.rest = x[~test], y[~test]
        self.parts = [(self.rest[0][fold == k], self.rest[1][fold == k]) for k in range(self.folds)]
        self.learned = [(self.rest[0][fold != k], self.rest[1][fold != k]) for k in range(self.folds)]


def all_sets(work):
    return list(csv.DictReader(open(f"{work}/sets.csv")))


# ---------------------------------------------------------------- metrics


def measure(y, score):
    """AUPRC (step-wise), AUROC, partial AUC up to FPR 0.1 (fraction of the area), precision at the number of relevant rows."""
    order = np.argsort(-score, kind="stable")
    s, hit = score[order], y[order].astype(float)
    last = np.append(np.flatnonzero(np.diff(s)), len(s) - 1)
    tp, seen = np.cumsum(hit)[last], last + 1.0
    relevant, others = tp[-1], len(s) - tp[-1]
    fp = seen - tp
    steps = np.diff(np.append(0.0, tp))
    auprc = float(np.sum(steps * tp / seen) / relevant)
    x, t = np.append(0.0, fp / others), np.append(0.0, tp / relevant)
    auroc = float(np.sum(np.diff(x) * (t[1:] + t[:-1]) / 2))
    k = np.searchsorted(x, 0.1, side="right")
    xs, ts = x[:k], t[:k]
    if k < len(x):
        edge = t[k - 1] + (t[k] - t[k - 1]) * (0.1 - x[k - 1]) / (x[k] - x[k - 1])
        xs, ts = np.append(xs, 0.1), np.append(ts, edge)
    pauc = float(np.sum(np.diff(xs) * (ts[1:] + ts[:-1]) / 2) / 0.1)
    # Tied rows at the cut count by their expected fraction.
    cut = np.searchsorted(seen, relevant)
    before_seen = seen[cut - 1] if cut else 0.0
    before_tp = tp[cut - 1] if cut else 0.0
    part = (relevant - before_seen) / (seen[cut] - before_seen)
    rprec = float((before_tp + part * (tp[cut] - before_tp)) / relevant)
    return [auprc, auroc, pauc, rprec]


# ---------------------------------------------------------------- toprank


def train(toprank, table, objective, rate, model, rounds, x, before=0):
    """Trains, and gives the scores of `x` after every EVERY rounds, and the seconds that training took.

    `before`: rounds of cross-entropy before those of the objective; scores are given from their end on.
    """
    import lightgbm

    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/m.toprank"
        started = time.time()
        stages = [(objective, rounds, [])]
        if before:
            stages = [("logistic", before, []), (objective, rounds, ["--from", f"{folder}/first.toprank"])]
        for objective, number, more in stages:
            command = [toprank, "train", "-q", "--threads", "1", "--data", table, "--label", "label", "--objective", objective,
                       "--model", model, "--learning-rate", str(rate), "--trees", str(number), "--calibrate", "none",
                       "--seed", "1", "-o", path, *more]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
            if number == before and not more:
                os.rename(path, f"{folder}/first.toprank")
        seconds = time.time() - started
        text = f"{folder}/m.txt"
        subprocess.run([toprank, "export", "-q", "--to", "lightgbm", "-o", text, path], check=True, capture_output=True)
        booster = lightgbm.Booster(model_file=text, params={"num_threads": 1})
    total, scores = np.zeros(len(x)), []
    if before:
        total = booster.predict(x, raw_score=True, num_iteration=before)
        scores.append(total)
    for first in range(before, before + rounds, EVERY):
        total = total + booster.predict(x, raw_score=True, start_iteration=first, num_iteration=EVERY)
        scores.append(total)
    return scores, seconds


def append(path, fields, row):
    new = not os.path.exists(path)
    with open(path, "a") as out:
        if new:
            out.write(",".join(fields) + "\n")
        out.write(",".join(str(row[field]) for field in fields) + "\n")


TRY_FIELDS = ["set", "half", "config", "rate", "model", "asked", "objective", "metric", "rounds", "value", "last", "seconds"]


def tried(work):
    path = f"{work}/tries.csv"
    return list(csv.DictReader(open(path))) if os.path.exists(path) else []


def tries(work, toprank, configs, objectives, only, minutes):
    """Configuration after configuration, so that one that has been begun is soon complete; small sets first."""
    done = {(row["set"], row["config"], row["asked"]) for row in tried(work)}
    chosen = {(row["set"], row["config"], row["asked"], row["metric"]): int(row["rounds"]) for row in tried(work)}
    end = time.time() + 60 * minutes
    lines = sorted(all_sets(work), key=lambda line: int(line["rows"]))
    data = {line["set"]: Set(work, line) for line in lines if not only or line["set"] in only}
    for config, asked in [(config, asked) for config in configs for asked in objectives]:
        for data_set in data.values():
            if (data_set.name, config, asked) in done:
                continue
            if time.time() > end:
                print("time is up")
                return
            one(work, toprank, config, asked, data_set, chosen)


def one(work, toprank, config, asked, data, chosen):
    """One try: all folds of a set."""
    rate, model, instead, *more = CONFIGS[config]
    rounds = more[0] if more else ROUNDS
    objective, before = instead.get(asked, asked), 0
    if "from" in instead:
        before = chosen.get((data.name, instead["from"], "logistic", METRIC_OF[asked]))
        if before is None:
            return
    curves, seconds = [], 0.0
    for k, (x, y) in enumerate(data.parts):
        scores, took = train(toprank, f"{work}/{data.name}.{k}.csv", objective, rate, model, rounds, x, before)
        curves.append([measure(y, score) for score in scores])
        seconds += took
    curve = np.mean(curves, axis=0)
    for m, metric in enumerate(METRICS):
        best = int(np.argmax(curve[:, m]))
        append(f"{work}/tries.csv", TRY_FIELDS, {
            "set": data.name, "half": data.half, "config": config, "rate": rate, "model": model, "asked": asked,
            "objective": objective, "metric": metric, "rounds": before + EVERY * (best + (0 if before else 1)),
            "value": f"{curve[best, m]:.5f}", "last": f"{curve[-1, m]:.5f}", "seconds": f"{seconds:.2f}"})


# ---------------------------------------------------------------- test part

TEST_FIELDS = ["set", "half", "method", "asked", "rounds", *METRICS, "seconds"]


def tests_done(work):
    path = f"{work}/tests.csv"
    return list(csv.DictReader(open(path))) if os.path.exists(path) else []


def write_test(work, data, method, asked, rounds, score, seconds):
    values = measure(data.test[1], score)
    append(f"{work}/tests.csv", TEST_FIELDS, {
        "set": data.name, "half": data.half, "method": method, "asked": asked, "rounds": rounds,
        **{metric: f"{value:.5f}" for metric, value in zip(METRICS, values)}, "seconds": f"{seconds:.2f}"})


def tests(work, toprank, configs, objectives):
    done = {(row["set"], row["method"], row["asked"]) for row in tests_done(work)}
    chosen = {(row["set"], row["config"], row["asked"], row["metric"]): int(row["rounds"]) for row in tried(work)}
    for line in all_sets(work):
        data = Set(work, line)
        for config in configs:
            rate, model, instead = CONFIGS[config][:3]
            for asked in objectives:
                rounds = chosen.get((data.name, config, asked, METRIC_OF.get(asked, "auprc")))
                if (data.name, config, asked) in done or rounds is None:
                    continue
                objective = instead.get(asked, asked)
                before = 0
                if "from" in instead:
                    before = chosen[data.name, instead["from"], "logistic", METRIC_OF[asked]]
                if before == rounds:
                    objective, before = "logistic", 0
                table = f"{work}/{data.name}.rest.csv"
                scores, seconds = train(toprank, table, objective, rate, model, rounds - before, data.test[0], before)
                write_test(work, data, config, asked, rounds, scores[-1], seconds)


def peers(work):
    import lightgbm
    import xgboost
    from catboost import CatBoostClassifier

    done = {(row["set"], row["method"]) for row in tests_done(work)}
    for line in all_sets(work):
        data = Set(work, line)
        (x, y), test = data.rest, data.test[0]

        def early():
            """Rounds by the mean AUPRC of the folds (no more than 1,000), then a refit."""
            curves = []
            for (a, b), (va, vb) in zip(data.learned, data.parts):
                booster = lightgbm.train({"objective": "binary", "verbose": -1, "num_threads": 1},
                                         lightgbm.Dataset(a, b), num_boost_round=ROUNDS)
                total, curve = np.zeros(len(va)), []
                for first in range(0, ROUNDS, EVERY):
                    total = total + booster.predict(va, raw_score=True, start_iteration=first, num_iteration=EVERY)
                    curve.append(measure(vb, total)[0])
                curves.append(curve)
            return EVERY * (int(np.argmax(np.mean(curves, axis=0))) + 1)

        def of_lightgbm(rounds):
            booster = lightgbm.train({"objective": "binary", "verbose": -1, "num_threads": 1}, lightgbm.Dataset(x, y),
                                     num_boost_round=rounds)
            return booster.predict(test, raw_score=True), rounds

        def of_xgboost():
            model = xgboost.XGBClassifier(n_jobs=1).fit(x, y)
            return model.predict(test, output_margin=True), 100

        def of_catboost():
            model = CatBoostClassifier(thread_count=1, verbose=0, allow_writing_files=False).fit(x, y)
            return model.predict(test, prediction_type="RawFormulaVal"), model.tree_count_

        for method, run in [("lightgbm", lambda: of_lightgbm(100)), ("lightgbm-early", lambda: of_lightgbm(early())),
                            ("xgboost", of_xgboost), ("catboost", of_catboost)]:
            if (data.name, method) in done:
                continue
            started = time.time()
            score, rounds = run()
            write_test(work, data, method, "", rounds, score, time.time() - started)
        print(data.name, flush=True)


# ---------------------------------------------------------------- tables


def summary(work, metric, asked):
    """Mean over the sets of each half and of all, of the tries that every set has; and the mean rank."""
    rows = [row for row in tried(work) if row["metric"] == metric and row["asked"] == asked]
    names = [line["set"] for line in all_sets(work)]
    halves = {line["set"]: int(line["half"]) for line in all_sets(work)}
    value = {(row["config"], row["set"]): float(row["value"]) for row in rows}
    last = {(row["config"], row["set"]): float(row["last"]) for row in rows}
    seconds = {(row["config"], row["set"]): float(row["seconds"]) for row in rows}
    configs = [c for c in CONFIGS if any((c, name) in value for name in names)]
    names = [name for name in names if all((c, name) in value for c in configs)]
    return configs, names, halves, value, last, seconds


def table(work):
    for asked in OBJECTIVES:
        for metric in METRICS if asked == "logistic" else [METRIC_OF[asked]]:
            configs, names, halves, value, last, seconds = summary(work, metric, asked)
            if not names:
                continue
            print(f"\n{asked} by {metric}: {len(names)} sets; mean at the best number of rounds (half 0, half 1, all), at the last, seconds")
            for c in configs:
                of = lambda h, v=value: np.mean([v[c, n] for n in names if h is None or halves[n] == h])
                print(f"  {c:28s} {of(0):.4f} {of(1):.4f} {of(None):.4f}   {of(None, last):.4f}  {sum(seconds[c, n] for n in names):.0f} s")
    rows = tests_done(work)
    if rows:
        names = [line["set"] for line in all_sets(work)]
        methods = sorted({(row["method"], row["asked"]) for row in rows})
        by = {(row["method"], row["asked"], row["set"]): row for row in rows}
        names = [n for n in names if all((*m, n) in by for m in methods)]
        print(f"\ntest, {len(names)} sets: means, then mean ranks")
        ranks = {}
        for metric in METRICS:
            v = np.array([[float(by[(*m, n)][metric]) for m in methods] for n in names])
            order = np.array([[np.sum(row > x) + (np.sum(row == x) + 1) / 2 for x in row] for row in v])
            ranks[metric] = (v.mean(axis=0), order.mean(axis=0))
        for i, m in enumerate(methods):
            print(f"  {m[0]:24s} {m[1]:14s} " + " ".join(f"{ranks[k][0][i]:.4f}" for k in METRICS) + "   "
                  + " ".join(f"{ranks[k][1][i]:.2f}" for k in METRICS))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["prepare", "try", "test", "peers", "table"])
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--toprank", default="target/release/toprank")
    parser.add_argument("--configs", default=",".join(CONFIGS))
    parser.add_argument("--objectives", default=",".join(OBJECTIVES))
    parser.add_argument("--sets", default="")
    parser.add_argument("--minutes", type=float, default=60)
    args = parser.parse_args()
    configs, objectives = args.configs.split(","), args.objectives.split(",")
    if args.what == "prepare":
        prepare(*args.paths)
    elif args.what == "try":
        tries(args.paths[0], args.toprank, configs, objectives, [s for s in args.sets.split(",") if s], args.minutes)
    elif args.what == "test":
        tests(args.paths[0], args.toprank, configs, objectives)
    elif args.what == "peers":
        peers(args.paths[0])
    else:
        table(args.paths[0])


if __name__ == "__main__":
    sys.exit(main())
