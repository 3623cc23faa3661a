"""`toprank.Recommender`: the command's recommender."""

import json
import pickle
import subprocess

import numpy as np
import pytest

import toprank

QUICK = dict(epochs=2, seed=3)


@pytest.fixture(scope="module")
def rows():
    """Interactions (user, item, rating, time), in time order."""
    random = np.random.default_rng(1)
    pairs = {(int(u), int(i)) for u, i in zip(random.integers(0, 25, 400), random.integers(0, 30, 400))}
    return [(f"u{u}", f"i{i}", 1.0 + (u + i) % 5, float(t)) for t, (u, i) in enumerate(sorted(pairs, key=lambda p: (p[1] * 7 + p[0]) % 97))]


@pytest.fixture(scope="module")
def table(rows, tmp_path_factory):
    file = tmp_path_factory.mktemp("data") / "interactions.csv"
    file.write_text("user,item,rating,time\n" + "".join(f"{u},{i},{r:g},{t:g}\n" for u, i, r, t in rows))
    return file


@pytest.fixture(scope="module")
def fitted(rows):
    return toprank.Recommender("mf:width=4", **QUICK).fit(rows)


@pytest.mark.parametrize("model", ["mf:width=4", "neumf"])
def test_the_model_is_the_commands_to_the_byte(model, rows, table, command, tmp_path):
    words = ["recommend", "train", "--data", table, "--model", model, "--epochs", "2", "--seed", "3", "-o", tmp_path / "theirs"]
    subprocess.run([command, *map(str, words)], check=True, capture_output=True)
    toprank.Recommender(model, **QUICK).fit(rows).save(tmp_path / "ours")
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


def test_it_evaluates_and_recommends_as_the_command_does(fitted, command, tmp_path):
    fitted.save(tmp_path / "rec")

    def said(*words):
        run = subprocess.run([command, "recommend", *map(str, words), "--json"], check=True, capture_output=True, text=True)
        return json.loads(run.stdout)

    theirs = said("evaluate", tmp_path / "rec", "--metrics", "ndcg@10,recall@20")
    ours = fitted.evaluate("ndcg@10,recall@20")
    assert dict(ours) == theirs["metrics"] and ours.beyond == theirs["beyond"]
    top = said("top", tmp_path / "rec", "--user", "u3", "--k", "4")
    assert fitted.recommend(["u3"], k=4).items_of("u3") == [line["item"] for line in top["top"][0]["items"]]
    loaded = toprank.Recommender.load(tmp_path / "rec")
    assert loaded.recommend(["u3"], 4) == fitted.recommend(["u3"], 4) and loaded.model == "mf:width=4"


def test_recommendations_are_unseen_allowed_and_for_anybody(fitted, rows):
    seen = {item for user, item, *_ in rows if user == "u3"}
    top = fitted.recommend(["u3", "u4"], k=5)
    assert list(top) == ["u3", "u4"] and not seen & set(top.items_of("u3")) and len(top["u4"]) == 5
    allowed = [item for item in fitted.items_ if item not in seen][:3]
    assert set(fitted.recommend(["u3"], 9, filter=allowed).items_of("u3")) == set(allowed)
    assert set(fitted.recommend(["u3"], 9, filter=lambda item: item in allowed).items_of("u3")) == set(allowed)
    new = fitted.recommend_new({"guest": ["i1", "i2"], "nobody": []}, k=3)
    assert not {"i1", "i2"} & set(new.items_of("guest")) and new.by_popularity == {"nobody"}
    like = fitted.similar_items(["i1"], k=3)
    assert len(like["i1"]) == 3 and "i1" not in like.items_of("i1")
    vectors = fitted.vectors()
    assert vectors.shape[0] == len(fitted.items_) and vectors.dtype == np.float32
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = unit @ unit[list(fitted.items_).index("i1")]
    cosines[list(fitted.items_).index("i1")] = -2
    assert fitted.items_[np.argmax(cosines)] == like.items_of("i1")[0]


def test_numbers_stay_numbers_and_matrices_are_read(rows):
    numbers = [(int(u[1:]), int(i[1:])) for u, i, *_ in rows]
    plain = toprank.Recommender("mf:width=4", split="none", epochs=1).fit(numbers)
    top = plain.recommend([3], k=2)
    assert list(top) == [3] and all(isinstance(item, int) for item in top.items_of(3))
    scipy = pytest.importorskip("scipy.sparse")
    users, items = map(np.array, zip(*sorted(numbers)))
    matrix = scipy.csr_matrix((np.ones(len(users)), (users, items)))
    by_matrix = toprank.Recommender("mf:width=4", split="none", epochs=1).fit(matrix)
    assert set(by_matrix.users_) == set(users.tolist()) and len(by_matrix.recommend([3], 2)[3]) == 2


def test_frames_are_read_by_the_usual_names_of_columns(rows, fitted):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(rows, columns=["user_id", "item_id", "rating", "timestamp"])
    assert toprank.Recommender("mf:width=4", **QUICK).fit(frame).recommend(["u3"]) == fitted.recommend(["u3"])
    other = frame.rename(columns={"user_id": "who", "item_id": "what"})
    with pytest.raises(ValueError, match="expected one called user_id or user"):
        toprank.Recommender().fit(other)
    named = toprank.Recommender("mf:width=4", **QUICK).fit(other, user="who", item="what")
    assert named.recommend(["u3"]).to_frame().columns.tolist() == ["user", "rank", "item", "score"]


def test_it_compares_pickles_resumes_and_stops_when_it_is_told(rows, fitted, tmp_path):
    found = fitted.compare("popularity", "ndcg@20")
    assert found["against"][0]["model"] == "popularity" and len(found["comparisons"]) == 1
    assert pickle.loads(pickle.dumps(fitted)).recommend(["u3"]) == fitted.recommend(["u3"])

    class Enough(Exception):
        pass

    def fail(epoch):
        if epoch.epoch == 2:
            raise Enough

    longer = toprank.Recommender("mf:width=4", epochs=4, seed=3)
    whole = longer.fit(rows)
    whole.save(tmp_path / "whole")
    again = toprank.Recommender("mf:width=4", epochs=4, seed=3)
    with pytest.raises(Enough):
        again.fit(rows, checkpoint=tmp_path / "rec", callbacks=fail)
    again.fit(rows, checkpoint=tmp_path / "rec", resume=True)
    assert (tmp_path / "rec").read_bytes() == (tmp_path / "whole").read_bytes()
    stopped = toprank.Recommender("mf:width=4", epochs=4, seed=3).fit(rows, callbacks=[lambda epoch: epoch.epoch == 2])
    assert len(stopped.history_) == 2


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([("a", "x"), ("a", "x")], "again"),
        ([("a",)], "rows of"),
        ([("a", None)], "has no item"),
    ],
)
def test_interactions_that_are_none_are_refused(data, words):
    with pytest.raises(ValueError, match=words):
        toprank.Recommender().fit(data)


def test_an_unknown_user_is_an_error_with_the_name(fitted):
    with pytest.raises(ValueError, match="nobody"):
        fitted.recommend(["nobody"])
    with pytest.raises(ValueError, match="not fitted"):
        toprank.Recommender().recommend(["u1"])


def test_an_item_model_says_from_which_items_it_scores(rows):
    model = toprank.Recommender("ease", "ndcg@10").fit(rows)
    after, before = (next(iter(model.evaluate("ndcg@10", history=parts).values())) for parts in ("train+valid", "train"))
    assert after != before and next(iter(model.evaluate("ndcg@10").values())) == after
    with pytest.raises(ValueError, match="history: found"):
        model.evaluate(history="all")
