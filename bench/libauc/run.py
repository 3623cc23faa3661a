"""Performance at the top: ours against LibAUC 2.0.1, side by side in one run, one thread each.

    cargo build --release -p toprank-bench
    python bench/libauc/run.py SHARED/data RUNS.jsonl        # trains; resumes where RUNS.jsonl ends
    python bench/libauc/run.py --table RUNS.jsonl            # writes result.csv, time.csv and summary.csv beside this file

The same for both sides: data (standardised), splits (60/20/20 by class, one per seed), perceptron, epochs, relevant and other
rows of a batch, margin, γ of the trackers. Each side's learning rate is chosen on validation data from the same three, at the
last epoch, together with the network's output: as it is, or through a sigmoid (as in LibAUC's examples). Both sides train the
same loss by the same surrogate, the squared hinge. LibAUC may also choose PESG with plain gradient descent. What neither side
chooses: LibAUC's optimisers with their decay; our Adam without decay, initial weights as wide as PyTorch's, and half of the
epochs of a one-way partial AUC as a warm-up (`--warm-up` of the command): LibAUC's thresholds begin at 0, where all pairs
count, and take dozens of steps to reach their region. LibAUC's classes are used as they are except for what stops them:
  - AUCMLoss v2 has a misplaced bracket and leaves out scores of 0 (its issue 74): the formula of its docstring instead;
  - its sampler asks for torchvision without using it.
CPU time is that of the epochs alone: nothing is read, scored or chosen meanwhile. LibAUC's rows are taken from tensors by the
numbers its DualSampler gives; time.csv has its own way, a Dataset and a DataLoader, beside it.
Needs bench/peers/requirements-objectives.txt and scikit-learn.
"""

import argparse
import csv
import gzip
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import types
import warnings

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import harness  # noqa: E402
SETS = {
    "oil-spill": "binary/oil-spill.csv.gz",
    "yeast4": "binary/keel-yeast4.csv.gz",
    "page-blocks0": "binary/keel-page-blocks0.csv.gz",
    "mammography": "binary/mammography.csv.gz",
    "w8a": "binary/libsvm/w8a.gz",
}
RATES = [0.001, 0.003, 0.01]
BATCH, RELEVANT, SEEDS = 128, 32, [1, 2, 3, 4, 5, 6, 7, 8]
EPOCHS = {"w8a": 2}  # 10 elsewhere; w8a has 300 steps a pass
HIDDEN, WIDE = (64, 32), (256, 128)
OUTPUTS = ["sigmoid", "linear"]
WARMED_UP = ["pauc-cvar", "pauc-kl"]
OPTIMISER = "adam"
START = 0.408  # 1/√6: our starting weights as wide as PyTorch's
# LibAUC's loss, ours, the measure.
CASES = [
    ("AUCMLoss", "auroc-margin:margin=1", "auroc"),
    ("APLoss", "ap:gamma=0.1:margin=1", "auprc"),
    ("pAUC_CVaR_Loss", "pauc-cvar:fpr=0.1:margin=1", "pauc:fpr=0.1"),
    ("pAUC_DRO_Loss", "pauc-kl:gamma=0.1:margin=1", "pauc:fpr=0.1"),
    ("tpAUC_KL_Loss", "tpauc-kl:gamma=0.1:margin=1", "pauc:fpr=0.3:tpr=0.5"),
]


# ── Data ──


def load(file):
    with gzip.open(file, "rt") as lines:
        if file.name.endswith(".csv.gz"):
            table = np.array([line.split(",") for line in lines][1:], dtype=np.float64)
            return table[:, :-1], table[:, -1]
        rows = [line.split() for line in lines]
    width = max(int(part.split(":")[0]) for row in rows for part in row[1:])
    features = np.zeros((len(rows), width))
    for place, row in enumerate(rows):
        for part in row[1:]:
            column, value = part.split(":")
            features[place, int(column) - 1] = float(value)
    return features, np.array([float(float(row[0]) > 0) for row in rows])


