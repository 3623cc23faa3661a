"""Ranker and Classifier: the models of the command, with scikit-learn's interface."""

import io
import pathlib
import pickle
import subprocess
import sys

import numpy as np
import pytest

import toprank
from toprank._frames import features_of

TREES = {"model": "trees", "trees": 15, "leaves": 7}


def write_letor(path, X, y, sizes):
    """Shortest texts that read back to the same f32."""
    qid = np.repeat(np.arange(len(sizes)), sizes)
    lines = []
    for row, label, q in zip(X, y, qid):
        features = " ".join(f"{place + 1}:{value}" for place, value in enumerate(row))
        lines.append(f"{label} qid:{q} {features}\n")
    path.write_text("".join(lines))


def test_a_ranker_orders_lists_it_has_not_seen(lists):
    X, y, sizes = lists()
    T, t, test_sizes = lists(seed=2)
    ranker = toprank.Ranker(**TREES, objective="ndcg@5").fit(X, y, group=sizes)
    assert ranker.score(T, t, group=test_sizes) > 0.85
    judged = toprank.evaluate(t, ranker.predict(T, group=test_sizes), group=test_sizes, metrics="ndcg@5")
    assert ranker.score(T, t, group=test_sizes) == judged["ndcg@5"]


def test_the_model_is_that_of_the_command_byte_for_byte(lists, command, predict, tmp_path):
    X, y, sizes = lists()
    V, v, valid_sizes = lists(30, seed=2)
    write_letor(tmp_path / "train.txt", X, y, sizes)
    write_letor(tmp_path / "valid.txt", V, v, valid_sizes)
    flags = "--model trees --objective ndcg@5 --trees 30 --leaves 7 --patience 5 --seed 9 -o command.toprank".split()
    call = [command, "train", "--data", "train.txt", "--valid", "valid.txt", *flags]
    subprocess.run(call, cwd=tmp_path, check=True, capture_output=True)
    ranker = toprank.Ranker("trees", "ndcg@5", trees=30, leaves=7, patience=5, seed=9)
    ranker.fit(X, y, group=sizes, eval_set=(V, v), eval_group=valid_sizes)
    ranker.save(tmp_path / "python.toprank")
    assert (tmp_path / "python.toprank").read_bytes() == (tmp_path / "command.toprank").read_bytes()
    predict(tmp_path, "python.toprank", "--data", "valid.txt", "-o", "scores.txt")
    loaded = toprank.Ranker.load(tmp_path / "command.toprank")
    scores = np.loadtxt(tmp_path / "scores.txt")
    assert np.array_equal(loaded.predict(V, group=valid_sizes), scores)
    assert loaded.get_params()["leaves"] is None and "leaves=7" in loaded.get_params()["model"]


def test_numbers_of_evaluation_are_those_of_the_command(lists, command, tmp_path):
    import json

    X, y, sizes = lists()
    write_letor(tmp_path / "d.txt", X, y, sizes)
    (tmp_path / "s.txt").write_text("".join(f"{score!r}\n" for score in X[:, 0].tolist()))
    call = [command, "evaluate", "--data", "d.txt", "--scores", "s.txt", "-m", "ndcg@10,map,auroc", "--json"]
    report = json.loads(subprocess.run(call, cwd=tmp_path, check=True, capture_output=True).stdout)
    ours = toprank.evaluate(y, X[:, 0], group=sizes, metrics="ndcg@10,map,auroc")
    assert ours.mean == report["metrics"]
    assert {m: {"low": a, "high": b} for m, (a, b) in ours.interval.items()} == {
        m: {"low": i["low"], "high": i["high"]} for m, i in report["intervals"].items()
    }


def test_the_best_round_on_eval_set_is_kept_and_the_history_shows_it(lists):
    X, y, sizes = lists()
    V, v, valid_sizes = lists(30, seed=2)
    ranker = toprank.Ranker("trees", "ndcg@5", trees=200, patience=3)
    ranker.fit(X, y, group=sizes, eval_set=[(V, v)], eval_group=[valid_sizes])
    values = [record["metrics"][0] for record in ranker.history_]
    assert len(values) < 200
    assert ranker.score(V, v, group=valid_sizes) == pytest.approx(max(values), abs=1e-12)


