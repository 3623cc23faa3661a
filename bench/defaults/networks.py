"""Which defaults should the networks have? One configuration per kind of data, chosen on validation data of many sets.

python bench/defaults/networks.py tries BINARY SHARED/data PLAN.toml TRIES.csv [CANDIDATE…] [--minutes 30]
python bench/defaults/networks.py table PLAN.toml TRIES.csv
python bench/defaults/networks.py test BINARY SHARED/data PLAN.toml TEST.csv CANDIDATE… [--minutes 30]
python bench/defaults/networks.py table-test PLAN.toml TEST.csv

BINARY is the command `toprank`. PLAN names the sets, seeds, objectives and candidates (flags of `toprank train`); it is committed before
its runs. `tries` trains every candidate on the first part of every set (50 %, at most `rows` rows), stops it and keeps the best epoch by
the second (15 %), and writes the two metrics of the third (15 %) to TRIES.csv, one row per run: the best value of a noisy curve says
little about new rows. `table` prints means and gains over the first candidate, over the sets of each half, where a set's half is a bit of
the SHA-256 of its origin. On queries the second part is the third, too.
`test` trains some candidates and the peers and evaluates them on the test part (20 %), which nothing else reads. All commands
continue where their file ends. Candidates are `name = [flags]`; a peer is `sklearn-mlp` or `trees`.
"""

import argparse
import collections
import csv
import gzip
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import tomllib

METRICS = {"label": ("auprc", "auroc"), "queries": ("ndcg@10", "map")}
# The two metrics of the best epoch, and the first metric after the last epoch: a recipe that is not overfitted has both about equal.
COLUMNS = ("first", "second", "last")


def half(of):
    """0 or 1, by the name of a set's origin."""
    return hashlib.sha256(of.get("origin", of["name"]).encode()).digest()[0] & 1


def read(plan):
    return tomllib.loads(pathlib.Path(plan).read_text())


def opened(path):
    return gzip.open(path, "rt") if str(path).endswith(".gz") else open(path)


def rows_of_table(data, of):
    """Header, the label's place and lines of a set with a label column, in a fixed order by hash of its name."""
    with opened(data / of["file"]) as file:
        if of.get("format") == "libsvm":
            width = of["features"]
            header, lines = [f"f{i + 1}" for i in range(width)] + ["label"], []
            for line in file:
                label, *pairs = line.split()
                row = ["0"] * width
                for pair in pairs:
                    index, value = pair.split(":")
                    row[int(index) - 1] = value
                lines.append(row + ["1" if float(label) > 0 else "0"])
        else:
            separator = "\t" if of.get("format") == "tsv" else ","
            lines = [line.rstrip("\n").split(separator) for line in file]
            if of.get("format") == "tsv":
                header = [f"f{i}" for i in range(1, len(lines[0]))] + ["label"]
                lines = [line[1:] + line[:1] for line in lines]
            else:
                header, *lines = lines
    place = header.index("label")
    order = sorted(range(len(lines)), key=lambda i: hashlib.sha256(f"{of['name']} {i}".encode()).digest())
    return header, place, [lines[i] for i in order]


def parts(data, of, folder):
    """The four files of a set and their flags; labels are stratified."""
    made = [folder / f"{of['name']}.{part}.{'txt' if 'folds' in of else 'csv'}" for part in ("train", "stop", "choose", "test")]
    if "folds" in of:
        train, valid, test = of["folds"]
        made[2] = made[1]
        for path, files in zip((made[0], made[1], made[3]), (train, valid, test)):
            if not path.exists():
                path.write_text("".join(opened(data / of["files"][k]).read() for k in files))
        return made, []
    if not made[3].exists():
        header, place, lines = rows_of_table(data, of)
        groups = [[line for line in lines if (float(line[place]) > 0) is positive] for positive in (False, True)]
        for k, path in enumerate(made):
            some = []
            for group in groups:
                # 50/15/15/20; of a large set `rows` rows train, and the other parts have at most twice as many.
                n = len(group)
                train = round(n * min(0.5, of["rows"] / len(lines)))
                stop = min(round(0.3 * (n - train)), 2 * train)
                test = min(n - train - 2 * stop, 2 * train)
                ends = [0, train, train + stop, train + 2 * stop, train + 2 * stop + test]
                some += group[ends[k] : ends[k + 1]]
            some.sort(key=lambda line: hashlib.sha256(",".join(line).encode()).digest())
            # Written whole or not at all, as another run of this script may read it.
            new = path.with_name(f"{path.name}.{os.getpid()}")
            new.write_text("\n".join(",".join(line) for line in [header, *some]) + "\n")
            new.replace(path)
    return made, ["--label", "label"]


