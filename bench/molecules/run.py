"""Objectives for the top against cross-entropy and focal loss on molecules: GIN, scaffold split, three seeds.

    cargo build --release -p toprank-cli
    python bench/molecules/run.py target/release/toprank DATA/binary/molecules WORK [SET …]

Every finished run is a line of WORK/runs.csv and is not repeated; stop and start at will. Writes bench/molecules/results.csv from
the lines that are there: mean and deviation over seeds, and the difference from cross-entropy seed by seed (the same split, start
and model). One thread. "from cross-entropy" warm-starts from the cross-entropy model of the same seed, at a tenth of its learning
rate; "cross-entropy from cross-entropy" is what those are to be compared with.
"""
import csv, json, os, random, subprocess, sys
from collections import defaultdict

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = "gin:layers=3:hidden=32:dropout=0.2"
SEEDS = [1, 2, 3]
BASE = "cross-entropy"
FROM = " from " + BASE
RATE, RATE_FROM = "0.001", "0.0001"
# Per set: how it is read, epochs (and epochs from another model), metrics of the test part (the first also stops training), sampler
# of objectives that look at lists, objectives. K of an objective is about eight times that of the metric, as the training part is
# eight times the test part (HIV: four times, as it is thinned). The class-aware sampler is the command's own for one label; with
# twelve labels it would draw twelve times the molecules, so there all objectives see the same batches of rows.
CLASSES, ROWS = "strata:relevant=32:others=96:epoch=all", "rows:batch=128"
SETS = {
    "hiv": (["--label", "label"], (8, 4), ["p@50", "auprc", "auroc"], CLASSES,
            [BASE, "precision-threshold@200", "precision@200", BASE + FROM, "precision-threshold@200" + FROM, "precision@200" + FROM,
             "ap", "focal", "ap:surrogate=sigmoid", "ap:surrogate=sigmoid" + FROM]),
    "bbbp": (["--label", "label"], (20, 10), ["p@50", "auprc", "auroc"], CLASSES,
             [BASE, "precision-threshold@400", "precision@400", BASE + FROM, "precision-threshold@400" + FROM, "precision@400" + FROM,
              "ap", "focal", "ap:surrogate=sigmoid", "ap:surrogate=sigmoid" + FROM]),
    "tox21": (["--labels", "NR-*,SR-*"], (12, 6), ["map@50", "auprc", "auroc"], ROWS,
              [BASE, "top-ap@400", BASE + FROM, "top-ap@400" + FROM, "ap", "focal", "ap:surrogate=sigmoid",
               "ap:surrogate=sigmoid" + FROM]),
}
POINTWISE = [BASE, "focal"]
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
        for name in sys.argv[4:] or SETS:
            folder = split(program, data, work, name)
            for objective in SETS[name][4]:
                if (name, objective, str(seed)) in done:
                    continue
                before = os.times().children_user
                values = one(program, folder, name, objective, seed)
                seconds = os.times().children_user - before
                metrics = SETS[name][2]
                with open(runs, "a", newline="") as file:
                    csv.writer(file).writerow([name, objective, seed, *metrics, *values, f"{seconds:.1f}"])
                print(name, objective, seed, dict(zip([*metrics, "validation"], values)), f"{seconds:.0f} s", flush=True)
                table(runs)
    table(runs)


def split(program, data, work, name):
    folder = os.path.join(work, name)
    if not os.path.exists(os.path.join(folder, "test.csv")):
        source = os.path.join(data, f"{name}.csv.gz")
        call(program, ["split", source, "-m", "scaffold", "--smiles", "smiles", *SETS[name][0], "-o", folder, "--quiet"])
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


def one(program, folder, name, objective, seed):
    """Metrics of the test part, then the first of them on the validation part, by which the pass was chosen."""
    roles, (epochs, epochs_from), metrics, sampler, _ = SETS[name]
    part = lambda file: os.path.join(folder, file)
    warm_start = objective.endswith(FROM)
    objective = objective.removesuffix(FROM)
    base = part(f"base-{seed}.toprank")
    model = base if objective == BASE and not warm_start else part("model.toprank")
    begin = ["--from", base] if warm_start else []
    call(program, ["train", "--data", part("train.csv"), "--valid", part("vali.csv"), "--smiles", "smiles", *roles, "--model", MODEL, *begin,
                   "--objective", objective, "--metric", metrics[0], "--rate", RATE_FROM if warm_start else RATE,
                   "--optimiser", "adam", "--sampler", ROWS if objective in POINTWISE else sampler,
                   "--epochs", str(epochs_from if warm_start else epochs), "--patience", "0", "--calibrate", "none",
                   "--seed", str(seed), "--threads", "1", "--quiet", "-o", model])
    values = []
    for file, wanted in [("test.csv", metrics), ("vali.csv", metrics[:1])]:
        scores = part("scores.txt")
        call(program, ["predict", "--model", model, "--data", part(file), "-o", scores, "--quiet", "--threads", "1"])
        out = call(program, ["evaluate", "--data", part(file), *roles, "--scores", scores, "--metrics", ",".join(wanted), "--json"])
        values += [f"{json.loads(out)['metrics'][metric]:.4f}" for metric in wanted]
    return values


def call(program, args):
    result = subprocess.run([program, *args], capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(args)}\n{result.stderr}")
    return result.stdout


def mean_and_deviation(values):
    mean = sum(values) / len(values)
    if len(values) < 2:
        return f"{mean:.4f}", ""
    return f"{mean:.4f}", f"{(sum((v - mean) ** 2 for v in values) / (len(values) - 1)) ** 0.5:.4f}"


def table(runs):
    """One line per set, objective and metric; differences are from cross-entropy under the same seed."""
    found = defaultdict(dict)
    seconds = defaultdict(list)
    with open(runs) as file:
        for name, objective, seed, *rest in csv.reader(file):
            metrics = rest[:3] + ["validation " + rest[0]]
            for metric, value in zip(metrics, rest[3:7]):
                found[name, objective, metric][seed] = float(value)
            seconds[name, objective].append(float(rest[7]))
    with open(os.path.join(HERE, "results.csv"), "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["set", "objective", "metric", "seeds", "mean", "deviation", "over cross-entropy", "deviation of that",
                      "seeds that win", "cpu_seconds_per_run"])
        for (name, objective, metric), values in found.items():
            base = found.get((name, BASE + FROM if objective.endswith(FROM) else BASE, metric), {})
            over = [value - base[seed] for seed, value in values.items() if seed in base]
            wins = sum(difference > 0 for difference in over)
            compared = [*mean_and_deviation(over), wins] if over else ["", "", ""]
            spent = seconds[name, objective]
            out.writerow([name, objective, metric, len(values), *mean_and_deviation(list(values.values())), *compared,
                          f"{sum(spent) / len(spent):.0f}"])


if __name__ == "__main__":
    main()