def test_frames_of_any_make_give_the_same_scores_and_names_are_checked(lists):
    pandas, polars, arrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    X, y, sizes = lists()
    qid = np.repeat(np.arange(sizes.size), sizes)
    frame = pandas.DataFrame(X, columns=list("abcde"))
    frame["word"] = np.where(X[:, 0] > 0, "high", "low")
    frame.loc[::7, "b"] = np.nan
    frame.loc[::11, "word"] = None
    ranker = toprank.Ranker(**TREES).fit(frame, y, qid=qid)
    want = ranker.predict(frame)
    assert list(ranker.feature_names_in_) == [*"abcde", "word"]
    for other in (polars.from_pandas(frame), arrow.table(frame), frame.astype({"word": "category"})):
        again = toprank.Ranker(**TREES).fit(other, y, qid=qid)
        assert np.array_equal(again.predict(other), want)
        assert np.array_equal(ranker.predict(other), want)
    assert np.array_equal(ranker.predict(frame[["word", *"edcba"]].assign(more=1.0)), want), "found by their names"
    with pytest.raises(ValueError, match="word"):
        ranker.predict(frame.drop(columns="word"))


class Frame:
    """The least that a frame of Arrow has."""

    def __init__(self, **columns):
        self.columns, self.column_names = columns, list(columns)

    def column(self, name):
        return self.columns[name]

    def __len__(self):
        return len(next(iter(self.columns.values())))


def test_codes_of_strings_follow_their_sorted_order_whatever_the_order_of_rows():
    words = np.array(["red", "Blue", None, "木", "10", "blue", "9", "é", "red"], dtype=object)
    levels = sorted({word for word in words if word is not None}, key=lambda word: word.encode())
    want = [np.nan if word is None else levels.index(word) for word in words]
    for order in (np.arange(9), np.arange(9)[::-1], np.random.default_rng(3).permutation(9)):
        found = features_of(Frame(word=words[order], number=np.arange(9.0)[order]))
        assert found.levels == {0: levels}
        np.testing.assert_array_equal(found.values[np.argsort(order), 0], np.array(want, dtype=np.float32))


def test_a_column_of_strings_and_numbers_is_refused_whichever_comes_first():
    for words, what in ((["a", 1.0], "strings and, in row 1, 1.0"), ([1.0, None, "a"], "numbers and, in row 2, 'a'")):
        with pytest.raises(TypeError, match=f"column word has {what}"):
            features_of(Frame(word=np.array(words, dtype=object)))


def test_missing_values_are_learned_from(lists):
    X, y, sizes = lists()
    holes = X.copy()
    holes[y == 0, 0] = np.nan
    ranker = toprank.Ranker(**TREES).fit(holes, y, group=sizes)
    assert ranker.score(holes, y, group=sizes) > toprank.Ranker(**TREES).fit(X, y, group=sizes).score(X, y, group=sizes) - 0.1


def test_settings_may_be_numbers_of_numpy(lists):
    X, y, sizes = lists(5)
    ranker = toprank.Ranker("trees", trees=np.int64(3), learning_rate=np.float32(0.5)).fit(X, y, group=sizes)
    assert ranker.config_["learning-rate"] == 0.5 and len(ranker.history_) == 3


def test_weights_of_rows_and_of_lists_change_the_model(lists):
    X, y, sizes = lists()
    plain = toprank.Ranker(**TREES).fit(X, y, group=sizes).predict(X)
    by_list = toprank.Ranker(**TREES).fit(X, y, group=sizes, sample_weight=np.arange(1, len(sizes) + 1))
    one = toprank.Ranker(**TREES).fit(X, y, group=sizes, sample_weight=np.ones(len(sizes)))
    assert np.array_equal(one.predict(X), plain)
    assert not np.array_equal(by_list.predict(X), plain)


def test_a_fitted_ranker_survives_pickling_and_cloning(lists):
    X, y, sizes = lists()
    ranker = toprank.Ranker(**TREES, seed=3).fit(X, y, group=sizes)
    again = pickle.loads(pickle.dumps(ranker))
    assert np.array_equal(again.predict(X), ranker.predict(X))
    assert again.get_params() == ranker.get_params()
    base = pytest.importorskip("sklearn.base")
    fresh = base.clone(ranker)
    assert not hasattr(fresh, "model_")
    assert np.array_equal(fresh.fit(X, y, group=sizes).predict(X), ranker.predict(X))
    assert ranker.set_params(leaves=4).leaves == 4


