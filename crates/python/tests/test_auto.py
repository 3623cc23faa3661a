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


def test_the_blend_is_a_classifier_that_is_explained():
    X, y = table()
    model = toprank.Classifier("auto", "auroc", **FEW).fit(X, y)
    assert model.predict_proba(X).shape == (len(y), 2) and model.score(X, y) > 0.7
    found = model.explain(X, y, rounds=1)
    assert found.features[found.order[0]] == "1" and len(found.loss) == 3


def test_values_of_a_blend_of_networks_are_sampled_with_an_error_and_add_up():
    X, y = table()
    model = toprank.Classifier("auto", "auroc", members="linear:epochs=6,mlp:epochs=6", folds=2, seed=1).fit(X, y)
    few = X[:12]
    found = model.explain(few, y[:12], rounds=1, shap=True, samples=20, dependence="1")
    assert found.shap_method == "sampled" and found.shap.shape == found.shap_error.shape == (12, 3)
    scores = model.decision_function(few)
    assert np.allclose(found.expected + found.shap.sum(axis=1), scores, atol=1e-6)
    points, means = found.dependence["1"]
    assert means[-1] > means[0] and len(points) == len(means)


def test_values_of_a_linear_model_are_exact_and_those_of_a_network_have_an_error():
    X, y = table()
    for kind, exact in [("linear", True), ("mlp:hidden=4", False)]:
        model = toprank.Ranker(kind, "logistic", epochs=3, seed=1).fit(X, y, group=[len(y)])
        found = model.explain(X, y, group=[len(y)], rounds=1, shap=True, samples=10)
        assert (found.shap_error is None) == exact and ("exact" in found.shap_method) == exact
        assert np.allclose(found.expected + found.shap.sum(axis=1), model.predict(X), atol=1e-5)
