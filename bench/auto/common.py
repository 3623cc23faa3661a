"""What headline.py, six_sets.py and tune.py share: sets, splits, methods, rows of a CSV."""

import csv
import fcntl
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "defaults"))
from trees import measure, sets, write_table  # noqa: E402

MEASURES = ["ap", "auroc", "pauc", "rprec"]
#: Sets of at most 20,000 rows, the wide one last.
SMALL = [
    "german-credit", "keel-pima", "keel-yeast4", "oil-spill", "keel-page-blocks0", "mammography", "keel-vehicle1", "keel-yeast3",
    "keel-winequality-red-4", "keel-winequality-white-3-9_vs_5", "keel-flare-F", "keel-car-good", "keel-ecoli3", "keel-ecoli4",
    "keel-glass2", "keel-vowel0", "keel-abalone19", "keel-poker-8_vs_6", "keel-kddcup-rootkit-imap_vs_back", "spambase",
    "higgs-sample", "hiva",
]
#: Larger ones, of which one split is taken.
LARGE = ["a9a", "w8a", "adbench-aloi", "adbench-campaign", "give-me-some-credit", "adbench-smtp", "adbench-cover", "adbench-donors"]
#: The six of the comparison with LightGBM.
SIX = ["mammography", "keel-page-blocks0", "keel-yeast4", "german-credit", "oil-spill", "keel-pima"]


def hiva(data):
    from sklearn.datasets import load_svmlight_file

    x, y = load_svmlight_file(os.path.join(data, "binary/libsvm/hiva.gz"), n_features=1617)
    return x.toarray().astype(np.float32), y > 0


def read(data, name):
    """Features (float32) and labels (bool) of a set."""
    if name == "hiva":
        return hiva(data)
    return dict(sets(str(data)))[name]()


def folds(y, seed):
    """Five stratified folds: (train, test) row numbers."""
    from sklearn.model_selection import StratifiedKFold

    return list(StratifiedKFold(5, shuffle=True, random_state=seed).split(np.zeros(len(y)), y))


def repeated(y, count, test, seed):
    """Repeated stratified splits."""
    from sklearn.model_selection import StratifiedShuffleSplit

    return list(StratifiedShuffleSplit(count, test_size=test, random_state=seed).split(np.zeros(len(y)), y))


def cpu(who):
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def toprank(program, arguments, x, y, x_test):
    """Trains with the command and scores `x_test`: scores, CPU seconds of training."""
    env = {**os.environ, "RAYON_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        write_table(f"{folder}/train.csv", x, y)
        write_table(f"{folder}/test.csv", x_test, np.zeros(len(x_test)))
        before = cpu(resource.RUSAGE_CHILDREN)
        common = ["train", "-q", "--data", "train.csv", "--label", "label", "-o", "m.toprank", *arguments]
        done = subprocess.run([program, *common], cwd=folder, env=env, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(common)}: {done.stderr}")
        seconds = cpu(resource.RUSAGE_CHILDREN) - before
        predict = ["predict", "m.toprank", "-q", "--data", "test.csv", "--label", "label", "-o", "s.txt"]
        subprocess.run([program, *predict], cwd=folder, env=env, check=True, capture_output=True)
        return np.loadtxt(f"{folder}/s.txt", ndmin=1), seconds


def peer(name, seed):
    """A peer with its defaults, on one thread. Linear models and perceptrons see standardised features."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if name == "lightgbm":
        import lightgbm

        return lightgbm.LGBMClassifier(verbose=-1, n_jobs=1, random_state=seed)
    if name == "xgboost":
        import xgboost

        return xgboost.XGBClassifier(n_jobs=1, random_state=seed)
    if name == "catboost":
        import catboost

        return catboost.CatBoostClassifier(verbose=0, thread_count=1, random_seed=seed, allow_writing_files=False)
    if name == "histgb":
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(random_state=seed)
    if name == "forest":
        from sklearn.ensemble import RandomForestClassifier

        return RandomForestClassifier(n_jobs=1, random_state=seed)
    if name == "extra-trees":
        from sklearn.ensemble import ExtraTreesClassifier

        return ExtraTreesClassifier(n_jobs=1, random_state=seed)
    if name == "sklearn-mlp":
        from sklearn.neural_network import MLPClassifier

        return make_pipeline(StandardScaler(), MLPClassifier(random_state=seed))
    if name == "logistic-regression":
        from sklearn.linear_model import LogisticRegression

        return make_pipeline(StandardScaler(), LogisticRegression(random_state=seed))
    raise ValueError(name)


def fit_peer(name, seed, x, y, x_test):
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    before = cpu(resource.RUSAGE_SELF)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = peer(name, seed)
        model.fit(x, y.astype(int))
        seconds = cpu(resource.RUSAGE_SELF) - before
        return model.predict_proba(x_test)[:, 1], seconds


def rows(path):
    """The rows of a CSV that is there already."""
    return list(csv.DictReader(open(path))) if os.path.exists(path) else []


def append(path, row):
    """Adds a row; whoever else writes waits."""
    with open(path, "a", newline="") as out:
        fcntl.flock(out, fcntl.LOCK_EX)
        writer = csv.DictWriter(out, list(row))
        if out.tell() == 0:
            writer.writeheader()
        writer.writerow(row)


def wilcoxon_holm(pairs):
    """{name: differences over sets} → {name: (p, p by Holm)}."""
    from scipy.stats import wilcoxon

    found = {}
    for name, differences in pairs.items():
        differences = np.array(differences)
        found[name] = 1.0 if not np.any(differences) else float(wilcoxon(differences, zero_method="zsplit").pvalue)
    order = sorted(found, key=found.get)
    corrected, most = {}, 0.0
    for place, name in enumerate(order):
        most = max(most, min(1.0, found[name] * (len(order) - place)))
        corrected[name] = most
    return {name: (found[name], corrected[name]) for name in found}


def now():
    return time.strftime("%H:%M:%S")