def test_a_grid_search_with_folds_of_lists_finds_the_better_setting(lists):
    pandas = pytest.importorskip("pandas")
    selection = pytest.importorskip("sklearn.model_selection")
    X, y, sizes = lists()
    frame = pandas.DataFrame(X, columns=list("abcde"))
    frame["query"] = np.repeat(np.arange(sizes.size), sizes)
    search = selection.GridSearchCV(
        toprank.Ranker(**TREES, list_column="query"), {"learning_rate": [0.001, 0.3]}, cv=selection.GroupKFold(3)
    )
    search.fit(frame, y, groups=frame["query"])
    assert search.best_params_ == {"learning_rate": 0.3}
    assert 0.5 < search.best_score_ < 1


def test_a_grid_search_with_routed_names_of_lists(lists):
    sklearn = pytest.importorskip("sklearn")
    from sklearn.model_selection import GridSearchCV, GroupKFold

    X, y, sizes = lists()
    qid = np.repeat(np.arange(sizes.size), sizes)
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = toprank.Ranker(**TREES).set_fit_request(qid=True).set_score_request(qid=True)
        search = GridSearchCV(ranker, {"learning_rate": [0.001, 0.3]}, cv=GroupKFold(3))
        search.fit(X, y, groups=qid, qid=qid)
    assert search.best_params_ == {"learning_rate": 0.3}


def test_a_classifier_gives_calibrated_probabilities_of_its_classes():
    random = np.random.default_rng(4)
    X = random.normal(size=(600, 4))
    truth = 1 / (1 + np.exp(-2 * X[:, 0] + X[:, 1]))
    y = np.where(random.random(600) < truth, "yes", "no")
    model = toprank.Classifier(**TREES).fit(X, y)
    assert list(model.classes_) == ["no", "yes"]
    found = model.predict_proba(X)
    assert found.shape == (600, 2) and np.allclose(found.sum(axis=1), 1)
    # Fitted to held-out rows, probabilities do not lean to one side: their mean is the fraction of positives.
    assert abs(found[:, 1].mean() - (y == "yes").mean()) < 0.05
    assert np.array_equal(model.predict(X), model.classes_[(found[:, 1] > 0.5).astype(int)])
    assert np.corrcoef(found[:, 1], truth)[0, 1] > 0.8
    assert np.array_equal(np.argsort(model.decision_function(X)), np.argsort(model.decision_function(X)))
    assert model.oof_scores_.shape == (600,)
    assert model.score(X, y) > 0.7


def test_several_labels_over_the_same_rows_are_outputs_of_one_model():
    random = np.random.default_rng(5)
    X = random.normal(size=(400, 3))
    y = np.stack([X[:, 0] > 0, X[:, 1] > 0.5], axis=1).astype(float)
    y[::9, 1] = np.nan
    model = toprank.Classifier(**TREES, calibrate="none").fit(X, y)
    scores = model.decision_function(X)
    assert scores.shape == (400, 2)
    for label in range(2):
        judged = ~np.isnan(y[:, label])
        assert toprank.evaluate(y[judged, label], scores[judged, label], metrics="auroc")["auroc"] > 0.98
    with pytest.raises(ValueError, match="calibrated"):
        model.predict_proba(X)


def test_the_models_of_a_classifier_are_those_of_the_command(command, tmp_path):
    random = np.random.default_rng(6)
    X = random.normal(size=(200, 3)).astype(np.float32)
    y = (X[:, 0] > 0.3).astype(int)
    rows = [f"{a},{b},{c},{label}\n" for (a, b, c), label in zip(X, y)]
    (tmp_path / "d.csv").write_text("a,b,c,label\n" + "".join(rows))
    flags = "--model trees --objective auprc --trees 8 --leaves 5 --folds 3 --seed 2 -o command.toprank".split()
    call = [command, "train", "--data", "d.csv", "--label", "label", *flags]
    subprocess.run(call, cwd=tmp_path, check=True, capture_output=True)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    model = toprank.Classifier("trees", "auprc", trees=8, leaves=5, folds=3, seed=2).fit(frame, y)
    model.save(tmp_path / "python.toprank")
    assert (tmp_path / "python.toprank").read_bytes() == (tmp_path / "command.toprank").read_bytes()
    assert np.array_equal(np.loadtxt(tmp_path / "command.toprank.oof.txt"), model.oof_scores_)


