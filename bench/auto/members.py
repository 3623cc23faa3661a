#!/usr/bin/env python3
"""Which portfolio, and how to blend? Out-of-fold and test scores of every member alone, kept in WORK; blends are then computed from them.

    python bench/auto/members.py run SHARED/data WORK --members a,b [--toprank PATH] [--split 1] [--sets A,B] [--minutes 30]
    python bench/auto/members.py blends SHARED/data WORK [--split 1] [--members a,b]

Rows are those of tune.py: the training parts of fold 1 (seed 1) of the big table, split again, so that test rows of the table are
never read. A member is trained as auto does: `--model auto --members NAME --folds 5`.
"""

import argparse
import os
import resource
import subprocess
import tempfile
import time

import common
import numpy as np
import tune

SETS = [*tune.SMALL_SETS, "mammography", "higgs-sample", "a9a", "adbench-campaign", "give-me-some-credit", "adbench-aloi"]
ROUNDS = 50


def train(program, member, x, y, x_test, objective, seed):
    env = {**os.environ, "RAYON_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        common.write_table(f"{folder}/train.csv", x, y)
        common.write_table(f"{folder}/test.csv", x_test, np.zeros(len(x_test)))
        before = common.cpu(resource.RUSAGE_CHILDREN)
        command = [program, "train", "-q", "--data", "train.csv", "--label", "label", "-o", "m.toprank", "--objective", objective,
                   "--seed", str(seed), "--model", "auto", "--members", member, "--folds", "5"]
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr)
        seconds = common.cpu(resource.RUSAGE_CHILDREN) - before
        predict = [program, "predict", "m.toprank", "-q", "--data", "test.csv", "--label", "label", "-o", "s.txt"]
        subprocess.run([*predict], cwd=folder, env=env, check=True, capture_output=True)
        return np.loadtxt(f"{folder}/m.toprank.oof.txt"), np.loadtxt(f"{folder}/s.txt"), seconds


def run(args):
    os.makedirs(args.work, exist_ok=True)
    end = time.time() + 60 * args.minutes
    for member in args.members.split(","):
        for name in args.sets.split(",") if args.sets else SETS:
            path = f"{args.work}/{name}.{args.split}.{member}.npz"
            if os.path.exists(path):
                continue
            if time.time() > end:
                print("time is up")
                return
            x, y = tune.part(args.data, name)
            learn, test = common.repeated(y, 3, 0.3, 7)[args.split - 1]
            try:
                oof, scores, seconds = train(args.toprank, member, x[learn], y[learn], x[test], args.objective, args.split)
            except RuntimeError as error:
                print(name, member, error)
                continue
            np.savez(path, oof=oof, test=scores, seconds=seconds, y=y[learn], y_test=y[test])
        print(common.now(), member, flush=True)


# ---------------------------------------------------------------- blends


def greedy(oof, y, value, start=(), most=ROUNDS, least=1e-9):
    """Caruana's selection with replacement: copies of each member."""
    copies = np.zeros(len(oof))
    for s in start:
        copies[s] += 1
    total = copies @ oof
    best = value(y, total / max(copies.sum(), 1)) if len(start) else -np.inf
    while copies.sum() < most:
        tried = [value(y, (total + row) / (copies.sum() + 1)) for row in oof]
        k = int(np.argmax(tried))
        if tried[k] <= best + least:
            break
        best = tried[k]
        copies[k] += 1
        total = total + oof[k]
    return copies / copies.sum()


def bagged(oof, y, value, bags, seed=1):
    """The mean of selections on stratified bootstrap samples of the rows."""
    random = np.random.default_rng(seed)
    weights = np.zeros(len(oof))
    kinds = [np.flatnonzero(y), np.flatnonzero(~y)]
    for _ in range(bags):
        rows = np.concatenate([random.choice(kind, len(kind)) for kind in kinds])
        weights += greedy(oof[:, rows], y[rows], value, most=15)
    return weights / bags


