"""Do networks of two builds rank equally well? Both are trained with the same seeds, and the spread between seeds is the yardstick.

python bench/quality/before_after.py BEFORE AFTER SHARED/data RESULTS.csv [--seeds 3]

BEFORE and AFTER are two builds of the command. Perceptron and context ranker on five folds of MQ2008 and OHSUMED (NDCG@10 of the test
part), GIN on BBBP (AUROC of a random test part). A row is written as each run ends, and the same command resumes where the file ends;
then the means over folds, the standard deviation between seeds and the difference are printed.
"""

import argparse
import csv
import gzip
import json
import pathlib
import statistics
import subprocess
import tempfile

FOLDS = {
    "mq2008": ([f"letor/mq2008/S{i}.txt.gz" for i in range(1, 6)], (0, 1, 2), 3, 4),
    "ohsumed": ([f"letor/ohsumed/fold{i}.test.txt.gz" for i in range(1, 6)], (1, 2, 3), 4, 0),
}
OBJECTIVES = ["listnet", "yetirank"]


def runs(seeds):
    for seed in range(1, seeds + 1):
        for name in FOLDS:
            for fold in range(5):
                for model in ("mlp", "context"):
                    for objective in OBJECTIVES:
                        yield name, model, objective, fold, seed
        yield "bbbp", "gin", "cross-entropy", 0, seed


def files(data, name, fold, folder):
    """The training, validation and test file of a run, and the flags that they need."""
    if name == "bbbp":
        parts = folder / "bbbp"
        if not parts.exists():
            command("after", "split", data / "binary/molecules/bbbp.csv.gz", "--method", "random:fractions=60/20/20",
                    "--seed", "1", "-o", parts, "--quiet")
        return [parts / f"{part}.csv" for part in ("train", "vali", "test")], ["--smiles", "smiles", "--label", "label"]
    names, train, valid, test = FOLDS[name]
    made = []
    for part, offsets in (("train", train), ("vali", (valid,)), ("test", (test,))):
        path = folder / f"{name}{fold}.{part}.txt"
        if not path.exists():
            with open(path, "wb") as out:
                for offset in offsets:
                    with gzip.open(data / names[(fold + offset) % 5]) as source:
                        out.write(source.read())
        made.append(path)
    return made, []


def command(which, *words):
    done = subprocess.run([BINARIES[which], *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, f"{which} {words}: {done.stderr}"
    return done.stdout


def train_and_test(which, name, model, objective, fold, seed, data, folder):
    (train, valid, test), flags = files(data, name, fold, folder)
    metric = "auroc" if name == "bbbp" else "ndcg@10"
    kept, scores = folder / f"{which}.toprank", folder / f"{which}.txt"
    for old in folder.glob(f"{which}.t*"):
        old.unlink()
    command(which, "train", "--data", train, "--valid", valid, *flags, "--model", model, "--objective", objective, "--valid-metric", metric,
            "--seed", seed, "-o", kept, "--quiet")
    command(which, "predict", kept, "--data", test, *flags, "-o", scores, "--quiet")
    found = command(which, "evaluate", "--data", test, *flags, "--scores", scores, "-m", metric, "--json", "--quiet")
    return json.loads(found)["metrics"][metric]


def summary(path):
    values = {}
    for row in csv.DictReader(open(path)):
        key = row["set"], row["model"], row["objective"]
        values.setdefault(key, {}).setdefault(row["build"], {}).setdefault(row["seed"], []).append(float(row["value"]))
    print("set,model,objective,before,sd,after,sd,difference")
    for key, builds in sorted(values.items()):
        if len(builds) < 2:
            continue
        cells, means = list(key), []
        for build in ("before", "after"):
            by_seed = [statistics.mean(folds) for folds in builds[build].values()]
            means.append(statistics.mean(by_seed))
            cells += [f"{means[-1]:.4f}", f"{statistics.stdev(by_seed):.4f}" if len(by_seed) > 1 else ""]
        print(",".join([*cells, f"{means[1] - means[0]:+.4f}"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    BINARIES.update(before=options.before, after=options.after)
    fields = ["build", "set", "model", "objective", "fold", "seed", "value"]
    if not options.results.exists():
        options.results.write_text(",".join(fields) + "\n")
    done = {tuple(row[field] for field in fields[:-1]) for row in csv.DictReader(open(options.results))}
    with tempfile.TemporaryDirectory() as folder:
        for run in runs(options.seeds):
            for which in ("before", "after"):
                if (which, *map(str, run)) in done:
                    continue
                value = train_and_test(which, *run, options.data, pathlib.Path(folder))
                with open(options.results, "a", newline="") as file:
                    csv.writer(file).writerow([which, *run, f"{value:.6f}"])
    summary(options.results)


BINARIES = {}

if __name__ == "__main__":
    main()
