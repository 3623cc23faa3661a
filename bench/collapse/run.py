"""Does an objective of the catalog collapse to constant scores on a binary set?

python bench/collapse/run.py TOPRANK SHARED/data bench/collapse/result.csv [--rows 3000] [--sets a,b] [--objectives a,b]
    [--models mlp,trees] [--minutes 20]

Every objective of the catalog (as --algorithm, so that a metric of the same name does not choose another) and every metric of a region
or point of a curve (as --objective) × {mlp, trees} at their defaults × the binary sets,
each cut to ROWS rows with the fraction of relevant rows that the set has. Half of the rows train, the other half is scored. One row of the CSV per
run; runs that the CSV has are not repeated. A run has collapsed if the other half has one distinct score, or an AUROC of exactly 0.5.
"""

import argparse
import csv
import gzip
import json
import pathlib
import random
import subprocess
import tempfile
import time

FIELDS = ["set", "rows", "model", "objective", "auroc", "distinct", "seconds", "error"]
# What a user asks for instead of an objective.
METRICS = ["auprc", "pauc:fpr=0.1", "pauc:fpr=0.3:tpr=0.5", "p@20", "p:recall=0.8", "top-push (metric)"]
RARE_OF_KDD = set(
    "buffer_overflow. loadmodule. perl. rootkit. ftp_write. guess_passwd. imap. multihop. phf. spy. warezclient. warezmaster.".split()
)


def plain(path):
    """Rows of a CSV with a header, the label last."""
    with gzip.open(path, "rt") as file:
        next(file)
        for line in file:
            *features, label = line.rstrip("\n").split(",")
            yield features, label in ("1", "1.0")


def libsvm(path):
    """Rows of a LIBSVM file, dense."""
    with gzip.open(path, "rt") as file:
        lines = [line.split() for line in file]
    pairs = [[pair.split(":") for pair in line[1:]] for line in lines]
    width = max(int(index) for row in pairs for index, _ in row)
    for line, row in zip(lines, pairs):
        features = ["0"] * width
        for index, value in row:
            features[int(index) - 1] = value
        yield features, float(line[0]) > 0


def kdd(path):
    """Connections by their numbers; rare attacks are relevant."""
    with gzip.open(path, "rt") as file:
        for line in file:
            fields = line.rstrip("\n").split(",")
            yield fields[:1] + fields[4:-1], fields[-1] in RARE_OF_KDD


def sets(data):
    """Name → rows, smallest files first."""
    binary = pathlib.Path(data) / "binary"
    found = {path.name.removesuffix(".csv.gz"): (path, plain) for path in binary.glob("*.csv.gz")}
    for folder in [*binary.glob("adbench-*"), binary / "give-me-some-credit"]:
        found |= {folder.name: (path, plain) for path in folder.glob("*.csv.gz")}
    for name in ["a9a", "w8a", "hiva"]:
        found[name] = (binary / "libsvm" / f"{name}.gz", libsvm)
    found["kddcup99"] = (binary / "kddcup99" / "kddcup99.10percent.csv.gz", kdd)
    found = {name: line for name, line in found.items() if line[0].exists()}
    return dict(sorted(found.items(), key=lambda line: line[1][0].stat().st_size))


def cut(rows, most, folder):
    """Writes train.csv and test.csv: half of at most `most` rows each, both with the set's fraction of relevant rows, 10 rows at least."""
    rows = list(rows)
    draw = random.Random(1)
    parts = [[row for row in rows if row[1] is relevant] for relevant in (True, False)]
    for part in parts:
        draw.shuffle(part)
    if len(rows) > most:
        relevant = max(20, round(most * len(parts[0]) / len(rows)))
        parts = [parts[0][:relevant], parts[1][: most - relevant]]
    for name, start in [("train.csv", 0), ("test.csv", 1)]:
        with open(folder / name, "w") as file:
            half = [row for part in parts for row in part[start::2]]
            file.write(",".join(f"f{i}" for i in range(len(half[0][0]))) + ",label\n")
            for features, relevant in half:
                file.write(",".join(features) + f",{int(relevant)}\n")
    return sum(map(len, parts))


