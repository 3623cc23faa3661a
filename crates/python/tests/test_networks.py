"""Networks: the command's models, byte for byte, with scikit-learn's interface."""

import pickle
import subprocess

import numpy as np
import pytest

import toprank
from test_estimators import write_letor

pytestmark = pytest.mark.skipif(not toprank._toprank.neural, reason="the package was built without networks")

MODELS = ["linear", "mlp:hidden=8-4", "context:width=8:heads=2:blocks=1"]


@pytest.fixture(scope="module")
def data(lists):
    return (*lists(), *lists(30, seed=2))


@pytest.mark.parametrize("model", MODELS)
def test_the_network_is_that_of_the_command_byte_for_byte(data, command, predict, tmp_path, model):
    X, y, sizes, V, v, valid_sizes = data
    write_letor(tmp_path / "train.txt", X, y, sizes)
    write_letor(tmp_path / "valid.txt", V, v, valid_sizes)
    flags = f"--model {model} --objective ndcg@5 --epochs 4 --seed 9 -o command.toprank".split()
    call = [command, "train", "--data", "train.txt", "--valid", "valid.txt", *flags]
    subprocess.run(call, cwd=tmp_path, check=True, capture_output=True)
    ranker = toprank.Ranker(model, "ndcg@5", epochs=4, seed=9)
    ranker.fit(X, y, group=sizes, eval_set=(V, v), eval_group=valid_sizes)
    ranker.save(tmp_path / "python.toprank")
    assert (tmp_path / "python.toprank").read_bytes() == (tmp_path / "command.toprank").read_bytes()
    predict(tmp_path, "python.toprank", "--data", "valid.txt", "-o", "scores.txt")
    loaded = toprank.Ranker.load(tmp_path / "command.toprank")
    assert np.array_equal(loaded.predict(V, group=valid_sizes), np.loadtxt(tmp_path / "scores.txt"))


@pytest.mark.parametrize("model", MODELS)
def test_networks_learn_and_want_to_know_their_lists(data, model):
    X, y, sizes, V, v, valid_sizes = data
    ranker = toprank.Ranker(model, "ndcg@5", epochs=15, learning_rate=0.01).fit(X, y, group=sizes)
    untrained = toprank.Ranker(model, "ndcg@5", epochs=1, learning_rate=1e-9).fit(X, y, group=sizes)
    assert ranker.score(V, v, group=valid_sizes) > untrained.score(V, v, group=valid_sizes) + 0.05
    assert ranker.history_[-1]["loss"] < ranker.history_[0]["loss"]
    with pytest.raises(ValueError, match="looks at whole lists"):
        ranker.predict(X)


@pytest.mark.parametrize("model", MODELS)
def test_a_fitted_network_survives_pickling_and_cloning(data, model):
    X, y, sizes, *_ = data
    ranker = toprank.Ranker(model, "ndcg@5", epochs=2, seed=3).fit(X, y, group=sizes)
    again = pickle.loads(pickle.dumps(ranker))
    assert np.array_equal(again.predict(X, group=sizes), ranker.predict(X, group=sizes))
    base = pytest.importorskip("sklearn.base")
    fresh = base.clone(ranker)
    assert not hasattr(fresh, "model_")
    assert np.array_equal(fresh.fit(X, y, group=sizes).predict(X, group=sizes), ranker.predict(X, group=sizes))


def test_the_best_epoch_on_eval_set_is_kept(data):
    X, y, sizes, V, v, valid_sizes = data
    ranker = toprank.Ranker("mlp:hidden=16", "ndcg@5", epochs=40, patience=3, learning_rate=0.03)
    ranker.fit(X, y, group=sizes, eval_set=(V, v), eval_group=valid_sizes)
    values = [record["metrics"][0] for record in ranker.history_]
    assert ranker.score(V, v, group=valid_sizes) == pytest.approx(max(values), abs=1e-12)


def test_weights_of_rows_and_lists_change_a_network_and_ones_do_not(data):
    X, y, sizes, *_ = data
    fit = lambda **weights: toprank.Ranker("linear", "listnet", epochs=2).fit(X, y, group=sizes, **weights).predict(X, group=sizes)
    plain = fit()
    assert np.array_equal(fit(sample_weight=np.ones(len(sizes))), plain)
    assert not np.array_equal(fit(sample_weight=np.arange(1, len(sizes) + 1)), plain)
    assert not np.array_equal(fit(sample_weight=np.arange(1, len(y) + 1)), plain)


def test_a_network_keeps_the_names_of_frames(data):
    pandas, polars, arrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    X, y, sizes, *_ = data
    qid = np.repeat(np.arange(sizes.size), sizes)
    frame = pandas.DataFrame(X, columns=list("abcde"))
    frame.loc[::7, "b"] = np.nan
    make = lambda: toprank.Ranker("mlp:hidden=8", "ndcg@5", epochs=2)
    ranker = make().fit(frame, y, qid=qid)
    want = ranker.predict(frame, qid=qid)
    assert np.all(np.isfinite(want)), "missing values are filled by the transforms"
    for other in (polars.from_pandas(frame), arrow.table(frame)):
        assert np.array_equal(make().fit(other, y, qid=qid).predict(other, qid=qid), want)
    assert np.array_equal(ranker.predict(frame[list("edcba")], qid=qid), want), "columns are found by their names"
    with pytest.raises(ValueError, match="c"):
        ranker.predict(frame.drop(columns="c"), qid=qid)


