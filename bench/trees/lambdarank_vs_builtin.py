#!/usr/bin/env python3
"""Our LambdaRank fed to the trees of LightGBM and XGBoost as an external objective, beside their own.

    cargo build -p toprank-bench --no-default-features
    python bench/trees/lambdarank_vs_builtin.py

The same rows, settings and trees; only who computes the gradient and the Hessian diagonal differs. Compared are the scores of all rows:
largest difference by largest score. LightGBM's own looks sigmoids up in a
table, so it agrees to about 1e-5 until a split differs. Lists of 1, 2 and 3,000 items are among them, lists without a relevant item, and in one case labels up to 30 (LightGBM's last). Exit status 1 beyond 1e-4
after 8 trees of LightGBM, 1e-6 after 8 of XGBoost. A tool that is not installed is named and skipped.
"""
import csv, subprocess, sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import harness  # noqa: E402

PROGRAM = harness.command("gradients", "debug")
FEATURES = 20


def data(most):
    """Lists of many lengths; the label follows the first features, half of the items have label 0."""
    random = np.random.default_rng(3)
    sizes = np.r_[1, 1, 2, 2, 3000, random.integers(3, 120, 300)].astype(np.uint32)
    x = random.normal(size=(sizes.sum(), FEATURES)).astype(np.float32)
    x[random.random(x.shape) < 0.1] = np.nan
    hidden = np.nan_to_num(x[:, 0]) + np.nan_to_num(x[:, 1]) * np.nan_to_num(x[:, 2]) + random.normal(size=len(x))
    shares = 1 - 0.5 ** np.arange(1, most + 1) if most < 5 else np.linspace(0.5, 0.999, most)
    y = np.digitize(hidden, np.quantile(hidden, shares)).astype(np.float32)
    y[len(y) - int(sizes[-1]) :] = 0
    weights = random.choice([0.5, 1.0, 2.0, 3.0], len(sizes)).astype(np.float32)
    return x, y, sizes, weights


class Ours:
    def __init__(self, objective, y, sizes, weights):
        self.child = subprocess.Popen([*PROGRAM, objective], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        header = [np.uint32(len(sizes)), sizes.astype("<u4"), weights.astype("<f4"), y.astype("<f4")]
        self.child.stdin.write(b"".join(part.tobytes() for part in header))
        self.items = len(y)

    def __call__(self, scores):
        self.child.stdin.write(np.asarray(scores, dtype="<f8").tobytes())
        self.child.stdin.flush()
        found = np.frombuffer(self.child.stdout.read(16 * self.items), dtype="<f8")
        return found[: self.items], found[self.items :]


def lightgbm_case(most, weighted, trees):
    import lightgbm

    x, y, sizes, weights = data(most)
    weights = weights if weighted else np.ones_like(weights)
    settings = {"num_leaves": 31, "learning_rate": 0.1, "verbosity": -1, "num_threads": 1, "deterministic": True}
    ours = Ours("lambdarank@30:norm=lightgbm", y, sizes, weights)
    scores = []
    for objective in ("lambdarank", lambda predicted, _: ours(predicted)):
        rows = lightgbm.Dataset(x.astype(np.float64), y, group=sizes, weight=np.repeat(weights, sizes))
        model = lightgbm.train({**settings, "objective": objective}, rows, trees)
        scores.append(model.predict(x.astype(np.float64), raw_score=True))
    return f"lightgbm {lightgbm.__version__}", scores


def xgboost_case(most, weighted, trees):
    import xgboost

    x, y, sizes, weights = data(most)
    weights = weights if weighted else np.ones_like(weights)
    # XGBoost scales the weights of the lists so that their mean is 1.
    scaled = weights * np.float32(len(weights) / weights.sum())
    ours = Ours("lambdarank@32:norm=lightgbm", y, sizes, scaled)
    settings = {"max_depth": 6, "eta": 0.3, "nthread": 1, "tree_method": "hist", "base_score": 0.0}

    def objective(predicted, _):
        gradient, hessian = ours(predicted)
        return gradient.astype(np.float32), 2 * hessian.astype(np.float32)

    scores = []
    for own in (True, False):
        rows = xgboost.DMatrix(x, y)
        rows.set_group(sizes)
        if weighted:
            rows.set_weight(weights)
        if own:
            model = xgboost.train({**settings, "objective": "rank:ndcg"}, rows, trees)
        else:
            model = xgboost.train({**settings, "disable_default_eval_metric": True}, rows, trees, obj=objective)
        scores.append(model.predict(rows, output_margin=True))
    return f"xgboost {xgboost.__version__}", scores


def main():
    bad, table = False, []
    for case, bound in ((lightgbm_case, 1e-4), (xgboost_case, 1e-6)):
        for what, most, weighted in (("labels to 4", 4, False), ("weighted lists", 4, True), ("labels to 30", 30, False)):
            for trees in (1, 8, 50):
                try:
                    tool, (theirs, ours) = case(most, weighted, trees)
                except ImportError as error:
                    print(f"{error.name} is not installed: nothing is compared with it")
                    break
                difference = float(np.abs(theirs - ours).max() / np.abs(theirs).max())
                wrong = trees <= 8 and not difference <= bound
                bad |= wrong
                row = [tool, what, len(ours), trees, f"{difference:.1e}", f"{bound:.0e}" if trees <= 8 else ""]
                print(*row, "WRONG" if wrong else "", flush=True)
                table.append(row)
    with open(HERE / "lambdarank_vs_builtin.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["trees of", "data", "rows", "trees", "difference", "at most"])
        writer.writerows(table)
    sys.exit(bad)


if __name__ == "__main__":
    main()