def blends(oof, y, value):
    """Name → weights."""
    alone = np.array([value(y, row) for row in oof])
    order = np.argsort(-alone)
    n = len(oof)
    only = lambda picked: np.array([1.0 / len(picked) if k in picked else 0.0 for k in range(n)])  # noqa: E731
    found = {"best": only(order[:1]), "greedy": greedy(oof, y, value), "mean": np.full(n, 1 / n)}
    for k in (3, 5):
        found[f"top{k}"] = only(order[:k])
        found[f"greedy-from-top{k}"] = greedy(oof, y, value, order[:k])
    found["half"] = (found["greedy"] + found["mean"]) / 2
    found["half-top5"] = (found["greedy"] + found["top5"]) / 2
    found["bagged"] = bagged(oof, y, value, 20)
    found["bagged-half"] = (found["bagged"] + found["mean"]) / 2
    return found


def ap(y, s):
    return common.measure(y, s)[0]


def fast_ap(y, s):
    """Average precision; ties in the order of rows, which is fine where scores are of many values."""
    order = np.argsort(-s, kind="stable")
    hit = y[order]
    return float(np.mean(np.arange(1, hit.sum() + 1) / (np.flatnonzero(hit) + 1)))


def compare(args):
    names = args.sets.split(",") if args.sets else SETS
    members = args.members.split(",")
    table, alone = {}, []
    kept = []
    for name in names:
        paths = [f"{args.work}/{name}.{args.split}.{m}.npz" for m in members]
        if not all(os.path.exists(path) for path in paths):
            continue
        kept.append(name)
        stored = [np.load(path) for path in paths]
        y, y_test = stored[0]["y"], stored[0]["y_test"]
        oof, test = np.array([s["oof"] for s in stored]), np.array([s["test"] for s in stored])
        standard = [(s["oof"].mean(), s["oof"].std() or 1.0) for s in stored]
        oof = np.array([(o - m) / d for o, (m, d) in zip(oof, standard)])
        test = np.array([(t - m) / d for t, (m, d) in zip(test, standard)])
        alone.append([ap(y_test, t) for t in test])
        weights = blends(oof, y, fast_ap)
        for blend, w in weights.items():
            table.setdefault(blend, []).append(common.measure(y_test, w @ test))
    alone = np.array(alone)
    seconds = [np.mean([float(np.load(f"{args.work}/{n}.{args.split}.{m}.npz")["seconds"]) for n in kept]) for m in members]
    print(f"{len(kept)} sets; AP")
    for m, column, s in zip(members, alone.T, seconds):
        print(f"  {m:16} {column.mean():.4f}   {s:.1f} s")
    values = np.array([np.array(rows) for rows in table.values()])
    first = values[list(table).index("greedy")]
    everything = np.concatenate([values[:, :, 0].T, alone], axis=1)
    rank = np.array([[np.sum(row > v) + (np.sum(row == v) + 1) / 2 for v in row] for row in np.round(everything, 6)])
    for k, blend in enumerate(table):
        won = np.sum(values[k, :, 0] > first[:, 0]) + 0.5 * np.sum(values[k, :, 0] == first[:, 0])
        print(f"  {blend:18} {' '.join(f'{v:.4f}' for v in values[k].mean(0))}  rank {rank[:, k].mean():.2f}  beside greedy {won:.1f} won")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for name, call in [("run", run), ("blends", compare)]:
        one = commands.add_parser(name)
        one.add_argument("data")
        one.add_argument("work")
        one.add_argument("--members", required=True)
        one.add_argument("--toprank", default="target/release/toprank")
        one.add_argument("--objective", default="auprc")
        one.add_argument("--split", type=int, default=1)
        one.add_argument("--sets")
        one.add_argument("--minutes", type=float, default=600)
        one.set_defaults(call=call)
    args = parser.parse_args()
    args.toprank = os.path.abspath(args.toprank)
    args.call(args)


if __name__ == "__main__":
    main()
