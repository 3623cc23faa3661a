"""Reading, splitting, fusing, thresholds, explanations, exports and tuning: what the command does with files, on arrays."""

import json
import subprocess

import numpy as np
import pytest

import toprank


def said(command, *words, cwd=None):
    run = subprocess.run([command, *map(str, words), "--json"], check=True, capture_output=True, text=True, cwd=cwd)
    return json.loads(run.stdout)


@pytest.fixture
def written(lists, tmp_path):
    """A LETOR file of lists, and its arrays."""
    X, y, sizes = lists(30)
    lines, row = [], 0
    for q, size in enumerate(sizes):
        for _ in range(size):
            lines.append(f"{y[row]} qid:{q} " + " ".join(f"{f + 1}:{value}" for f, value in enumerate(X[row])))
            row += 1
    (tmp_path / "data.txt").write_text("\n".join(lines) + "\n")
    return tmp_path / "data.txt", X, y, sizes


def test_a_file_is_read_as_it_was_written(written, tmp_path):
    file, X, y, sizes = written
    data = toprank.read(file)
    assert np.array_equal(data.X, X) and np.array_equal(data.y, y) and np.array_equal(data.group, sizes)
    assert data.columns == ["1", "2", "3", "4", "5"] and data.X.dtype == np.float32
    assert data.qid.tolist() == np.repeat([str(q) for q in range(30)], sizes).tolist()
    (tmp_path / "table.csv").write_text("who,label,size,colour\na,1,0.5,red\nb,0,,blue\na,2,3,red\n")
    table = toprank.read(tmp_path / "table.csv", list="who", categorical="colour", regroup=True)
    assert table.qid.tolist() == ["a", "a", "b"] and table.levels == {1: ["blue", "red"]}
    assert table.y.tolist() == [1, 2, 0] and table.file_rows.tolist() == [0, 2, 1] and np.isnan(table.X[2, 0])
    with pytest.raises(OSError, match="nowhere"):
        toprank.read(tmp_path / "nowhere.csv")
    with pytest.raises(ValueError, match="unexpected argument"):
        toprank.read(file, no_such_option=1)
    with pytest.raises(ValueError, match="colour"):
        toprank.read(tmp_path / "table.csv", list="colours")


def test_reading_copies_nothing(written):
    data = toprank.read(written[0])
    # The memory is the reader's: the array does not own it.
    assert data.X.base is not None and data.X.flags.c_contiguous


def test_sparse_files_become_sparse_matrices(tmp_path):
    scipy = pytest.importorskip("scipy.sparse")
    (tmp_path / "wide.txt").write_text("".join(f"{k % 2} qid:{k // 4} {1 + 997 * k % 90000}:1\n" for k in range(40)))
    X = toprank.read(tmp_path / "wide.txt").X
    assert scipy.issparse(X) and X.shape[0] == 40 and X.nnz == 40


def test_frames_hold_lists_labels_and_categories(tmp_path):
    pandas = pytest.importorskip("pandas")
    (tmp_path / "t.csv").write_text("who,label,colour\na,1,red\na,0,blue\nb,2,red\n")
    frame = toprank.read(tmp_path / "t.csv", list="who", categorical="colour").to_frame()
    assert frame.columns.tolist() == ["list", "label", "colour"] and frame["colour"].tolist() == ["red", "blue", "red"]
    assert isinstance(frame["colour"].dtype, pandas.CategoricalDtype)


@pytest.mark.parametrize("method", ["lists", "70/30", "k-fold:k=3"])
def test_parts_are_those_of_the_command(method, written, command, tmp_path):
    file, X, y, sizes = written
    said(command, "split", file, "--method", method, "--seed", 5, "-o", tmp_path / "parts")
    qid = np.repeat(np.arange(len(sizes)), sizes)
    parts = toprank.split(y, method, qid=qid, seed=5)
    for name, rows in parts.items():
        theirs = toprank.read(tmp_path / "parts" / f"{name}.txt")
        assert np.array_equal(theirs.X, X[rows]), name
    # Rows of a list may stand anywhere.
    mixed = np.random.default_rng(1).permutation(len(y))
    for name, rows in toprank.split(y[mixed], method, qid=qid[mixed], seed=5).items():
        assert len(np.intersect1d(np.unique(qid[mixed][rows]), np.unique(qid[mixed][np.setdiff1d(np.arange(len(y)), rows)]))) == 0


def test_fused_runs_are_those_of_the_command(command, tmp_path):
    runs = [{"q": {"x": 3.0, "y": 1.0, "z": 0.5}, "r": {"x": 1.0}}, {"q": {"y": 9.0, "w": 2.0}}]
    for place, run in enumerate(runs):
        (tmp_path / f"{place}.json").write_text(json.dumps(run))
    for method in ("rrf", "combsum:norm=zscore", "borda"):
        theirs = said(command, "fuse", "0.json", "1.json", "--method", method, "--depth", 2, cwd=tmp_path)["run"]
        ours = toprank.fuse(runs, method, depth=2)
        assert ours == theirs
        assert toprank.fuse([tmp_path / "0.json", tmp_path / "1.json"], method, depth=2) == ours
        assert list(ours["q"].values()) == sorted(ours["q"].values(), reverse=True)
    with pytest.raises(ValueError, match="unknown fusion method"):
        toprank.fuse(runs, "condorcet")
    with pytest.raises(ValueError, match="expected at least 2"):
        toprank.fuse(runs[:1])


