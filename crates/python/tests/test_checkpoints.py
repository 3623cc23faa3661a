"""Fits that are interrupted and resumed."""

import sys

import numpy as np
import pytest

import toprank
from toprank import _progress


@pytest.fixture
def stop_after(monkeypatch):
    """Lets fits with verbose=True raise after so many steps."""

    def stop(steps):
        def show(self, step, *_):
            if step >= steps:
                raise KeyboardInterrupt

        monkeypatch.setattr(_progress.progress, "show", show)

    return stop


def ranker(verbose=False, **more):
    return toprank.Ranker("trees", "ndcg@5", trees=400, patience=0, seed=4, verbose=verbose, **more)


def binary(rows=600):
    random = np.random.default_rng(6)
    X = random.normal(size=(rows, 3)).astype(np.float32)
    return X, (X[:, 0] + 0.5 * random.normal(size=rows) > 0.3).astype(int)


def test_a_resumed_fit_ends_in_the_bytes_of_an_uninterrupted_one(lists, tmp_path, stop_after):
    X, y, sizes = lists(200)
    V, v, valid_sizes = lists(30, seed=2)
    data = {"X": X, "y": y, "group": sizes, "eval_set": (V, v), "eval_group": valid_sizes}
    whole = ranker().fit(**data)
    whole.save(tmp_path / "whole.toprank")
    model, checkpoint = tmp_path / "run.toprank", tmp_path / "run.toprank.checkpoint"
    stop_after(20)
    with pytest.raises(KeyboardInterrupt):
        ranker(verbose=True).fit(**data, checkpoint=model)
    assert checkpoint.exists() and not model.exists()
    resumed = ranker().fit(**data, checkpoint=model, resume=True)
    assert model.read_bytes() == (tmp_path / "whole.toprank").read_bytes()
    assert not checkpoint.exists(), "removed once the model is whole"
    assert resumed.history_ == whole.history_
    assert np.array_equal(resumed.predict(V), whole.predict(V))
    resumed.save(tmp_path / "again.toprank")
    assert (tmp_path / "again.toprank").read_bytes() == model.read_bytes()


def test_a_classifier_is_resumed_in_the_midst_of_its_folds(tmp_path, stop_after):
    X, y = binary()
    make = lambda verbose=False: toprank.Classifier("trees", trees=150, folds=3, patience=0, verbose=verbose)
    whole = make().fit(X, y, checkpoint=tmp_path / "whole.toprank")
    stop_after(20)
    with pytest.raises(KeyboardInterrupt):
        make(verbose=True).fit(X, y, checkpoint=tmp_path / "run.toprank")
    resumed = make().fit(X, y, checkpoint=tmp_path / "run.toprank", resume=True)
    assert (tmp_path / "run.toprank").read_bytes() == (tmp_path / "whole.toprank").read_bytes()
    assert np.array_equal(resumed.oof_scores_, whole.oof_scores_)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.toprank", "whole.toprank"]


@pytest.mark.skipif(not toprank._toprank.neural, reason="the package was built without networks")
def test_a_network_is_resumed_to_the_same_bytes(lists, tmp_path, stop_after):
    X, y, sizes = lists(200)
    make = lambda verbose=False: toprank.Ranker("mlp:hidden=16", "song", epochs=30, verbose=verbose)
    make().fit(X, y, group=sizes, checkpoint=tmp_path / "whole.toprank")
    stop_after(5)
    with pytest.raises(KeyboardInterrupt):
        make(verbose=True).fit(X, y, group=sizes, checkpoint=tmp_path / "run.toprank")
    make().fit(X, y, group=sizes, checkpoint=tmp_path / "run.toprank", resume=True)
    assert (tmp_path / "run.toprank").read_bytes() == (tmp_path / "whole.toprank").read_bytes()


def test_an_exception_at_the_last_step_of_a_fold_is_not_lost(monkeypatch):
    X, y = binary(100)

    def show(self, step, steps, *_):
        if step == steps and not seen:
            seen.append(step)
            raise RuntimeError("stop here")

    seen = []
    monkeypatch.setattr(_progress.progress, "show", show)
    with pytest.raises(RuntimeError, match="stop here"):
        toprank.Classifier("trees", trees=3, folds=3, verbose=True).fit(X, y)


def test_what_cannot_be_resumed_is_a_clear_exception(lists, tmp_path, stop_after):
    X, y, sizes = lists(200)
    model = tmp_path / "run.toprank"
    with pytest.raises(ValueError, match="resume: found no checkpoint beside it"):
        ranker().fit(X, y, group=sizes, resume=True)
    with pytest.raises(FileNotFoundError, match=r"run.toprank.checkpoint: there is no such file.*omit resume"):
        ranker().fit(X, y, group=sizes, checkpoint=model, resume=True)
    stop_after(5)
    with pytest.raises(KeyboardInterrupt):
        ranker(verbose=True).fit(X, y, group=sizes, checkpoint=model)
    with pytest.raises(ValueError, match="a checkpoint of another config"):
        ranker(leaves=3).fit(X, y, group=sizes, checkpoint=model, resume=True)
    with pytest.raises(ValueError, match="the training data changed"):
        ranker().fit(X, np.roll(y, 1), group=sizes, checkpoint=model, resume=True)
    ranker().fit(X, y, group=sizes, checkpoint=model, resume=True)
    with pytest.raises(FileNotFoundError, match="run.toprank is finished: load it"):
        ranker().fit(X, y, group=sizes, checkpoint=model, resume=True)
    with pytest.raises(OSError, match="nowhere"):
        ranker().fit(X, y, group=sizes, checkpoint=tmp_path / "nowhere" / "run.toprank")


LONG_FIT = """
import numpy as np, toprank
from toprank import Ranker
random = np.random.default_rng(1)
X = random.normal(size=(20000, 20)); y = random.integers(0, 3, 20000)
print("ready", flush=True)
try:
    Ranker("trees", trees=1000000).fit(X, y, group=[20] * 1000, checkpoint={model!r})
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
def test_ctrl_c_leaves_the_checkpoint(interrupted, tmp_path):
    model, checkpoint = tmp_path / "run.toprank", tmp_path / "run.toprank.checkpoint"
    assert interrupted(LONG_FIT.format(model=str(model)), begun=checkpoint) == "stopped\n"
    assert checkpoint.exists() and not model.exists()
