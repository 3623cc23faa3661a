"""`toprank.Embedder`: the command's embedding."""

import pickle
import subprocess

import numpy as np
import pytest

import toprank

QUICK = dict(model="linear", dimensions=4, epochs=3, seed=2)


@pytest.fixture(scope="module")
def letters():
    """Rows of ten named classes."""
    random = np.random.default_rng(1)
    centres = 2 * random.normal(size=(10, 6))
    classes = random.integers(0, 10, 120)
    X = (centres[classes] + random.normal(size=(120, 6))).round(3).astype(np.float32)
    return X, np.array([f"class-{c}" for c in classes])


@pytest.fixture(scope="module")
def fitted(letters):
    return toprank.Embedder(**QUICK).fit(*letters)


def test_the_model_is_the_commands_to_the_byte(letters, command, tmp_path):
    X, y = letters
    names = [f"f{place}" for place in range(X.shape[1])]
    lines = [",".join([name, *(str(value) for value in row)]) for name, row in zip(y, X)]
    (tmp_path / "data.csv").write_text("\n".join([",".join(["who", *names]), *lines]) + "\n")
    words = ["embed", "train", "--data", "data.csv", "--class", "who", "--model", "linear", "--dimensions", "4", "--epochs", "3"]
    subprocess.run([command, *words, "--seed", "2", "-o", "theirs"], cwd=tmp_path, check=True, capture_output=True)
    pandas = pytest.importorskip("pandas")
    ours = toprank.Embedder(**QUICK).fit(pandas.DataFrame(X, columns=names), y)
    ours.save(tmp_path / "ours")
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
    subprocess.run([command, "embed", "apply", "ours", "--data", "data.csv", "-o", "v.npy"], cwd=tmp_path, check=True, capture_output=True)
    assert np.array_equal(np.load(tmp_path / "v.npy"), ours.transform(pandas.DataFrame(X, columns=names)))


def test_vectors_have_length_one_and_a_search_finds_what_numpy_finds(letters, fitted):
    X, y = letters
    vectors = fitted.transform(X)
    assert vectors.shape == (len(X), 4) and np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    numbers, similarities = fitted.search(vectors[:7], vectors, k=3)
    expected = vectors[:7] @ vectors.T
    assert np.allclose(similarities, np.sort(expected)[:, ::-1][:, :3], atol=1e-6)
    assert np.allclose(np.take_along_axis(expected, numbers.astype(int), 1), similarities, atol=1e-6)
    alone, _ = fitted.search(vectors, k=2)
    assert alone.shape == (len(X), 2) and not np.any(alone == np.arange(len(X))[:, None])


def test_it_evaluates_by_classes_and_keeps_which_class_is_in_which_part(letters, fitted):
    X, y = letters
    parts = fitted.classes_
    assert len(parts["train"]) == 8 and len(parts["valid"]) == 2 and not set(parts["train"]) & set(parts["valid"])
    among = fitted.evaluate(X, y, metrics="success@1", replicates=0)
    vectors = fitted.transform(X)
    nearest, _ = fitted.search(vectors, k=1)
    assert among["success@1"] == pytest.approx(np.mean(y[nearest[:, 0]] == y))
    held = fitted.evaluate(X[:20], y[:20], gallery=(X[20:], y[20:]), metrics=["map"])
    assert 0 < held["map"] <= 1 and fitted.score(X, y) > 0


def test_numbered_classes_validation_pickles_and_callbacks(letters, tmp_path):
    X, y = letters
    numbered = np.unique(y, return_inverse=True)[1]
    seen = []
    model = toprank.Embedder(**QUICK).fit(X[:80], numbered[:80], eval_set=(X[80:], numbered[80:]), callbacks=seen.append)
    assert [epoch.epoch for epoch in seen] == [1, 2, 3] and seen[-1].metric is not None
    assert np.array_equal(pickle.loads(pickle.dumps(model)).transform(X), model.transform(X))
    model.save(tmp_path / "emb")
    assert np.array_equal(toprank.Embedder.load(tmp_path / "emb").transform(X), model.transform(X))


def test_what_is_no_class_or_no_vector_is_refused(letters, fitted):
    X, y = letters
    with pytest.raises(ValueError, match="expected the class of each of"):
        toprank.Embedder().fit(X, y[:3])
    with pytest.raises(ValueError, match="expecting 6 features"):
        fitted.transform(X[:, :2])
    with pytest.raises(ValueError, match="not fitted"):
        toprank.Embedder().transform(X)