def test_a_threshold_is_that_of_the_command(command, tmp_path):
    random = np.random.default_rng(1)
    labels = (random.random(300) < 0.2).astype(int)
    scores = (labels + random.normal(size=300)).round(2)
    (tmp_path / "d.csv").write_text("label,s\n" + "".join(f"{y},{s}\n" for y, s in zip(labels, scores)))
    for flag, wish in [
        (("--recall", "0.8"), {"recall": 0.8}),
        (("--precision", "0.5"), {"precision": 0.5}),
        (("--alerts", "20"), {"alerts": 20}),
        (("--alerts", "5%"), {"alerts": "5%"}),
        (("--cost", "fp=1,fn=5"), {"cost": (1, 5)}),
        (("--at", "0.5"), {"at": 0.5}),
    ]:
        theirs = said(command, "threshold", "--data", "d.csv", "--feature", "s", *flag, cwd=tmp_path)
        ours = toprank.threshold(labels, scores, **wish)
        # The command reads features of 32 bits.
        assert ours.threshold == pytest.approx(theirs["threshold"], rel=1e-6)
        assert ours.alerts == theirs["alerts"] and ours.cost == theirs.get("cost")
        assert ours.recall.low == theirs["rates"]["recall"]["low"]
    assert ours.predict(scores).sum() == ours.alerts
    with pytest.raises(ValueError, match="expected one of recall"):
        toprank.threshold(labels, scores)
    with pytest.raises(ValueError, match="no threshold meets precision"):
        toprank.threshold([1, 0], [0.1, 0.9], precision=0.99)


@pytest.fixture
def trees(written):
    _, X, y, sizes = written
    return toprank.Ranker("trees", "ndcg@10", trees=5, leaves=7, seed=1).fit(X, y, group=sizes)


def test_an_explanation_has_the_numbers_of_the_command(trees, written, command, tmp_path):
    file, X, y, sizes = written
    trees.save(tmp_path / "model")
    theirs = said(command, "explain", "model", "--data", file, "--rounds", 2, "--dependence", "1", cwd=tmp_path)
    found = trees.explain(X, y, group=sizes, rounds=2, shap=True, dependence="1")
    by_name = {line["feature"]: line for line in theirs["features"]}
    for place, name in enumerate(found.features):
        if name in by_name:
            assert found.gain[place] == by_name[name]["gain"]
            assert found.loss[place] == by_name[name]["permutation"]["loss"]
    scores = trees.predict(X, group=sizes)
    assert np.allclose(found.expected + found.shap.sum(axis=1), scores, atol=1e-9)
    values, means = found.dependence["1"]
    assert len(values) == len(means) > 1 and found.features[found.order[0]] in ("1", "2")
    # Rows of a list may stand anywhere: what is said about a row stays with it.
    mixed = np.random.default_rng(1).permutation(len(y))
    qid = np.repeat(np.arange(len(sizes)), sizes)
    again = trees.explain(X[mixed], y[mixed], qid=qid[mixed], rounds=1, shap=True)
    assert np.allclose(again.shap, found.shap[mixed], atol=1e-9)
    assert trees.feature_importances_.sum() == pytest.approx(1.0)
    with pytest.raises(ValueError, match="dependence"):
        trees.explain(X, y, group=sizes, dependence="no such feature")


def test_a_model_is_exported_and_comes_back(trees, written, command, tmp_path):
    _, X, y, sizes = written
    report = trees.export("xgboost", tmp_path / "model.json")
    assert report["rows"] > 0 and report["relative"] <= 1e-6
    back = toprank.load_xgboost(tmp_path / "model.json")
    assert np.allclose(back.predict(X, group=sizes), trees.predict(X, group=sizes), atol=1e-5)
    toprank.export(trees, "lightgbm", tmp_path / "model.txt")
    assert np.allclose(toprank.load_lightgbm(tmp_path / "model.txt").predict(X, group=sizes), trees.predict(X, group=sizes))
    trees.save(tmp_path / "m.toprank")
    said(command, "export", "m.toprank", "--to", "lightgbm", "-o", "theirs.txt", cwd=tmp_path)
    assert (tmp_path / "theirs.txt").read_bytes() == (tmp_path / "model.txt").read_bytes()
    with pytest.raises(ValueError, match="unknown format"):
        trees.export("pmml", tmp_path / "x")


def test_tuning_gives_the_trials_of_the_command(written, command, tmp_path):
    file, X, y, sizes = written
    space = "data = 'data.txt'\nmodel = 'linear'\nepochs = 2\nobjective = 'listnet'\n[tune]\ntrials = 3\nfolds = 2\nseed = 4\n"
    space += "[space]\nlearning-rate = { from = 0.001, to = 0.1, scale = 'log' }\n"
    (tmp_path / "space.toml").write_text(space)
    theirs = said(command, "tune", "--config", "space.toml", "-o", "out", cwd=tmp_path)
    seen = []
    found = toprank.tune({"learning_rate": (0.001, 0.1, "log")}, X, y, group=sizes, model="linear", objective="listnet", epochs=2,
                         trials=3, folds=2, seed=4, callback=seen.append)  # fmt: skip
    assert [trial["value"] for trial in found.trials] == [trial["value"] for trial in theirs["trials"]] and len(seen) == 3
    assert found.settings["learning_rate"] == theirs["best"]["config"]["learning-rate"]
    toprank.Ranker(**found.settings).fit(X, y, group=sizes)
    with pytest.raises(ValueError, match="not a setting"):
        toprank.tune({"no_such": [1]}, X, y, group=sizes)
