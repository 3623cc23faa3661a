"""Metrics and objectives of a user's own."""

import numpy as np
import pytest

import toprank


def discounted(labels):
    """DCG of the first three, without a policy."""
    return float((labels[:3] / np.log2(np.arange(2, 2 + len(labels[:3])))).sum())


def listnet(scores, labels):
    if len(scores) < 2:
        return None
    p = np.exp(labels.astype(float) - labels.max())
    log_q = scores - scores.max() - np.log(np.exp(scores - scores.max()).sum())
    p, q = p / p.sum(), np.exp(log_q)
    return float(-(p * log_q).sum()), q - p, q * (1 - q)


def test_a_metric_of_ones_own_stands_wherever_a_name_can(lists):
    X, y, sizes = lists()
    own = toprank.metric(discounted)
    assert own.name == "own-discounted" and own(np.array([1.0])) == 1.0
    found = toprank.evaluate(y, X[:, 0], group=sizes, metrics=[own, "dcg@3:gain=linear"], replicates=0)
    assert found["own-discounted"] == pytest.approx(found["dcg@3:gain=linear"], rel=1e-12)
    compared = toprank.compare({"a": X[:, 0], "b": X[:, 1]}, y, group=sizes, metrics=[own])
    assert "own-discounted" in repr(compared)
    V, v, of = lists(20, 2)
    ranker = toprank.Ranker("linear", "listnet", epochs=3, valid_metric=own).fit(X, y, group=sizes, eval_set=(V, v), eval_group=of)
    reached = toprank.evaluate(v, ranker.predict(V, group=of), group=of, metrics=[own], replicates=0)["own-discounted"]
    assert reached == pytest.approx(ranker.best_score_, rel=1e-6) == max(ranker.evals_result_["valid"]["own-discounted"])


def test_an_objective_of_ones_own_trains_what_that_of_the_catalog_trains(lists):
    X, y, sizes = lists(20)
    own = toprank.objective(listnet, exact_hessian=True)
    assert toprank.check_objective(own, verbose=False)
    ours = toprank.gradient(own, X[:, 0], y, group=sizes, hessian=True)
    theirs = toprank.gradient("listnet", X[:, 0], y, group=sizes, hessian=True)
    assert ours.loss == pytest.approx(theirs.loss) and np.allclose(ours.gradient, theirs.gradient, atol=1e-12)
    assert np.allclose(ours.hessian, theirs.hessian, atol=1e-12)
    for model in ("linear", "trees"):
        quick = {"epochs": 2} if model == "linear" else {"trees": 3}
        a = toprank.Ranker(model, own, valid_metric="ndcg@10", **quick).fit(X, y, group=sizes)
        b = toprank.Ranker(model, "listnet", valid_metric="ndcg@10", **quick).fit(X, y, group=sizes)
        assert np.allclose(a.predict(X, group=sizes), b.predict(X, group=sizes), atol=1e-4), model


def test_a_wrong_gradient_is_found_and_named(capsys):
    def wrong(scores, labels):
        loss, gradient, hessian = listnet(scores, labels) or (0.0, 0 * scores, 0 * scores)  # one item
        return loss, -gradient, hessian

    assert not toprank.check_objective(wrong)
    said = capsys.readouterr().out
    assert "BROKEN  the gradient is the derivative of the loss" in said and "kept" in said


def test_what_a_function_raises_is_raised(lists):
    X, y, sizes = lists(10)

    def broken(*_):
        raise RuntimeError("my own fault")

    with pytest.raises(RuntimeError, match="my own fault"):
        toprank.evaluate(y, X[:, 0], group=sizes, metrics=[toprank.metric(broken, name="broken")])
    with pytest.raises(RuntimeError, match="my own fault"):
        toprank.Ranker("linear", toprank.objective(broken, name="broken"), epochs=1).fit(X, y, group=sizes)
    with pytest.raises(ValueError, match="expected one per item"):
        toprank.gradient(toprank.objective(lambda s, y: (0.0, s[:1]), name="short"), [1.0, 2.0], [1, 0], group=[2])
    # Nothing is left behind.
    assert toprank.evaluate([1, 0], [0.2, 0.1], metrics="mrr", replicates=0)["mrr"] == 1.0


def test_a_name_that_no_program_registered_says_so():
    with pytest.raises(ValueError, match="one that this program has registered"):
        toprank.evaluate([1, 0], [0.2, 0.1], metrics="own-unknown")


def test_pytorch_differentiates_an_objective(lists):
    torch = pytest.importorskip("torch")
    X, y, sizes = lists(10)

    @toprank.objective(torch=True)
    def cross_entropy(scores, labels):
        return -(torch.softmax(labels.double(), 0) * torch.log_softmax(scores, 0)).sum()

    theirs = toprank.gradient("listnet", X[:, 0], y, group=sizes)
    ours = toprank.gradient(cross_entropy, X[:, 0], y, group=sizes)
    assert np.allclose(ours.gradient, theirs.gradient, atol=1e-10)
