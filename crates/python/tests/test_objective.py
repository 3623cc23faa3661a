"""Objectives: gradients of the library, state that can be kept, draws in any order."""

import os
import subprocess
import sys

import numpy as np
import pytest

import toprank

LABELS = np.array([2, 0, 1, 0, 1, 0, 0], dtype=np.float32)
SCORES = np.array([0.3, 0.1, -0.2, 0.4, 0.0, 0.5, -0.6])
SIZES = [4, 3]


@pytest.mark.parametrize("name", list(toprank.objectives()))
def test_every_objective_of_the_catalog_has_a_gradient(name):
    found = toprank.gradient(name, SCORES, LABELS, group=SIZES)
    assert found.gradient.shape == found.hessian.shape == SCORES.shape
    assert np.isfinite(found.loss) and np.all(np.isfinite(found.gradient)) and np.all(found.hessian >= 0)
    assert found.used + found.without_gradient == 2


def test_the_gradient_is_that_of_the_loss():
    step = 1e-6
    found = toprank.gradient("song:margin=1", SCORES, LABELS, group=SIZES)
    for item in range(SCORES.size):
        ends = []
        for sign in (1, -1):
            moved = SCORES.copy()
            moved[item] += sign * step
            ends.append(toprank.gradient("song:margin=1", moved, LABELS, group=SIZES).loss)
        assert found.gradient[item] == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-7)


def test_a_parameter_may_stand_in_the_name_or_beside_it():
    by_text = toprank.gradient("lambdarank@3:gain=linear", SCORES, LABELS, group=SIZES)
    by_word = toprank.gradient("lambdarank", SCORES, LABELS, group=SIZES, k=3, gain="linear")
    assert np.array_equal(by_text.gradient, by_word.gradient)
    assert toprank.Objective("lambdarank", k=3).name == "lambdarank@3"
    with pytest.raises(ValueError, match="unknown parameter of song"):
        toprank.Objective("song", gama=1)
    with pytest.raises(ValueError, match="did you mean \"?song"):
        toprank.Objective("sonng")


def test_trackers_move_on_and_can_be_taken_up_again():
    goal = toprank.Objective("song", gamma=0.3).prepare(LABELS, group=SIZES)
    first = goal.step(SCORES)
    kept = goal.state_dict()
    second = goal.step(SCORES[::-1].copy())
    again = toprank.Objective("song", gamma=0.3).prepare(LABELS, group=SIZES)
    again.load_state_dict(kept)
    assert again.steps == 1
    resumed = again.step(SCORES[::-1].copy())
    assert np.array_equal(second.gradient, resumed.gradient)
    fresh = toprank.gradient("song:gamma=0.3", SCORES[::-1].copy(), LABELS, group=SIZES)
    assert not np.array_equal(second.gradient, fresh.gradient), "the tracker holds the first step"
    assert np.array_equal(first.gradient, toprank.gradient("song:gamma=0.3", SCORES, LABELS, group=SIZES).gradient)
    with pytest.raises(ValueError, match="expected one of ap"):
        toprank.Objective("ap").load_state_dict(kept)


def test_draws_in_any_order_give_the_same_gradient():
    sorted_, mixed = (toprank.Objective("song").prepare(LABELS, group=SIZES) for _ in range(2))
    plain = sorted_.step([1.0, 2.0, 3.0, 4.0, 5.0], lists=[0, 1], items=[[0, 1, 3], [0, 2]])
    other = mixed.step([5.0, 4.0, 2.0, 3.0, 1.0], lists=[1, 0], items=[[2, 0], [1, 3, 0]])
    assert plain.loss == other.loss
    assert np.array_equal(plain.gradient[[4, 3, 1, 2, 0]], other.gradient)
    assert np.array_equal(plain.losses[::-1], other.losses)
    whole = toprank.Objective("song").prepare(LABELS, group=SIZES)
    drawn = whole.step(SCORES, lists=[0, 1])
    assert np.array_equal(drawn.gradient, toprank.gradient("song", SCORES, LABELS, group=SIZES).gradient)