def call(program, *args):
    return subprocess.run([program, *args], capture_output=True, text=True)


def one(program, folder, model, objective):
    """AUROC and number of distinct scores of one run, or the error's first line."""
    kept = str(folder / "model.toprank")
    metric = objective in METRICS
    wanted = ["--objective", objective.removesuffix(" (metric)")] if metric else ["--objective", "auroc", "--algorithm", objective]
    done = call(program, "train", "--data", str(folder / "train.csv"), "--label", "label", *wanted,
                "--model", model, "--seed", "1", "--quiet", "--force", "-o", kept)  # fmt: skip
    if done.returncode:
        said = done.stderr.strip().replace(f"{folder}/", "")
        return None, None, said.splitlines()[-1] if said else "no message"
    test, scores = folder / "test.csv", folder / "scores.txt"
    done = call(program, "predict", kept, "--data", str(test), "-o", str(scores))
    if done.returncode:
        return None, None, done.stderr.strip().splitlines()[-1]
    values = [float(value) for value in open(scores)]
    labels = [line.rstrip().endswith(",1") for line in list(open(test))[1:]]
    return auroc(values, labels), len(set(values)), ""


def auroc(scores, labels):
    """Pairs in the right order, ties by half."""
    from_low = sorted(range(len(scores)), key=scores.__getitem__)
    wins, below, start = 0.0, 0, 0
    while start < len(from_low):
        end = start
        while end < len(from_low) and scores[from_low[end]] == scores[from_low[start]]:
            end += 1
        relevant = sum(labels[i] for i in from_low[start:end])
        others = end - start - relevant
        wins += relevant * (below + 0.5 * others)
        below += others
        start = end
    return round(wins / (below * (len(scores) - below)), 6)


def collapsed(row):
    return row["distinct"] == "1" or row["auroc"] == "0.5"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("toprank")
    parser.add_argument("data")
    parser.add_argument("result")
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--sets")
    parser.add_argument("--objectives")
    parser.add_argument("--models", default="mlp,trees")
    parser.add_argument("--minutes", type=float, default=1e9)
    options = parser.parse_args()

    listed = json.loads(call(options.toprank, "objectives", "--json").stdout)["objectives"]
    names = options.objectives.split(",") if options.objectives else METRICS + [line["name"] for line in listed]
    result = pathlib.Path(options.result)
    done = list(csv.DictReader(open(result))) if result.exists() else []
    known = {(row["set"], row["model"], row["objective"]) for row in done}
    end = time.monotonic() + 60 * options.minutes
    with open(result, "a", newline="") as file, tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        if not done:
            writer.writeheader()
        for name, (path, read) in sets(options.data).items():
            wanted = [(m, o) for m in options.models.split(",") for o in names if (name, m, o) not in known]
            if not wanted or (options.sets and name not in options.sets.split(",")) or time.monotonic() > end:
                continue
            rows = cut(read(path), options.rows, folder)
            for model, objective in wanted:
                if time.monotonic() > end:
                    break
                start = time.monotonic()
                auroc, distinct, error = one(options.toprank, folder, model, objective)
                row = [name, rows, model, objective, auroc, distinct, round(time.monotonic() - start, 1), error]
                row = dict(zip(FIELDS, ["" if value is None else str(value) for value in row]))
                writer.writerow(row)
                file.flush()
                done.append(row)
    bad = [row for row in done if collapsed(row)]
    for row in bad:
        print(f"{row['set']}: {row['objective']} with {row['model']} has {row['distinct']} distinct scores, AUROC {row['auroc']}")
    failed = sorted({(row["objective"], row["model"], row["error"]) for row in done if row["error"]})
    for objective, model, error in failed:
        print(f"{objective} with {model} was refused: {error}")
    print(f"{len(done)} runs, {len(bad)} collapsed, {sum(1 for row in done if row['error'])} refused")


if __name__ == "__main__":
    main()
