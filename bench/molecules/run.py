"""Objectives for the top against cross-entropy and focal loss on molecules: GIN, scaffold split, three seeds.

    cargo build -p toprank-cli
    python bench/molecules/run.py target/debug/toprank DATA/binary/molecules WORK

Every finished run is a line of WORK/runs.csv and is not repeated; stop and start at will. Writes bench/molecules/results.csv
(mean and deviation over seeds) from the lines that are there. One thread. All objectives see the same batches of rows.
"""
import csv, json, os, random, subprocess, sys
from collections import defaultdict

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = "gin:layers=3:hidden=32:dropout=0.2"
SEEDS = [1, 2, 3]
# Per set: how it is read, passes, metrics of the test part (the first also stops training), objectives. K of an objective is
# about eight times that of the metric, as the training part is eight times the test part. A warm-up is part of the passes.
SETS = {
    "tox21": (["--labels", "NR-*,SR-*"], 12, ["map@50", "auprc", "auroc"],
              ["cross-entropy", "focal", "ap", "top-ap@400", "top-ap@400 warm-up=6"]),
    "hiv": (["--label", "label"], 8, ["p@50", "auprc", "auroc"],
            ["cross-entropy", "focal", "precision@200", "precision-threshold@200", "precision-threshold@200 warm-up=4", "ap"]),
    "bbbp": (["--label", "label"], 20, ["p@50", "auprc", "auroc"],
             ["cross-entropy", "focal", "precision@400", "precision-threshold@400", "precision-threshold@400 warm-up=10", "ap"]),
}
# HIV: of the training part every molecule that is active, and this many of the others.
HIV_OTHERS = 6000


def main():
    program, data, work = sys.argv[1:4]
    os.makedirs(work, exist_ok=True)
    runs = os.path.join(work, "runs.csv")
    done = set()
    if os.path.exists(runs):
        with open(runs) as file:
            done = {tuple(row[:3]) for row in csv.reader(file)}
    for seed in SEEDS:
        for name, (roles, passes, metrics, objectives) in SETS.items():
            folder = split(program, data, work, name, roles)
            for objective in objectives:
                if (name, objective, str(seed)) in done:
                    continue
                before = os.times().children_user
                values = one(program, folder, roles, passes, metrics, objective, seed)
                seconds = os.times().children_user - before
                with open(runs, "a", newline="") as file:
                    csv.writer(file).writerow([name, objective, seed, *metrics, *values, f"{seconds:.1f}"])
                print(name, objective, seed, dict(zip(metrics, values)), f"{seconds:.0f} s", flush=True)
    table(runs)


def split(program, data, work, name, roles):
    folder = os.path.join(work, name)
    if not os.path.exists(os.path.join(folder, "test.csv")):
        source = os.path.join(data, f"{name}.csv.gz")
        call(program, ["split", source, "-m", "scaffold", "--smiles", "smiles", *roles, "-o", folder, "--quiet"])
        if name == "hiv":
            thin(os.path.join(folder, "train.csv"))
    return folder


def thin(path):
    with open(path, newline="") as file:
        head, *rows = list(csv.reader(file))
    label = head.index("label")
    others = [i for i, row in enumerate(rows) if row[label] == "0"]
    kept = set(random.Random(1).sample(others, HIV_OTHERS))
    rows = [row for i, row in enumerate(rows) if row[label] == "1" or i in kept]
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([head, *rows])


def one(program, folder, roles, passes, metrics, objective, seed):
    part = lambda name: os.path.join(folder, name)
    objective, _, warm_up = objective.partition(" warm-up=")
    warm_up = int(warm_up or 0)
    model, scores = part("model.toprank"), part("scores.txt")
    call(program, ["train", "--data", part("train.csv"), "--valid", part("vali.csv"), "--smiles", "smiles", *roles,
                   "--objective", objective, "--metric", metrics[0], "--model", MODEL, "--rate", "0.001",
                   "--optimiser", "adam", "--sampler", "rows:batch=128", "--epochs", str(passes - warm_up), "--warm-up",
                   str(warm_up), "--patience", "0", "--calibrate", "none",
                   "--seed", str(seed), "--threads", "1", "--quiet", "-o", model])
    call(program, ["predict", "--model", model, "--data", part("test.csv"), "-o", scores, "--quiet", "--threads", "1"])
    out = call(program, ["evaluate", "--data", part("test.csv"), *roles, "--scores", scores,
                         "--metrics", ",".join(metrics), "--json"])
    found = json.loads(out)["metrics"]
    return [f"{found[metric]:.4f}" for metric in metrics]


def call(program, args):
    result = subprocess.run([program, *args], capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(args)}\n{result.stderr}")
    return result.stdout


def table(runs):
    groups = defaultdict(list)
    with open(runs) as file:
        for row in csv.reader(file):
            metrics, values = row[3:6], [float(value) for value in row[6:9]]
            groups[row[0], row[1]].append((metrics, values, float(row[9])))
    with open(os.path.join(HERE, "results.csv"), "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["set", "objective", "metric", "seeds", "mean", "deviation", "cpu_seconds_per_run"])
        for (name, objective), rows in groups.items():
            for place, metric in enumerate(rows[0][0]):
                values = [row[1][place] for row in rows]
                mean = sum(values) / len(values)
                deviation = ""
                if len(values) > 1:
                    deviation = f"{(sum((v - mean) ** 2 for v in values) / (len(values) - 1)) ** 0.5:.4f}"
                seconds = sum(row[2] for row in rows) / len(rows)
                out.writerow([name, objective, metric, len(values), f"{mean:.4f}", deviation, f"{seconds:.0f}"])


if __name__ == "__main__":
    main()
