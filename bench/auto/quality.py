"""Is `--model auto` better than its parts and than LightGBM's defaults? One split (75/25, stratified) of each binary set, and fold 1 of
MQ2008; every try is a row of the CSV.

python bench/auto/quality.py SHARED/data RESULTS.csv [--budget 30s] [--sets A,B] [--toprank PATH] [--seed 1]
"""

import argparse
import csv
import gzip
import json
import os
import pathlib
import resource
import subprocess
import tempfile

import lightgbm
import numpy as np
import pandas as pd
from sklearn.metrics import average_precision_score
from sklearn.model_selection import train_test_split

ROOT = pathlib.Path(__file__).resolve().parents[2]
SETS = [
    "mammography", "keel-page-blocks0", "keel-yeast4", "german-credit", "oil-spill", "keel-pima", "spambase", "keel-vehicle1"
]
#: One thread for every tool.
LIGHTGBM = {"verbose": -1, "n_jobs": 1, "random_state": 1}


def toprank(program, arguments, folder):
    """Runs the command; its CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([program, *arguments], cwd=folder, check=True, env={**os.environ, "RAYON_NUM_THREADS": "1"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def binary(data, name, program, budget, seed):
    frame = pd.read_csv(data / "binary" / f"{name}.csv.gz")
    train, test = train_test_split(frame, test_size=0.25, stratify=frame["label"], random_state=seed)
    with tempfile.TemporaryDirectory() as folder:
        train.to_csv(f"{folder}/train.csv", index=False)
        test.to_csv(f"{folder}/test.csv", index=False)
        common = ["--data", "train.csv", "--label", "label", "--objective", "auprc", "--seed", str(seed), "--quiet", "-o", "m.toprank"]
        for method, more in [("auto", ["--model", "auto", "--budget", budget]), ("trees", ["--model", "trees"])]:
            cpu = toprank(program, ["train", *common, *more], folder)
            toprank(program, ["predict", "m.toprank", "--data", "test.csv", "--label", "label", "-o", "s.txt", "--quiet"], folder)
            value = average_precision_score(test["label"], np.loadtxt(f"{folder}/s.txt"))
            yield name, method, "auprc", value, cpu, blend(program, folder) if method == "auto" else ""
    model = lightgbm.LGBMClassifier(**LIGHTGBM)
    model.fit(train.drop(columns="label"), train["label"])
    value = average_precision_score(test["label"], model.predict_proba(test.drop(columns="label"))[:, 1])
    yield name, "lightgbm", "auprc", value, float("nan"), ""


def blend(program, folder):
    """What a model holds: weight and out-of-fold value of each member."""
    shown = subprocess.run([program, "inspect", "m.toprank", "--json"], cwd=folder, check=True, capture_output=True)
    found = json.loads(shown.stdout)["blend"]
    members = [f"{m['name']} {m['value'] or float('nan'):.4f} × {m['weight']:.2f}" for m in found["members"]]
    return f"{found['folds']} folds: {', '.join(members)}; blend {found['value']:.4f}"


def mq2008(data, program, budget, seed):
    """Fold 1: S1 to S3 for training, S5 for testing (S4 is left for validation, which nobody uses here)."""
    parts = {k: gzip.open(data / "letor" / "mq2008" / f"S{k}.txt.gz", "rt").read() for k in (1, 2, 3, 5)}
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "train.txt").write_text(parts[1] + parts[2] + parts[3])
        pathlib.Path(folder, "test.txt").write_text(parts[5])
        common = ["--data", "train.txt", "--objective", "ndcg@10", "--seed", str(seed), "--quiet", "-o", "m.toprank"]
        evaluate = ["evaluate", "--data", "test.txt", "--scores", "s.txt", "-m", "ndcg@10", "--json", "--quiet"]

        def value():
            found = subprocess.run([program, *evaluate], cwd=folder, check=True, capture_output=True)
            return json.loads(found.stdout)["metrics"]["ndcg@10"]

        for method, more in [("auto", ["--model", "auto", "--budget", budget]), ("trees", ["--model", "trees"])]:
            cpu = toprank(program, ["train", *common, *more], folder)
            toprank(program, ["predict", "m.toprank", "--data", "test.txt", "-o", "s.txt", "--quiet"], folder)
            yield "mq2008", method, "ndcg@10", value(), cpu, blend(program, folder) if method == "auto" else ""

        def table(name):
            rows = [line.split("#")[0].split() for line in pathlib.Path(folder, name).read_text().splitlines() if line.strip()]
            features = np.array([[float(cell.split(":")[1]) for cell in row[2:]] for row in rows])
            queries = [row[1] for row in rows]
            sizes = [len(list(g)) for _, g in __import__("itertools").groupby(queries)]
            return features, np.array([int(float(row[0])) for row in rows]), sizes

        features, labels, sizes = table("train.txt")
        model = lightgbm.LGBMRanker(**LIGHTGBM).fit(features, labels, group=sizes)
        np.savetxt(f"{folder}/s.txt", model.predict(table("test.txt")[0]))
        yield "mq2008", "lightgbm", "ndcg@10", value(), float("nan"), ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--budget", default="30s")
    parser.add_argument("--sets", default=",".join([*SETS, "mq2008"]))
    parser.add_argument("--toprank", default=str(ROOT / "target/release/toprank"))
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    new = not args.results.exists()
    with args.results.open("a", newline="") as out:
        rows = csv.writer(out)
        if new:
            rows.writerow(["set", "method", "metric", "value", "cpu_seconds", "seed", "budget", "blend"])
        for name in args.sets.split(","):
            program = str(pathlib.Path(args.toprank).resolve())
            tries = mq2008 if name == "mq2008" else lambda *rest: binary(rest[0], name, *rest[1:])
            for found, method, metric, value, cpu, what in tries(args.data, program, args.budget, args.seed):
                rows.writerow([found, method, metric, f"{value:.4f}", f"{cpu:.2f}", args.seed, args.budget, what])
                out.flush()
                print(found, method, f"{value:.4f}", f"{cpu:.1f}", what, flush=True)


if __name__ == "__main__":
    main()