def split(features, labels, seed):
    """Features and labels of train, validation and test; standardised by the first."""
    random, parts = np.random.default_rng(seed), [[], [], []]
    for label in (0, 1):
        rows = random.permutation(np.flatnonzero(labels == label))
        cuts = [round(0.6 * len(rows)), round(0.8 * len(rows))]
        for part, chosen in zip(parts, np.split(rows, cuts)):
            part.extend(chosen)
    parts = [random.permutation(part) for part in parts]
    mean, spread = features[parts[0]].mean(0), features[parts[0]].std(0)
    scaled = ((features - mean) / np.where(spread > 0, spread, 1)).astype(np.float32)
    return [(scaled[part], labels[part].astype(np.float32)) for part in parts]


# ── Measures, the same for both sides ──


def measure(name, labels, scores):
    from sklearn.metrics import average_precision_score, roc_curve

    if not np.isfinite(scores).all():
        return float("nan")
    if name == "auprc":
        return average_precision_score(labels, scores)
    fpr, tpr, _ = roc_curve(labels, scores, drop_intermediate=False)
    region = dict(part.split("=") for part in name.split(":")[1:])
    most, least = float(region.get("fpr", 1)), float(region.get("tpr", 0))
    # The polyline cut at the border of the region, and where it rises through its floor.
    x, y = [], []
    for (x0, y0), (x1, y1) in zip(zip(fpr, tpr), zip(fpr[1:], tpr[1:])):
        x.append(x0), y.append(y0)
        if y0 < least < y1 and x0 < x1:
            x.append(x0 + (x1 - x0) * (least - y0) / (y1 - y0)), y.append(least)
    x.append(fpr[-1]), y.append(tpr[-1])
    x, y = np.array(x), np.array(y)
    edge = np.interp(most, x, y) if most < 1 else y[-1]
    inside = x <= most
    x, y = np.append(x[inside], most), np.append(y[inside], edge)
    return np.trapezoid(np.maximum(y - least, 0), x) / (most * (1 - least))


# ── LibAUC ──


def libauc():
    """Its modules; what its sampler imports without need is left empty."""
    warnings.simplefilter("ignore")
    vision = types.ModuleType("torchvision")
    vision.datasets = types.SimpleNamespace(ImageFolder=type("ImageFolder", (), {}))
    sys.modules.setdefault("torchvision", vision)
    import torch
    from libauc import optimizers
    from libauc.losses import auc
    from libauc.sampler import DualSampler

    class AUCMLoss(auc.AUCMLoss):
        def forward(self, y_pred, y_true, **_):
            y_pred, y_true = y_pred.reshape(-1), y_true.reshape(-1)
            relevant, others = y_pred[y_true == 1], y_pred[y_true == 0]
            gap = self.margin + others.mean() - relevant.mean()
            spread = ((relevant - self.a) ** 2).mean() + ((others - self.b) ** 2).mean()
            return spread + 2 * self.alpha * gap - self.alpha**2

    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    return torch, auc, optimizers, DualSampler, AUCMLoss


def choices(loss):
    """What LibAUC may choose from."""
    found = [{"output": output, "rate": rate, "mode": "adam"} for output in OUTPUTS for rate in RATES]
    if loss == "AUCMLoss":
        found += [{"output": output, "rate": 0.1, "mode": "sgd"} for output in OUTPUTS]
    return found


