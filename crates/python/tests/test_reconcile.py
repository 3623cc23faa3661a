"""Other tools' numbers and scores beside ours."""

import json
import subprocess

import numpy as np
import pytest

import toprank


@pytest.fixture(scope="module")
def graded():
    """Lists with ties, grades and empty ones."""
    random = np.random.default_rng(3)
    sizes = random.integers(3, 20, 40)
    y = random.choice([0, 0, 1, 2, 3], sizes.sum())
    y[: sizes[:3].sum()] = 0
    return y, random.integers(0, 8, sizes.sum()) / 8, sizes


@pytest.mark.parametrize("preset", list(toprank.presets()))
def test_every_preset_is_found_from_its_number_alone(preset, graded):
    y, s, sizes = graded
    for metric in ("ndcg@10", "map@5", "p@5"):
        value = toprank.evaluate(y, s, group=sizes, metrics=metric, like=preset, replicates=0)[metric]
        found = toprank.reconcile(y, s, metric, f"{value:.7f}", group=sizes)
        assert preset in found.presets and found.conventions
        for rules, mean in found.conventions[:5]:
            assert toprank.evaluate(y, s, group=sizes, metrics=metric, policy=rules, replicates=0)[metric] == mean


def test_a_wrong_number_is_given_by_none(graded):
    y, s, sizes = graded
    found = toprank.reconcile(y, s, "ndcg@10", 0.0123456, group=sizes)
    assert not found and "none found" in repr(found)
    with pytest.raises(ValueError, match="must be one metric"):
        toprank.reconcile(y, s, "ndcg,map", 0.5, group=sizes)


def test_runs_are_reconciled_as_the_command_does(command, tmp_path):
    qrels = {"q": {"a": 1, "b": 2}, "r": {"c": 1}}
    run = {"q": {"a": 3.0, "b": 2.0}, "r": {"d": 1.0}}
    for name, rows in (("qrels.json", qrels), ("run.json", run)):
        (tmp_path / name).write_text(json.dumps(rows))
    found = toprank.reconcile(qrels, run, "ndcg", "0.43")
    words = ["reconcile", "--qrels", "qrels.json", "--run", "run.json", "-m", "ndcg", "--value", "0.43", "--json"]
    theirs = json.loads(subprocess.run([command, *words], cwd=tmp_path, check=True, capture_output=True, text=True).stdout)
    assert found.presets == theirs["presets"] and found.tried == theirs["tried"]


def test_served_scores_are_compared_with_ours(lists, command, tmp_path):
    X, y, sizes = lists(20)
    X = X.copy()
    model = toprank.Ranker("trees", "ndcg@10", trees=3, leaves=4).fit(X, y, group=sizes)
    scores = model.predict(X, group=sizes)
    assert toprank.parity(model, X, scores) == toprank.Parity(len(X), 0.0, np.abs(scores).max(), 0, 0)
    served = scores.copy()
    served[7] += 0.5
    found = toprank.parity(model, X, served)
    assert (found.worst, found.beyond) == (7, 1) and found.difference == pytest.approx(0.5)
    # The same by the command, on files.
    np.savetxt(tmp_path / "d.csv", X, delimiter=",", header="1,2,3,4,5", comments="", fmt="%.9g")
    np.savetxt(tmp_path / "s.txt", scores, fmt="%.17g")
    model.save(tmp_path / "m")
    words = [command, "parity", "m", "--data", "d.csv", "--served", "s.txt"]
    assert subprocess.run(words, cwd=tmp_path, capture_output=True).returncode == 0
    np.savetxt(tmp_path / "s.txt", served, fmt="%.17g")
    run = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 3 and "1 of" in run.stderr and "row 8" in run.stderr


@pytest.mark.parametrize("engine", ["es-ltr", "opensearch-ltr", "vespa"])
def test_a_plain_reading_of_what_search_engines_get_gives_our_scores(engine, lists, tmp_path):
    X, y, sizes = lists(30)
    model = toprank.Ranker("trees", "ndcg@10", trees=4, leaves=6).fit(X, y, group=sizes)
    model.export(engine, tmp_path / "model.json", missing="zero" if engine != "vespa" else "exact")
    trees = json.loads((tmp_path / "model.json").read_text())

    def leaf(node, row):
        while "leaf" not in node:
            value = row[int(node["split"]) - 1]
            go = node["missing"] if np.isnan(value) else node["yes"] if value < node["split_condition"] else node["no"]
            node = next(child for child in node["children"] if child["nodeid"] == go)
        return np.float32(node["leaf"])

    played = [sum(float(leaf(tree, row)) for tree in trees) for row in X]
    assert np.allclose(played, model.predict(X, group=sizes), rtol=1e-6, atol=1e-6)
    if engine != "vespa":
        features = json.loads((tmp_path / "model.json.featureset.json").read_text())["featureset"]["features"]
        assert [feature["name"] for feature in features] == ["1", "2", "3", "4", "5"]