@pytest.mark.parametrize(
    ("draws", "words"),
    [
        ({"lists": [2]}, "expected numbers of lists from 0 to 1"),
        ({"lists": [0, 0]}, "drawn twice"),
        ({"lists": [0], "items": [[0, 4]]}, "list 0 has places from 0 to 3"),
        ({"lists": [-1]}, "found the number -1"),
        ({"lists": [0], "items": []}, "found 0 draws"),
        ({"lists": [0], "items": [[0, 1]]}, "7 scores were given for 2 items"),
        ({"lists": [0, 1], "importance": [1.0]}, "importance: found 1 numbers, expected 2"),
        ({"items": [[0]]}, "expected lists beside them"),
    ],
)
def test_draws_that_are_none_are_refused(draws, words):
    goal = toprank.Objective("song").prepare(LABELS, group=SIZES)
    with pytest.raises(ValueError, match=words):
        goal.step(SCORES, **draws)


def test_draws_carry_what_each_counts_for_to_its_list():
    goal = lambda: toprank.Objective("listnet").prepare(LABELS, group=SIZES)
    plain = goal().step(SCORES[[4, 5, 6, 0, 1, 2, 3]], lists=[1, 0])
    weighed = goal().step(SCORES[[4, 5, 6, 0, 1, 2, 3]], lists=[1, 0], importance=[2.0, 1.0])
    assert np.allclose(weighed.gradient, plain.gradient * [2, 2, 2, 1, 1, 1, 1])


def test_a_step_before_prepare_and_a_bad_score_are_refused():
    with pytest.raises(RuntimeError, match="prepare"):
        toprank.Objective("song").step(SCORES)
    with pytest.raises(ValueError, match="list 1, item 2: the score is inf"):
        toprank.gradient("song", [0, 0, 0, 0, 0, 0, np.inf], LABELS, group=SIZES)


STEP_MANY = """
import numpy as np, toprank
labels, scores, group = np.zeros(20_000_000, np.float32), np.zeros(20_000_000), np.full(200_000, 100)
labels[::10] = 1
scores[:] = 0.5
goal = toprank.Objective("squared").prepare(labels, group=group)
def memory(key):
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith(key))
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the peak begins anew
before = memory("VmRSS")
found = goal.step(scores)
print((memory("VmHWM") - before) / found.gradient.nbytes)
"""


def test_scores_of_the_kernels_type_are_not_copied():
    from toprank._arrays import vector

    assert np.shares_memory(vector(SCORES, "scores", np.float64), SCORES)
    if not os.access("/proc/self/clear_refs", os.W_OK):
        pytest.skip("the system does not say what memory a call takes")
    found = subprocess.run([sys.executable, "-c", STEP_MANY], check=True, capture_output=True, text=True).stdout
    # Memory grows by the gradient that is given away; a copy of the scores would be as much again.
    assert 0.9 < float(found) < 1.5, f"{found} of the gradient"


@pytest.mark.parametrize("name", list(toprank.objectives()))
@pytest.mark.parametrize("size", [1e150, 1e200, 1e300, np.finfo(np.float64).max])
def test_scores_of_any_size_give_finite_numbers_or_an_exception(name, size):
    scores = np.array([0.5, -size, 0.25, size, size, -size, 0.0])
    try:
        found = toprank.gradient(name, scores, LABELS, group=SIZES)
    except ValueError as error:
        assert size > 1e150 or name.startswith("p-norm-push")
        assert "is not a finite number" in str(error) and "list" in str(error) and "item" in str(error)
    else:
        assert np.isfinite(found.loss) and np.all(np.isfinite(found.gradient)) and np.all(np.isfinite(found.hessian))


def test_a_list_that_fails_keeps_its_state_and_the_step_is_not_counted():
    goal = toprank.Objective("song").prepare(LABELS, group=SIZES)
    goal.step(SCORES)
    before = goal.state_dict()
    words = r"list 1: the state of the objective is not a finite number; .* is 1e200 \(item 2\)"
    with pytest.raises(ValueError, match=words):
        goal.step([0.0, 0.5, 1e200], lists=[1])
    assert goal.state_dict() == before


def test_a_gradient_beyond_32_bits_is_refused():
    goal = toprank.Objective("squared-hinge:sum=true").prepare(LABELS, group=SIZES)
    scores = np.array([0, 3e38, 0, 0, 0, 0, 0], dtype=np.float32)
    with pytest.raises(ValueError, match="entry 0: the gradient is -6.*e38, expected one within the range of 32-bit floats"):
        goal._goal.step32(scores, None, True)