@pytest.mark.parametrize(
    ("params", "change", "words"),
    [
        ({"learning_rate": -1.0}, {}, "learning-rate must be a number above 0, but is -1"),
        ({"objective": "ndgc"}, {}, "ndcg"),
        ({"model": "tree"}, {}, "model must be|trees"),
        ({"optimiser": "adam"}, {}, "optimiser must be omitted: trees are boosted"),
        ({"trees": "3"}, {}, r"trees: found '3' \(str\), expected an integer of 0 or above"),
        ({"trees": 3.5}, {}, r"trees: found 3.5 \(float\), expected an integer of 0 or above"),
        ({"learning_rate": True}, {}, "learning_rate: found True"),
        ({}, {"y": [1, 2]}, "rows and y 2 labels"),
        ({}, {"X": [1.0, 2.0]}, r"X: found the shape \(2,\)"),
        ({}, {"group": [1]}, "add up to 1"),
        ({}, {"y": None}, "requires y"),
        ({}, {"sample_weight": [1.0]}, "sample_weight: found 1 numbers"),
        ({}, {"eval_set": (1, 2, 3)}, "one pair"),
        ({"list_column": "q"}, {"group": None}, "has no column q"),
    ],
)
def test_what_cannot_be_learned_is_a_clear_exception(lists, params, change, words):
    X, y, sizes = lists(5)
    call = {"X": X, "y": y, "group": sizes, **change}
    with pytest.raises((ValueError, TypeError), match=words):
        toprank.Ranker(**{**TREES, **params}).fit(**call)


def test_what_cannot_be_scored_is_a_clear_exception(lists, tmp_path):
    X, y, sizes = lists(5)
    ranker = toprank.Ranker(**TREES)
    with pytest.raises(ValueError, match="not fitted"):
        ranker.predict(X)
    ranker.fit(X, y, group=sizes)
    with pytest.raises(ValueError, match="X has 4 features, but Ranker is expecting 5"):
        ranker.predict(X[:, :4])
    with pytest.raises(ValueError, match="row 0 has inf"):
        ranker.predict(np.full_like(X, np.inf))
    with pytest.raises(OSError, match="nothing.toprank"):
        toprank.Ranker.load(tmp_path / "nothing.toprank")
    (tmp_path / "odd.toprank").write_bytes(b"something else")
    with pytest.raises(ValueError, match="odd.toprank"):
        toprank.Ranker.load(tmp_path / "odd.toprank")


LONG_FIT = """
import numpy as np, sys, toprank
from toprank import Ranker  # its packages are imported before the clock starts
random = np.random.default_rng(1)
X = random.normal(size=(20000, 20)); y = random.integers(0, 3, 20000)
print("ready", flush=True)
try:
    Ranker("trees", trees=1000000).fit(X, y, group=[20] * 1000)
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
def test_ctrl_c_stops_a_fit(interrupted):
    assert interrupted(LONG_FIT) == "stopped\n"


def test_progress_is_shown_when_asked_for(lists, capsys):
    X, y, sizes = lists(5)
    toprank.Ranker(**TREES, verbose=True).fit(X, y, group=sizes)
    assert "step 15 of 15" in capsys.readouterr().err
    toprank.Ranker(**TREES).fit(X, y, group=sizes)
    assert capsys.readouterr().err == ""


def test_progress_is_shown_in_terminals_and_notebooks_and_nowhere_else(monkeypatch):
    from toprank._progress import progress

    class Screen(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert not progress(None).wanted
    assert progress(True).wanted
    monkeypatch.setitem(sys.modules, "ipykernel", object())
    assert progress(None).wanted and not progress(False).wanted
    monkeypatch.delitem(sys.modules, "ipykernel")
    monkeypatch.setattr(sys, "stderr", Screen())
    shown = progress(None)
    assert shown.wanted
    with shown:
        shown.show(1, 10, 1, 0.5, None)
        assert sys.stderr.getvalue() == "", "nothing within the first second"
        shown.after = 0.0
        shown.show(2, 10, 1, 0.25, 0.75)
        shown.show(3, None, None, 0.2, None)
    first, second = sys.stderr.getvalue().strip("\r\n").split("\r")
    assert first == "step 2 of 10, epoch 1, loss 0.25, validation 0.7500"
    assert second.rstrip() == "step 3, loss 0.2" and len(second) == len(first), "what was longer is wiped out"


def test_the_package_asks_for_nothing_but_numpy():
    heavy = "sklearn pandas polars pyarrow torch lightgbm xgboost scipy".split()
    code = f"import sys, toprank; print([name for name in {heavy} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout == "[]\n"
    assert pathlib.Path(toprank.__file__).with_name("py.typed").exists()
