"""`model="auto"`: the portfolio of the command."""

import subprocess

import numpy as np
import pytest

import toprank
from toprank import _toprank

pytestmark = pytest.mark.skipif(not _toprank.neural, reason="built without networks")

FEW = dict(members="trees:epochs=6,linear:epochs=3", folds=2, seed=1)


def table(rows=120):
    random = np.random.default_rng(1)
    y = (np.arange(rows) % 4 == 0).astype(int)
    X = (random.normal(size=(rows, 3)) + y[:, None] * [1, 0.5, 0]).round(3).astype(np.float32)
    return X, y


def test_the_blend_is_the_commands_to_the_byte(command, tmp_path):
    X, y = table()
    lines = [f"{label},{','.join(map(str, row))}" for label, row in zip(y, X)]
    (tmp_path / "d.csv").write_text("\n".join(["label,a,b,c", *lines]) + "\n")
    words = ["train", "--data", "d.csv", "--label", "label", "--objective", "auprc", "--model", "auto", "--seed", "1"]
    words += ["--members", FEW["members"], "--folds", "2", "-o", "theirs"]
    subprocess.run([command, *words], cwd=tmp_path, check=True, capture_output=True)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    model = toprank.Ranker("auto", "auprc", **FEW).fit(frame, y, group=[len(y)])
    model.save(tmp_path / "ours")
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


def test_the_blend_is_a_classifier_that_is_explained_by_permutation():
    X, y = table()
    model = toprank.Classifier("auto", "auroc", **FEW).fit(X, y)
    assert model.predict_proba(X).shape == (len(y), 2) and model.score(X, y) > 0.7
    found = model.explain(X, y, rounds=1)
    assert found.features[found.order[0]] == "1" and len(found.loss) == 3
