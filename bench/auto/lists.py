#!/usr/bin/env python3
"""Rankers with their defaults on lists, by NDCG@10: toprank's trees and auto beside LightGBM, XGBoost and CatBoost.

    python bench/auto/lists.py run SHARED/data CSV [--toprank PATH] [--methods a,b] [--seeds 1] [--budget 60s] [--minutes 60]
    python bench/auto/lists.py table CSV

Folds of MQ2008, OHSUMED (25 and 45 features) and MQ2007-agg are those of the collections: fold k tests on one part; all methods learn
from the four others, as nobody is given validation data. MSLR: the samples of WEB10K (train) and WEB30K together learn, the sample of
WEB10K (test) tests; lightgbm-rank and catboost-querywise have a training and a test file. Grades that are fractions are numbered for
the peers, which want integers (LightGBM is given their gains). NDCG@10 has gains 2^y − 1; lists without a relevant item are left out.
Tied items are ordered by a fixed random number. Every fit is one row of the CSV; a row that is there is not computed again.
"""

import argparse
import gzip
import os
import resource
import subprocess
import tempfile
import time
import traceback

import common
import numpy as np

METHODS = ["lightgbm", "xgboost", "catboost", "toprank-trees", "toprank-auto"]


def parse(texts, width):
    """Labels, features, list numbers of lines `label qid:Q 1:v …`; what is absent or NULL is missing in mq2007-agg, 0 elsewhere."""
    labels, rows, lists, last = [], [], [], None
    for text in texts:
        for line in text.splitlines():
            cells = line.split("#")[0].split()
            if not cells:
                continue
            row = np.zeros(width, np.float32)
            for cell in cells[2:]:
                index, value = cell.split(":")
                row[int(index) - 1] = np.nan if value == "NULL" else float(value)
            labels.append(float(cells[0]))
            rows.append(row)
            if cells[1] != last:
                last = cells[1]
                lists.append(0)
            lists[-1] += 1
    return np.array(labels), np.array(rows), np.array(lists)


def unzip(path):
    with gzip.open(path, "rt") as lines:
        return lines.read()


def lightgbm_rank(folder, part):
    """The LIBSVM file with the list lengths beside it, as lines with qid."""
    lengths = [int(line) for line in unzip(f"{folder}/rank.{part}.query.gz").split()]
    queries = np.repeat(np.arange(len(lengths)), lengths)
    lines = [line.split(None, 1) for line in unzip(f"{folder}/rank.{part}.gz").splitlines() if line.strip()]
    return "".join(f"{line[0]} qid:{q + 1} {line[1] if len(line) > 1 else ''}\n" for line, q in zip(lines, queries))


def collections(data):
    """(name, fold, width, texts that learn, texts that test)."""
    letor = os.path.join(data, "letor")
    for name, width, files in [
        ("mq2008", 46, [f"S{k}.txt.gz" for k in range(1, 6)]),
        ("ohsumed", 25, [f"fold{k}.test.txt.gz" for k in range(1, 6)]),
        ("ohsumed45", 45, [f"fold{k}.test.txt.gz" for k in range(1, 6)]),
        ("mq2007-agg", 21, [f"A{k}.txt.gz" for k in range(1, 6)]),
    ]:
        texts = [unzip(f"{letor}/{name}/{file}") for file in files]
        for k in range(5):
            # LETOR's fold k tests on part k + 4; OHSUMED's on fold k.
            test = k if name.startswith("ohsumed") else (k + 4) % 5
            yield name, k + 1, width, [t for p, t in enumerate(texts) if p != test], [texts[test]]
    mslr = [f"{letor}/mslr-sample/web10k.fold1.train.5k.txt.gz", f"{letor}/mslr-web30k-sample/fold1.train.sample.txt.gz"]
    yield "mslr", 1, 136, [unzip(path) for path in mslr], [unzip(f"{letor}/mslr-sample/web10k.fold1.test.5k.txt.gz")]
    folder = f"{letor}/lightgbm-rank"
    yield "lightgbm-rank", 1, 300, [lightgbm_rank(folder, "train")], [lightgbm_rank(folder, "test")]
    folder = f"{letor}/catboost-querywise"
    yield "catboost-querywise", 1, 50, [unzip(f"{folder}/train.txt.gz")], [unzip(f"{folder}/test.txt.gz")]


def ndcg(labels, scores, lists, k=10):
    tie = np.random.default_rng(1).permutation(len(labels))
    values, start = [], 0
    for n in lists:
        y, s = labels[start : start + n], scores[start : start + n]
        order = np.lexsort((tie[start : start + n], -s))
        discount = 1 / np.log2(np.arange(2, min(n, k) + 2))
        best = np.sum((2.0 ** np.sort(y)[::-1][:k] - 1) * discount)
        if best > 0:
            values.append(np.sum((2.0 ** y[order][:k] - 1) * discount) / best)
        start += n
    return float(np.mean(values))


def write(path, labels, features, lists):
    queries = np.repeat(np.arange(len(lists)), lists) + 1
    with open(path, "w") as out:
        for y, q, row in zip(labels, queries, features):
            cells = " ".join(f"{i + 1}:{'nan' if np.isnan(v) else repr(float(v))}" for i, v in enumerate(row) if v != 0)
            out.write(f"{y:g} qid:{q} {cells}\n")