def command(binary, *words):
    environment = {**os.environ, "RAYON_NUM_THREADS": "1"}
    done = subprocess.run([binary, *map(str, words)], capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr else f"exit code {done.returncode}")
    return done.stdout


def evaluated(binary, of, model, part, flags):
    metrics = METRICS["queries" if "folds" in of else "label"]
    scores = model.parent / "scores.txt"
    command(binary, "predict", model, "--data", part, *flags, "-q", "-o", scores)
    out = json.loads(command(binary, "evaluate", "--data", part, *flags, "--scores", scores, "--metrics", ",".join(metrics),
                             "--replicates", "0", "--json"))
    return [out["metrics"][metric] for metric in metrics]


def trained(binary, of, made, flags, objective, candidate, seed, model):
    """Trains and gives seconds, the best epoch, and the validation metric of the last epoch."""
    curves = model.parent / "curves"
    start = time.time()
    out = json.loads(command(binary, "train", "--data", made[0], "--valid", made[1], *flags, *objective, *candidate, "--seed", seed,
                             "--force", "--calibrate", "none", "--curves", curves, "-q", "--json", "-o", model))
    seconds = time.time() - start
    lines = list(csv.DictReader(open(curves / "curve.csv")))
    metric = out["best"]["metric"]
    return seconds, out["best"]["epoch"], out["epochs"], lines[-1][metric]


def sklearn_mlp(of, made, seed):
    """scikit-learn's defaults behind its StandardScaler, on the rows that train and those that stop."""
    import numpy as np
    from sklearn.metrics import average_precision_score, roc_auc_score
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    def table(path):
        rows = list(csv.reader(open(path)))
        place = rows[0].index("label")
        values = np.array([[float(x or "nan") for x in row] for row in rows[1:]])
        return np.nan_to_num(np.delete(values, place, axis=1)), (values[:, place] > 0).astype(int)

    (x, y), (xs, ys), _, (xt, yt) = map(table, made)
    model = make_pipeline(StandardScaler(), MLPClassifier(random_state=seed))
    model.fit(np.vstack([x, xs]), np.concatenate([y, ys]))
    scores = model.predict_proba(xt)[:, 1]
    return [average_precision_score(yt, scores), roc_auc_score(yt, scores)]


def written(path, keys):
    """The rows of a file of results by their first columns."""
    if not path.exists():
        return {}
    return {tuple(row[: len(keys)]): row for row in list(csv.reader(open(path)))[1:]}