def test_a_grid_search_over_networks_with_folds_of_lists(data):
    pandas = pytest.importorskip("pandas")
    selection = pytest.importorskip("sklearn.model_selection")
    X, y, sizes, *_ = data
    frame = pandas.DataFrame(X, columns=list("abcde"))
    frame["query"] = np.repeat(np.arange(sizes.size), sizes)
    ranker = toprank.Ranker("linear", "ndcg@5", epochs=5, list_column="query")
    search = selection.GridSearchCV(ranker, {"learning_rate": [1e-9, 0.03]}, cv=selection.GroupKFold(3))
    search.fit(frame, y, groups=frame["query"])
    assert search.best_params_ == {"learning_rate": 0.03}


def binary(rows=300, seed=6):
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, 3)).astype(np.float32)
    return X, (X[:, 0] + 0.5 * random.normal(size=rows) > 0.3).astype(int)


@pytest.mark.parametrize("model", ["linear", "mlp:hidden=8"])
def test_a_network_on_binary_data_is_that_of_the_command(command, predict, tmp_path, model):
    pandas = pytest.importorskip("pandas")
    X, y = binary()
    rows = [f"{a},{b},{c},{label}\n" for (a, b, c), label in zip(X, y)]
    (tmp_path / "d.csv").write_text("a,b,c,label\n" + "".join(rows))
    flags = f"--model {model} --objective auprc --epochs 3 --folds 3 --seed 2 -o command.toprank".split()
    call = [command, "train", "--data", "d.csv", "--label", "label", *flags]
    subprocess.run(call, cwd=tmp_path, check=True, capture_output=True)
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    fitted = toprank.Classifier(model, "auprc", epochs=3, folds=3, seed=2).fit(frame, y)
    fitted.save(tmp_path / "python.toprank")
    assert (tmp_path / "python.toprank").read_bytes() == (tmp_path / "command.toprank").read_bytes()
    assert np.array_equal(np.loadtxt(tmp_path / "command.toprank.oof.txt"), fitted.oof_scores_)
    predict(tmp_path, "command.toprank", *"--data d.csv --label label --probability -o p.txt".split())
    assert np.array_equal(fitted.predict_proba(frame)[:, 1], np.loadtxt(tmp_path / "p.txt"))


def test_defaults_that_depend_on_validation_data_are_those_of_the_command(command, tmp_path):
    pandas = pytest.importorskip("pandas")
    parts = {"train": binary(80), "valid": binary(80, seed=7)}
    for name, (X, y) in parts.items():
        rows = [f"{a},{b},{c},{label}\n" for (a, b, c), label in zip(X, y)]
        (tmp_path / f"{name}.csv").write_text("a,b,c,label\n" + "".join(rows))
    flags = "--data train.csv --valid valid.csv --label label --model linear --objective auprc -o command.toprank".split()
    subprocess.run([command, "train", *flags], cwd=tmp_path, check=True, capture_output=True)
    (X, y), (V, v) = ((pandas.DataFrame(X, columns=["a", "b", "c"]), y) for X, y in parts.values())
    fitted = toprank.Classifier("linear", "auprc").fit(X, y, eval_set=(V, v))
    fitted.save(tmp_path / "python.toprank")
    assert (tmp_path / "python.toprank").read_bytes() == (tmp_path / "command.toprank").read_bytes()
    assert fitted.config_["epochs"] == 100, "and not 20, as without validation data"


def test_a_network_on_several_labels_is_that_of_the_command(command, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, _ = binary()
    labels = np.stack([X[:, 0] > 0, X[:, 1] > 0.5], axis=1).astype(int)
    rows = [f"{a},{b},{c},{one},{two}\n" for (a, b, c), (one, two) in zip(X, labels)]
    (tmp_path / "d.csv").write_text("a,b,c,one,two\n" + "".join(rows))
    flags = "--model mlp:hidden=8 --objective auroc --epochs 3 --folds 3 --seed 2 -o command.toprank".split()
    call = [command, "train", "--data", "d.csv", "--labels", "one,two", *flags]
    subprocess.run(call, cwd=tmp_path, check=True, capture_output=True)
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    fitted = toprank.Classifier("mlp:hidden=8", "auroc", epochs=3, folds=3, seed=2)
    fitted.fit(frame, pandas.DataFrame(labels, columns=["one", "two"]))
    fitted.save(tmp_path / "python.toprank")
    assert (tmp_path / "python.toprank").read_bytes() == (tmp_path / "command.toprank").read_bytes()
    found = fitted.predict_proba(frame)
    assert found.shape == (300, 2) and np.all((found >= 0) & (found <= 1))
    # Fitted to rows that were held out, probabilities agree with the fraction of positives of each label.
    assert np.abs(found.mean(axis=0) - labels.mean(axis=0)).max() < 0.1
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.decision_function(frame), fitted.decision_function(frame))
    assert again.outputs_ == ["one", "two"]


def test_a_network_classifies_with_an_eval_set_and_weights():
    X, y = binary()
    V, v = binary(seed=7)
    model = toprank.Classifier("mlp:hidden=8", "auroc", epochs=10)
    model.fit(X, y, eval_set=(V, v), sample_weight=np.where(y == 1, 2.0, 1.0))
    judged = toprank.evaluate(v, model.decision_function(V), metrics="auroc")
    assert judged["auroc"] > 0.85
    assert abs(model.predict_proba(V)[:, 1].mean() - v.mean()) < 0.05
    assert model.score(V, v) > 0.7
