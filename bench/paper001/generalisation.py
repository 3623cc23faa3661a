"""Does the gap between training and test AUPRC shrink with the number of rows, as the theory of SOPRC says?

python bench/paper001/generalisation.py TOPRANK SHARED/data bench/paper001/generalisation.csv [--minutes 20]
python bench/paper001/generalisation.py --table bench/paper001/generalisation.csv

A perceptron learns from 125 to 4,000 rows (spambase: to 2,000) with the set's fraction of relevant rows, for 40 epochs without early
stopping, under SOPRC, SmoothAP and the logistic loss, with five seeds that draw the rows, too. AUPRC (average precision) is measured on the training rows
and on rows that no run learns from. One row of the CSV per run; runs that the CSV has are not repeated. `--table` prints the mean gaps and
the exponent of gap ~ n^-a by least squares in logarithms.
"""

import argparse
import csv
import gzip
import math
import pathlib
import random
import subprocess
import tempfile
import time

FIELDS = ["set", "rows", "objective", "seed", "train_ap", "test_ap", "seconds"]
SETS = {"spambase": (2000, 2000), "mammography": (4000, 6000)}
SIZES = [125, 250, 500, 1000, 2000, 4000]
OBJECTIVES = ["soprc", "smooth-ap", "logistic"]
SEEDS = [1, 2, 3, 4, 5]


def rows_of(path):
    with gzip.open(path, "rt") as file:
        next(file)
        for line in file:
            *features, label = line.rstrip("\n").split(",")
            yield features, label in ("1", "1.0")


def write(path, rows):
    with open(path, "w") as file:
        file.write(",".join(f"f{i}" for i in range(len(rows[0][0]))) + ",label\n")
        for features, relevant in rows:
            file.write(",".join(features) + f",{int(relevant)}\n")


def sample(rows, count, draw):
    """`count` rows, of which the fraction of relevant ones is that of all."""
    relevant = [row for row in rows if row[1]]
    others = [row for row in rows if not row[1]]
    wanted = max(2, round(count * len(relevant) / len(rows)))
    return draw.sample(relevant, wanted) + draw.sample(others, count - wanted)


def average_precision(scores, labels):
    """Mean precision over the relevant rows; rows with equal scores share the precision at their end."""
    order = sorted(range(len(scores)), key=lambda i: -scores[i])
    total, hits, start = 0.0, 0, 0
    while start < len(order):
        end = start
        while end < len(order) and scores[order[end]] == scores[order[start]]:
            end += 1
        found = sum(labels[i] for i in order[start:end])
        hits += found
        total += found * hits / end
        start = end
    return total / hits


def call(*args):
    done = subprocess.run(args, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(args)}: {done.stderr.strip()}")


def one(program, folder, objective, seed):
    model = str(folder / "model.toprank")
    call(program, "train", "--data", str(folder / "train.csv"), "--label", "label", "--objective", "auprc", "--algorithm", objective,
         "--model", "mlp", "--epochs", "40", "--patience", "0", "--early-stopping", "none", "--seed", str(seed), "--quiet", "--force",
         "-o", model)  # fmt: skip
    values = []
    for part in ["train", "test"]:
        data, scores = folder / f"{part}.csv", folder / f"{part}.txt"
        call(program, "predict", model, "--data", str(data), "-o", str(scores))
        labels = [line.rstrip().endswith(",1") for line in list(open(data))[1:]]
        values.append(average_precision([float(line) for line in open(scores)], labels))
    return values


def run(options):
    result = pathlib.Path(options.result)
    done = list(csv.DictReader(open(result))) if result.exists() else []
    known = {(row["set"], int(row["rows"]), row["objective"], int(row["seed"])) for row in done}
    end = time.monotonic() + 60 * options.minutes
    with open(result, "a", newline="") as file, tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        writer = csv.writer(file, lineterminator="\n")
        if not done:
            writer.writerow(FIELDS)
        for name, (most, held_out) in SETS.items():
            rows = list(rows_of(pathlib.Path(options.data) / "binary" / f"{name}.csv.gz"))
            random.Random(0).shuffle(rows)
            test, rest = rows[:held_out], rows[held_out:]
            write(folder / "test.csv", test)
            for size in [size for size in SIZES if size <= most]:
                for seed in SEEDS:
                    wanted = [o for o in OBJECTIVES if (name, size, o, seed) not in known]
                    if not wanted or time.monotonic() > end:
                        continue
                    write(folder / "train.csv", sample(rest, size, random.Random(seed)))
                    for objective in wanted:
                        start = time.monotonic()
                        train_ap, test_ap = one(options.toprank, folder, objective, seed)
                        seconds = round(time.monotonic() - start, 1)
                        writer.writerow([name, size, objective, seed, f"{train_ap:.5f}", f"{test_ap:.5f}", seconds])
                        file.flush()


def table(path):
    rows = list(csv.DictReader(open(path)))
    for name in SETS:
        for objective in OBJECTIVES:
            of = [row for row in rows if row["set"] == name and row["objective"] == objective]
            sizes = sorted({int(row["rows"]) for row in of})
            mean = lambda values: sum(values) / len(values)  # noqa: E731
            gaps = [mean([float(r["train_ap"]) - float(r["test_ap"]) for r in of if int(r["rows"]) == size]) for size in sizes]
            tests = [mean([float(r["test_ap"]) for r in of if int(r["rows"]) == size]) for size in sizes]
            points = [(math.log(size), math.log(gap)) for size, gap in zip(sizes, gaps) if gap > 0]
            if len(points) < 2:
                continue
            x, y = mean([p[0] for p in points]), mean([p[1] for p in points])
            slope = sum((p[0] - x) * (p[1] - y) for p in points) / sum((p[0] - x) ** 2 for p in points)
            shown = ", ".join(f"{size}: {gap:.3f} ({test:.3f})" for size, gap, test in zip(sizes, gaps, tests))
            print(f"{name}, {objective}: gap (test AUPRC) by rows {shown}; gap ~ n^{slope:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("toprank", nargs="?")
    parser.add_argument("data", nargs="?")
    parser.add_argument("result", nargs="?")
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--table")
    options = parser.parse_args()
    if options.table:
        table(options.table)
    elif options.result:
        run(options)
    else:
        parser.error("TOPRANK, DATA and RESULT, or --table RESULT")


if __name__ == "__main__":
    main()