class Peer:
    def __init__(self):
        self.torch, self.auc, self.optimizers, self.sampler, self.aucm = libauc()

    def parts(self, name, parameters, choice, count, relevant):
        """Loss and optimiser."""
        lr, mode, opt = choice["rate"], choice["mode"], self.optimizers
        quiet = {"lr": lr, "mode": mode, "verbose": False, "device": "cpu"}
        if name == "AUCMLoss":
            loss = self.aucm(margin=1.0, version="v2", device="cpu")
            return loss, opt.PESG(parameters, loss_fn=loss, **quiet)
        if name == "APLoss":
            return self.auc.APLoss(count, gamma=0.1, margin=1.0, device="cpu"), opt.SOAP(parameters, **quiet)
        if name == "pAUC_CVaR_Loss":
            loss = self.auc.pAUC_CVaR_Loss(count, relevant, margin=1.0, beta=0.1, device="cpu")
            return loss, opt.SOPA(parameters, **quiet)
        if name == "pAUC_DRO_Loss":
            loss = self.auc.pAUC_DRO_Loss(count, gamma=0.1, margin=1.0, Lambda=1.0, device="cpu")
            return loss, opt.SOPAs(parameters, **quiet)
        loss = self.auc.tpAUC_KL_Loss(count, tau=1.0, Lambda=1.0, gammas=(0.1, 0.1), margin=1.0, device="cpu")
        return loss, opt.SOTAs(parameters, **quiet)

    def train(self, name, parts, choice, seed, hidden, epochs, loader=False):
        """CPU seconds of an epoch, its steps, scores of the other parts."""
        torch = self.torch
        torch.manual_seed(seed)
        (features, labels), *others = parts
        widths = [features.shape[1], *hidden]
        layers = [layer for a, b in zip(widths, widths[1:]) for layer in (torch.nn.Linear(a, b), torch.nn.ReLU())]
        model = torch.nn.Sequential(*layers, torch.nn.Linear(widths[-1], 1))
        x, y = torch.from_numpy(features), torch.from_numpy(labels)
        loss, optimiser = self.parts(name, list(model.parameters()), choice, len(y), int(labels.sum()))
        drawn = self.sampler(None, BATCH, labels=labels, num_pos=relevant_of(labels), sampling_rate=None, random_seed=seed)
        output = torch.sigmoid if choice["output"] == "sigmoid" else lambda scores: scores

        def step(x, y, numbers):
            value = loss(output(model(x)), y, index=numbers)
            optimiser.zero_grad()
            value.backward()
            optimiser.step()

        if loader:
            rows = [(x[i], y[i], i) for i in range(len(y))]
            batches = torch.utils.data.DataLoader(rows, batch_size=BATCH, sampler=drawn)
        before = time.process_time()
        for _ in range(epochs):
            if loader:
                for batch in batches:
                    step(*batch)
            else:
                for numbers in torch.from_numpy(np.fromiter(iter(drawn), np.int64)).split(BATCH):
                    step(x[numbers], y[numbers], numbers)
        cpu = (time.process_time() - before) / epochs
        with torch.no_grad():
            scores = [model(torch.from_numpy(x)).reshape(-1).double().numpy() for x, _ in others]
        return {"cpu": cpu, "steps": int(drawn.num_batches), "scores": scores}