def run(arguments, test):
    plan, results = read(arguments.plan), pathlib.Path(arguments.results)
    keys = ["set", "objective", "candidate", "seed"]
    header = keys + ["half", "first", "second", "last", "best_epoch", "epochs", "seconds"]
    done = written(results, keys)
    candidates = {name: flags for name, flags in plan["candidates"].items()}
    names = arguments.candidates or list(candidates)
    objectives = [name for name in plan["objectives"] if arguments.objective in (None, name)]
    end = time.time() + 60 * arguments.minutes
    folder = pathlib.Path(tempfile.gettempdir()) / f"toprank-defaults-{os.getuid()}-{hashlib.sha256((json.dumps(plan) + pathlib.Path(__file__).read_text()).encode()).hexdigest()[:12]}"
    folder.mkdir(exist_ok=True)
    with open(results, "a", newline="") as file, tempfile.TemporaryDirectory() as scratch:
        out = csv.writer(file, lineterminator="\n")
        if results.stat().st_size == 0:
            out.writerow(header)
        for seed in plan["seeds"]:
            for name in names:
                for of in plan["sets"]:
                    of = {"rows": plan.get("rows", 12000), **of}
                    for objective in objectives:
                        if (of["name"], objective, name, str(seed)) in done:
                            continue
                        if time.time() > end:
                            sys.exit("time is up: the same command continues")
                        made, flags = parts(arguments.data, of, folder)
                        model = pathlib.Path(scratch) / "model"
                        asked = plan["objectives"][objective]
                        try:
                            if name == "sklearn-mlp":
                                values, more = sklearn_mlp(of, made, seed), ["", "", "", ""]
                            else:
                                own = ["--model", "trees"] if name == "trees" else candidates[name]
                                seconds, epoch, epochs, last = trained(arguments.binary, of, made, flags, asked, own, seed, model)
                                values = evaluated(arguments.binary, of, model, made[3 if test else 2], flags)
                                more = ["" if test else last, epoch, epochs, f"{seconds:.1f}"]
                            values = [f"{value:.5f}" for value in values]
                        except RuntimeError as error:
                            values, more = ["", ""], ["", "", "", str(error)[:80]]
                        out.writerow([of["name"], objective, name, seed, half(of), *values, *more])
                        file.flush()


def table(arguments):
    plan = read(arguments.plan)
    rows = list(csv.DictReader(open(arguments.results)))
    values = collections.defaultdict(list)
    for row in rows:
        for column in COLUMNS:
            if row[column]:
                values[row["objective"], row["candidate"], row["set"], column].append(float(row[column]))
    mean = {key: sum(some) / len(some) for key, some in values.items()}
    names = list(dict.fromkeys(row["candidate"] for row in rows))
    halves = {of["name"]: half(of) for of in plan["sets"]}
    for objective in plan["objectives"]:
        print(f"\n{objective}: both metrics of the best epoch and the first of the last epoch: gains over {names[0]} in points on the sets of one "
              "half, of the other, of both; sets won; mean")
        for name in names:
            words = []
            for column in COLUMNS:
                for some in ({0}, {1}, {0, 1}):
                    sets = [s for s, k in halves.items() if k in some and (objective, name, s, column) in mean
                            and (objective, names[0], s, column) in mean]
                    gaps = [100 * (mean[objective, name, s, column] - mean[objective, names[0], s, column]) for s in sets]
                    words.append(f"{sum(gaps) / max(len(gaps), 1):+6.2f}")
                words[-1] += f" {sum(gap > 0 for gap in gaps):2d}/{len(gaps)}"
                whole = [mean[objective, name, s, column] for s in sets]
                words[-1] += f" ({sum(whole) / max(len(whole), 1):.4f})"
            print(f"{name:26s}", "  ".join(words))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    which = parser.add_subparsers(dest="which", required=True)
    for name in ("tries", "test"):
        sub = which.add_parser(name)
        sub.add_argument("binary")
        sub.add_argument("data", type=pathlib.Path)
        sub.add_argument("plan")
        sub.add_argument("results")
        sub.add_argument("--minutes", type=float, default=30)
        sub.add_argument("--objective", help="only this one")
        sub.add_argument("candidates", nargs="+" if name == "test" else "*")
    for name in ("table", "table-test"):
        sub = which.add_parser(name)
        sub.add_argument("plan")
        sub.add_argument("results")
    arguments = parser.parse_args()
    if arguments.which in ("tries", "test"):
        run(arguments, arguments.which == "test")
    else:
        table(arguments)


if __name__ == "__main__":
    main()
