"""Objectives inside PyTorch."""

import json

import numpy as np
import pytest

import toprank

torch = pytest.importorskip("torch")
import toprank.torch  # noqa: E402

LABELS = np.array([2, 0, 1, 0, 1, 0, 0], dtype=np.float32)
SCORES = [0.3, 0.1, -0.2, 0.4, 0.0, 0.5, -0.6]
SIZES = [4, 3]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_gradient_is_ours(dtype):
    scores = torch.tensor(SCORES, dtype=dtype, requires_grad=True)
    loss = toprank.torch.loss("song", margin=1)(scores, LABELS, group=SIZES)
    (3 * loss).backward()
    ours = toprank.gradient("song:margin=1", scores.detach().numpy(), LABELS, group=SIZES)
    assert loss.dtype == dtype and float(loss.detach()) == pytest.approx(ours.loss, rel=1e-6)
    assert np.allclose(scores.grad.numpy(), 3 * ours.gradient, rtol=1e-6)


def test_autograd_agrees_with_finite_differences():
    loss = toprank.torch.loss("listnet")
    scores = torch.tensor(SCORES, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda s: loss(s, LABELS, group=SIZES), (scores,))


def test_rows_of_a_masked_tensor_are_lists():
    padded = torch.zeros(2, 4, dtype=torch.float64)
    mask = torch.tensor([[True] * 4, [True, True, True, False]])
    labels = torch.full((2, 4), -1.0)
    padded[mask] = torch.tensor(SCORES, dtype=torch.float64)
    labels[mask] = torch.from_numpy(LABELS)
    padded.requires_grad_()
    loss = toprank.torch.loss("listnet")(padded, labels, mask=mask)
    loss.backward()
    ours = toprank.gradient("listnet", SCORES, LABELS, group=SIZES)
    assert float(loss.detach()) == ours.loss
    assert np.array_equal(padded.grad[mask].numpy(), ours.gradient)
    assert padded.grad[1, 3] == 0
    with pytest.raises(ValueError, match="mask: found the shape"):
        toprank.torch.loss("listnet")(padded, labels, mask=mask[:1])


def test_trackers_are_part_of_the_state_dict():
    make = lambda: torch.nn.ModuleDict({"loss": toprank.torch.loss("song", gamma=0.3)})
    first = make()
    first["loss"].prepare(LABELS, group=SIZES)
    scores = torch.tensor(SCORES, requires_grad=True)
    first["loss"](scores, lists=[1, 0]).backward()
    kept = first.state_dict()
    second = make()
    second.load_state_dict(kept)
    second["loss"].prepare(LABELS, group=SIZES)
    moved = torch.tensor(SCORES[::-1], dtype=torch.float64)
    want, found = (float(module["loss"](moved)) for module in (first, second))
    assert want == found
    fresh = make()
    fresh["loss"].prepare(LABELS, group=SIZES)
    assert float(fresh["loss"](moved)) != want


def test_a_batch_without_labels_needs_prepare():
    with pytest.raises(RuntimeError, match="prepare"):
        toprank.torch.loss("song")(torch.tensor(SCORES))
    with pytest.raises(ValueError, match="scores were given for 7 items"):
        toprank.torch.loss("song")(torch.tensor(SCORES[:3]), LABELS, group=SIZES)


def test_scores_of_32_bits_and_draws_in_any_order_have_the_gradient_of_the_objective():
    scores = torch.tensor(SCORES, dtype=torch.float32, requires_grad=True)
    loss = toprank.torch.loss("song", gamma=0.3).prepare(LABELS, group=SIZES)
    order = [4, 6, 5, 1, 0, 3]
    loss(scores[order], lists=[1, 0], items=[[0, 2, 1], [1, 0, 3]]).backward()
    ours = toprank.Objective("song", gamma=0.3).prepare(LABELS, group=SIZES)
    found = ours.step(scores.detach().numpy()[order], lists=[1, 0], items=[[0, 2, 1], [1, 0, 3]])
    assert np.array_equal(scores.grad.numpy()[order], found.gradient.astype(np.float32))
    assert scores.grad[2] == 0