def toprank(program, arguments, train, test):
    env = {**os.environ, "RAYON_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        write(f"{folder}/train.txt", *train)
        write(f"{folder}/test.txt", *test)
        before = common.cpu(resource.RUSAGE_CHILDREN)
        command = [program, "train", "-q", "--data", "train.txt", "--objective", "ndcg@10", "-o", "m.toprank", *arguments]
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr)
        seconds = common.cpu(resource.RUSAGE_CHILDREN) - before
        predict = [program, "predict", "m.toprank", "-q", "--data", "test.txt", "-o", "s.txt"]
        subprocess.run(predict, cwd=folder, env=env, check=True, capture_output=True)
        return np.loadtxt(f"{folder}/s.txt", ndmin=1), seconds


def peer(method, seed, train, test):
    values = np.unique(train[0])
    grades = np.searchsorted(values, train[0])
    whole = np.array_equal(values, np.round(values))
    if whole:
        grades = train[0].astype(int)
    before = common.cpu(resource.RUSAGE_SELF)
    queries = np.repeat(np.arange(len(train[2])), train[2])
    if method == "lightgbm":
        import lightgbm

        more = {} if whole else {"label_gain": [float(2.0**v - 1) for v in values]}
        model = lightgbm.LGBMRanker(verbose=-1, n_jobs=1, random_state=seed, **more)
        model.fit(train[1], grades, group=train[2])
        found = model.predict
    elif method == "xgboost":
        import xgboost

        model = xgboost.XGBRanker(n_jobs=1, random_state=seed)
        model.fit(train[1], grades, qid=queries)
        found = model.predict
    else:
        import catboost

        model = catboost.CatBoostRanker(verbose=0, thread_count=1, random_seed=seed, allow_writing_files=False)
        model.fit(train[1], train[0], group_id=queries)
        found = model.predict
    return found(test[1]), common.cpu(resource.RUSAGE_SELF) - before


def run(args):
    end = time.time() + 60 * args.minutes
    done = {(row["set"], row["fold"], row["method"], row["seed"]) for row in common.rows(args.csv)}
    methods = args.methods.split(",")
    whole = [c for c in collections(args.data) if not args.sets or c[0] in args.sets.split(",")]
    # One fold of everything first.
    for seed in args.seeds:
        for name, fold, width, learn, tested in sorted(whole, key=lambda c: c[1]):
            missing = [m for m in methods if (name, str(fold), m, str(seed)) not in done]
            if not missing:
                continue
            train, test = parse(learn, width), parse(tested, width)
            for method in missing:
                if time.time() > end:
                    print("time is up")
                    return
                try:
                    if method.startswith("toprank"):
                        model = method.removeprefix("toprank-")
                        more = ["--budget", args.budget] if model == "auto" else []
                        scores, seconds = toprank(args.toprank, ["--model", model, "--seed", str(seed), *more], train, test)
                    else:
                        scores, seconds = peer(method, seed, train, test)
                except Exception:
                    traceback.print_exc()
                    continue
                row = {"set": name, "fold": fold, "method": method, "seed": seed}
                row.update({"ndcg10": f"{ndcg(test[0], scores, test[2]):.5f}", "seconds": f"{seconds:.2f}"})
                common.append(args.csv, row)
                print(common.now(), *row.values(), flush=True)


def table(args):
    rows = common.rows(args.csv)
    methods = [m for m in METHODS if any(row["method"] == m for row in rows)]
    by = {}
    for row in rows:
        by.setdefault((row["set"], row["fold"], row["seed"]), {})[row["method"]] = row
    whole = {key: found for key, found in by.items() if all(m in found for m in methods)}
    print("| set | splits | " + " | ".join(methods) + " |\n" + "| --- " * (len(methods) + 2) + "|")
    means = []
    for name in dict.fromkeys(row["set"] for row in rows):
        found = [f for key, f in whole.items() if key[0] == name]
        if found:
            means.append([np.mean([float(f[m]["ndcg10"]) for f in found]) for m in methods])
            print(f"| {name} | {len(found)} | " + " | ".join(f"{v:.4f}" for v in means[-1]) + " |")
    means = np.array(means)
    rank = np.array([[np.sum(row > v) + (np.sum(row == v) + 1) / 2 for v in row] for row in means])
    print("| mean | | " + " | ".join(f"{v:.4f}" for v in means.mean(0)) + " |")
    print("| mean rank | | " + " | ".join(f"{v:.2f}" for v in rank.mean(0)) + " |")
    seconds = [np.mean([float(f[m]["seconds"]) for f in whole.values()]) for m in methods]
    print("| CPU s | | " + " | ".join(f"{v:.1f}" for v in seconds) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("run")
    one.add_argument("data")
    one.add_argument("csv")
    one.add_argument("--toprank", default="target/release/toprank")
    one.add_argument("--methods", default=",".join(METHODS))
    one.add_argument("--sets")
    one.add_argument("--seeds", type=lambda text: [int(cell) for cell in text.split(",")], default=[1])
    one.add_argument("--budget", default="60s")
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