def relevant_of(labels):
    """Relevant rows of a batch: few enough that none comes twice."""
    return min(RELEVANT, int(labels.sum()) // 2)


# ── Ours ──


class Ours:
    def __init__(self, folder):
        environment = {**os.environ, "RAYON_NUM_THREADS": "1"}
        self.folder = folder
        self.process = subprocess.Popen(
            harness.command("libauc"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def files(self, key, parts):
        names = [str(self.folder / f"{key}-{k}.f32") for k in range(len(parts))]
        for name, (features, labels) in zip(names, parts):
            np.column_stack([features, labels]).astype("<f4").tofile(name)
        return names

    def train(self, objective, files, parts, choice, seed, hidden, epochs, warm_up=0):
        relevant = relevant_of(parts[0][1])
        case = {
            "train": files[0], "others": files[1:], "width": parts[0][0].shape[1], "objective": objective,
            "model": f"mlp:hidden={'-'.join(map(str, hidden))}:output={choice['output']}:start={START}",
            "rate": choice["rate"], "epochs": epochs, "seed": seed, "warm-up": warm_up, "optimiser": OPTIMISER,
            "sampler": f"strata:relevant={relevant}:others={BATCH - relevant}:epoch=all",
        }
        print(json.dumps(case), file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"no answer to {case}")
        return json.loads(answer)


# ── The run ──


def run(arguments):
    log = pathlib.Path(arguments.runs)
    done = {json.loads(line)["key"] for line in log.read_text().splitlines()} if log.exists() else set()
    with tempfile.TemporaryDirectory() as folder, open(log, "a") as out:
        ours = Ours(pathlib.Path(folder)) if arguments.side != "libauc" else None
        peer = Peer() if arguments.side != "toprank" else None

        def record(key, values, answer, labels, name):
            found = [measure(name, y, np.array(s)) for y, s in zip(labels, answer["scores"])]
            line = {"key": key, **values, "measure": name, "cpu": answer["cpu"], "steps": answer["steps"],
                    "valid": found[0], "test": found[1]}
            print(json.dumps(line), file=out, flush=True)
            print(key, *(f"{x:.4f}" for x in found), f"{1e3 * answer['cpu']:.1f} ms", flush=True)

        chosen = arguments.sets or list(SETS)
        tables = {data: load(pathlib.Path(arguments.data) / SETS[data]) for data in chosen}
        for seed in arguments.seeds:
            for data in chosen:
                epochs = EPOCHS.get(data, 10)
                parts = split(*tables[data], seed)
                labels = [y for _, y in parts[1:]]
                files = ours and ours.files(f"{data}-{seed}", parts)
                for theirs, mine, name in CASES:
                    about = {"data": data, "seed": seed, "case": theirs}
                    for choice in choices(theirs) if peer else ():
                        key = f"{data} {seed} {theirs} libauc {json.dumps(choice)}"
                        if key not in done:
                            answer = peer.train(theirs, parts, choice, seed, HIDDEN, epochs)
                            record(key, {**about, "side": "libauc", "choice": choice}, answer, labels, name)
                    for output, rate in [(output, rate) for output in OUTPUTS for rate in RATES] if ours else ():
                        choice = {"output": output, "rate": rate}
                        warm_up = epochs // 2 if mine.split(":")[0] in WARMED_UP else 0
                        key = f"{data} {seed} {theirs} toprank {mine} {json.dumps(choice)} {warm_up} {OPTIMISER} {START}"
                        if key not in done:
                            answer = ours.train(mine, files, parts, choice, seed, HIDDEN, epochs, warm_up)
                            record(key, {**about, "side": "toprank", "choice": choice}, answer, labels, name)
                    if seed != SEEDS[0] or not (ours and peer):
                        continue
                    # Time alone: wide layers, and LibAUC by its own loader.
                    for width, hidden, rounds in (("narrow", HIDDEN, 3), ("wide", WIDE, 2)):
                        key = f"{data} {theirs} time {width}"
                        if key in done:
                            continue
                        choice = {"output": "sigmoid", "rate": 0.001, "mode": "adam"}
                        line = {"key": key, "data": data, "case": theirs, "side": "time", "width": width}
                        # Enough steps of ours to be measured by a clock that ticks every few milliseconds.
                        epochs = 1 + 1000 * BATCH // len(parts[0][1])
                        for way, once in {
                            "toprank": lambda: ours.train(mine, files, parts, choice, 1, hidden, epochs),
                            "libauc": lambda: peer.train(theirs, parts, choice, 1, hidden, 2),
                            "libauc_loader": lambda: peer.train(theirs, parts, choice, 1, hidden, 1, loader=True),
                        }.items():
                            line[way] = statistics.median(once()["cpu"] for _ in range(rounds))
                        print(json.dumps(line), file=out, flush=True)
                        print(line, flush=True)


# ── Tables ──


def table(runs):
    from scipy.stats import ttest_rel, wilcoxon

    lines = [json.loads(line) for line in open(runs)]
    rows = []
    for theirs, _, name in CASES:
        for data in SETS:
            for seed in SEEDS:
                chosen = {}
                for side in ("libauc", "toprank"):
                    here = [x for x in lines if (x["data"], x.get("seed"), x["case"], x["side"]) == (data, seed, theirs, side)]
                    finite = [x for x in here if np.isfinite(x["valid"])]
                    if finite:
                        best = max(finite, key=lambda x: x["valid"])
                        chosen[side] = best, len(here) - len(finite)
                if len(chosen) < 2:
                    continue
                (a, broken), (b, _) = chosen["libauc"], chosen["toprank"]
                rows.append({
                    "libauc": theirs, "measure": name, "data": data, "seed": seed,
                    "libauc_test": round(a["test"], 5), "toprank_test": round(b["test"], 5),
                    "difference": round(b["test"] - a["test"], 5),
                    "libauc_chose": " ".join(str(x) for x in a["choice"].values()),
                    "toprank_chose": " ".join(str(x) for x in b["choice"].values()), "libauc_not_finite": broken,
                    "libauc_steps": a["steps"], "toprank_steps": b["steps"],
                })
    write("result.csv", rows)
    times = [
        {
            "libauc": x["case"], "data": x["data"], "hidden": "-".join(map(str, HIDDEN if x["width"] == "narrow" else WIDE)),
            "toprank_cpu_ms": round(1e3 * x["toprank"], 2), "libauc_cpu_ms": round(1e3 * x["libauc"], 2),
            "libauc_loader_cpu_ms": round(1e3 * x["libauc_loader"], 2),
            "ratio": round(x["libauc"] / x["toprank"], 2), "ratio_loader": round(x["libauc_loader"] / x["toprank"], 2),
        }
        for x in lines if x["side"] == "time"
    ]
    write("time.csv", times)
    summary = []
    for theirs in [case[0] for case in CASES] + ["all"]:
        mine = [row for row in rows if theirs in (row["libauc"], "all")]
        a, b = (np.array([row[key] for row in mine]) for key in ("libauc_test", "toprank_test"))
        timed = lambda key, hidden: [x[key] for x in times if theirs in (x["libauc"], "all") and x["hidden"] == hidden]
        narrow, wide = ("-".join(map(str, h)) for h in (HIDDEN, WIDE))
        summary.append({
            "libauc": theirs, "runs": len(mine), "libauc_mean": round(a.mean(), 4), "toprank_mean": round(b.mean(), 4),
            "difference": round((b - a).mean(), 4), "wins": int((b > a + 1e-4).sum()),
            "ties": int((abs(b - a) <= 1e-4).sum()), "losses": int((b < a - 1e-4).sum()),
            "p_wilcoxon": float(f"{wilcoxon(b, a).pvalue:.2g}"), "p_t": float(f"{ttest_rel(b, a).pvalue:.2g}"),
            "cpu_ratio": statistics.median(timed("ratio", narrow)), "cpu_ratio_low": min(timed("ratio", narrow)),
            f"cpu_ratio_{wide}": statistics.median(timed("ratio", wide)),
            f"cpu_ratio_{wide}_low": min(timed("ratio", wide)),
            "cpu_ratio_its_loader": statistics.median(timed("ratio_loader", narrow)),
        })
    write("summary.csv", summary)
    for row in summary:
        print(row)


def write(name, rows):
    with open(HERE / name, "w", newline="") as file:
        out = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        out.writeheader()
        out.writerows(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", help="the folder of the data sets")
    parser.add_argument("runs", nargs="?", help="where runs are written, one a line")
    parser.add_argument("--sets", nargs="*", choices=list(SETS), help="only these data sets")
    parser.add_argument("--seeds", type=int, nargs="*", default=SEEDS)
    parser.add_argument("--side", choices=["libauc", "toprank"], help="only this side; times need both")
    parser.add_argument("--table", help="make the tables from these runs")
    arguments = parser.parse_args()
    if arguments.table:
        return table(arguments.table)
    if not arguments.runs:
        parser.error("expected the folder of the data sets and the file of runs, or --table")
    run(arguments)


if __name__ == "__main__":
    main()