def test_scores_of_half_precision_keep_their_type():
    scores = torch.tensor(SCORES, dtype=torch.bfloat16, requires_grad=True)
    loss = toprank.torch.loss("listnet")(scores, LABELS, group=SIZES)
    loss.backward()
    assert loss.dtype == scores.grad.dtype == torch.bfloat16


def test_random_objectives_draw_other_numbers_in_every_call():
    loss = toprank.torch.loss("gumbel-ndcg")
    scores = torch.tensor(SCORES)
    first, second = (float(loss(scores, LABELS, group=SIZES)) for _ in range(2))
    assert first != second
    again = toprank.torch.loss("gumbel-ndcg")
    assert float(again(scores, LABELS, group=SIZES)) == first, "the seed is the same"


def test_arguments_that_do_not_belong_together_are_refused():
    loss, scores = toprank.torch.loss("song"), torch.tensor(SCORES)
    with pytest.raises(ValueError, match="expected no lists"):
        loss(scores, LABELS, group=SIZES, lists=[0])
    loss.prepare(LABELS, group=SIZES)
    with pytest.raises(ValueError, match="expected no group"):
        loss(scores, group=SIZES)
    with pytest.raises(ValueError, match="expected lists beside them"):
        loss(scores, items=[[0]])


def tensors(path):
    """The tensors of a model file: it is a safetensors file."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    found = {}
    for name, entry in header.items():
        start, end = (8 + length + place for place in entry["data_offsets"])
        if entry["dtype"] == "F32":
            found[name] = np.frombuffer(data[start:end], dtype="<f4").reshape(entry["shape"])
    return found


@pytest.mark.skipif(not toprank._toprank.neural, reason="the package was built without networks")
def test_a_network_of_pytorch_follows_the_curve_of_our_trainer(lists, tmp_path):
    X, y, sizes = lists()
    V, v, valid_sizes = lists(30, seed=2)
    # All lists in every step: no order of batches, so the two can be the same from step to step.
    settings = {"sampler": "lists:batch=all", "transforms": "", "optimiser": "adam", "schedule": "constant"}
    settings |= {"clip": 0, "weight_average": "none", "warm_up": 0, "patience": 0, "valid_metric": "ndcg@5"}
    make = lambda epochs, rate: toprank.Ranker("mlp:hidden=16", "song:gamma=0.3", epochs=epochs, learning_rate=rate, **settings)
    # A learning rate this small changes no weight: what is saved is the start.
    make(1, 1e-30).fit(X, y, group=sizes).save(tmp_path / "start.toprank")
    start = {value.shape: value for name, value in tensors(tmp_path / "start.toprank").items() if "probe" not in name}
    network = torch.nn.Sequential(torch.nn.Linear(5, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    with torch.no_grad():
        for parameter in network.parameters():
            # Matrices are kept the other way round than PyTorch has them.
            parameter.copy_(torch.from_numpy(start[tuple(parameter.shape)[::-1]].T.copy()))
    ranker = make(60, 0.01).fit(X, y, group=sizes, eval_set=(V, v), eval_group=valid_sizes)
    loss = toprank.torch.loss("song", gamma=0.3).prepare(y, group=sizes)
    optimiser = torch.optim.Adam(network.parameters(), lr=0.01)
    features, others = torch.from_numpy(X), torch.from_numpy(V)
    losses, judged = [], []
    for _ in range(60):
        optimiser.zero_grad()
        value = loss(network(features).squeeze(1))
        value.backward()
        optimiser.step()
        losses.append(float(value.detach()))
        with torch.no_grad():
            scores = network(others).squeeze(1).numpy()
        judged.append(toprank.evaluate(v, scores, group=valid_sizes, metrics="ndcg@5", replicates=0)["ndcg@5"])
    theirs = [record["loss"] for record in ranker.history_]
    assert theirs[-1] < theirs[0] - 0.1, "something was learned"
    assert np.abs(np.subtract(losses, theirs)).max() < 1e-4
    assert np.abs(np.subtract(judged, [record["metrics"][0] for record in ranker.history_])).max() < 0.01
