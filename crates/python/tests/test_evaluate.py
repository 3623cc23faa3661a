"""Judging: the numbers of the command, and a clear exception for what cannot be judged."""

import base64
import hashlib
import math
import pathlib
import subprocess
import sys
import threading
import time
import types
import zipfile

import numpy as np
import pytest

import toprank


def random_lists(count=40, seed=3):
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 12, count)
    labels = random.integers(0, 4, sizes.sum())
    return labels, random.normal(size=sizes.sum()), sizes


def test_means_are_those_of_the_lists_worked_by_hand():
    result = toprank.evaluate([1, 0, 0, 2], [0.9, 0.8, 0.3, 0.2], group=[2, 2], metrics=["mrr", "ndcg@1"])
    assert result["mrr"] == (1 / 1 + 1 / 2) / 2
    assert result["ndcg@1"] == (1 + 0) / 2
    assert result.per_list["mrr"].tolist() == [1.0, 0.5]


def test_names_of_lists_and_sizes_of_lists_say_the_same():
    labels, scores, sizes = random_lists()
    names = np.repeat([f"q{i}" for i in range(sizes.size)], sizes)
    by_size, by_name = (toprank.evaluate(labels, scores, **lists) for lists in ({"group": sizes}, {"qid": names}))
    assert by_size.mean == by_name.mean
    assert list(by_name.list_names) == [f"q{i}" for i in range(sizes.size)]


def test_a_preset_and_a_rule_change_the_value_and_are_printed():
    labels, scores = [1, 0, 0, 0], [0.5, 0.9, 0.2, 0.1]
    plain = toprank.evaluate(labels, scores, group=[2, 2], metrics="mrr")
    zero = toprank.evaluate(labels, scores, group=[2, 2], metrics="mrr", policy={"empty": "zero"})
    assert (plain["mrr"], zero["mrr"]) == (1 / 2, (1 / 2 + 0) / 2)
    assert "empty=zero" in repr(zero)
    assert toprank.evaluate(labels, scores, group=[2, 2], metrics="mrr", like="lightgbm")["mrr"] == (1 / 2 + 1) / 2
    assert toprank.evaluate(labels, scores, group=[2, 2], metrics="mrr", policy=zero.policy)["mrr"] == zero["mrr"]


def test_scikit_learn_agrees_under_its_preset():
    sklearn = pytest.importorskip("sklearn.metrics")
    random = np.random.default_rng(1)
    labels, scores = random.integers(0, 3, (20, 8)), random.normal(size=(20, 8))
    ours = toprank.evaluate(labels.ravel(), scores.ravel(), group=[8] * 20, metrics="ndcg@5", like="sklearn")
    assert ours["ndcg@5"] == pytest.approx(sklearn.ndcg_score(labels, scores, k=5), abs=1e-12)
    binary = toprank.evaluate(labels.ravel() > 1, scores.ravel(), metrics="auroc")
    assert binary["auroc"] == pytest.approx(sklearn.roc_auc_score(labels.ravel() > 1, scores.ravel()), abs=1e-12)


def test_weights_of_lists_enter_the_mean():
    result = toprank.evaluate([1, 0, 0, 1], [1, 0, 1, 0], group=[2, 2], metrics="mrr", list_weight=[3, 1])
    assert result["mrr"] == (3 * 1 + 1 * 0.5) / 4


def test_columns_of_frames_are_taken_as_they_are():
    pandas, polars, arrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    labels, scores, sizes = random_lists()
    qid = np.repeat(np.arange(sizes.size), sizes)
    frame = pandas.DataFrame({"y": labels, "s": scores, "q": qid})
    want = toprank.evaluate(labels, scores, qid=qid).mean
    assert toprank.evaluate(frame.y, frame.s, qid=frame.q).mean == want
    other = polars.from_pandas(frame)
    assert toprank.evaluate(other["y"], other["s"], qid=other["q"]).mean == want
    table = arrow.table(frame)
    assert toprank.evaluate(table["y"], table["s"], qid=table["q"]).mean == want


def test_a_frame_of_results_has_a_line_per_metric_or_list():
    pytest.importorskip("pandas")
    labels, scores, sizes = random_lists()
    result = toprank.evaluate(labels, scores, group=sizes, metrics="ndcg@5,map")
    frame = result.to_frame()
    assert list(frame.index) == ["ndcg@5", "map"]
    assert frame.loc["map", "mean"] == result["map"]
    low, high = result.interval["map"]
    assert low < result["map"] < high
    assert result.to_frame(per_list=True).shape == (sizes.size, 2)


def test_one_list_has_intervals_over_its_rows():
    labels = [1, 0] * 60
    scores = [((37 * i) % 101) + 30 * y for i, y in enumerate(labels)]
    result = toprank.evaluate(labels, scores, metrics=["roc_auc", "P_20"])
    assert list(result) == ["auroc", "p@20"]
    for metric, method in (("auroc", "DeLong"), ("p@20", "stratified BCa bootstrap over rows, 1000 resamples")):
        low, high = result.interval[metric]
        assert low < result[metric] < high
        assert result.results[metric].method == method and method in repr(result)


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        ({"scores": [0.1, 0.2]}, ValueError, "2 scores were given for 4 items"),
        ({"labels": [[1, 0], [0, 1]]}, ValueError, r"labels: found the shape \(2, 2\)"),
        ({"labels": ["a", "b", "c", "d"]}, TypeError, "labels: found values of type"),
        ({"labels": [1, math.nan, 0, 0]}, ValueError, "item 1 has the label NaN"),
        ({"scores": [1, math.nan, 0, 0]}, ValueError, "the score of item 1 of list 0 .* is NaN"),
        ({"group": [5, -1]}, ValueError, "list 1 has the size -1"),
        ({"group": [2, 3]}, ValueError, "add up to 5, but there are 4 items"),
        ({"group": [2.5, 1.5]}, ValueError, "expected integers, the sizes of the lists"),
        ({"group": None, "qid": [1, 1]}, ValueError, "one name of a list for each of 4 items"),
        ({"qid": [1, 1, 2, 2]}, ValueError, "both given"),
        ({"metrics": "ncdg"}, ValueError, 'unknown metric "ncdg"; did you mean "ndcg"'),
        ({"metrics": []}, ValueError, "names no metric"),
        ({"like": "excel"}, ValueError, 'unknown tool for like "excel"; expected one of trec_eval'),
        ({"policy": {"ties": "random"}}, ValueError, "ties must be averaged, trec, input or worst, but is random"),
        ({"list_weight": [1, -1]}, ValueError, "list_weight: number 1 is -1.0"),
        ({"item_weight": [1]}, ValueError, "item_weight: found 1 numbers, expected 4"),
        ({"level": 95.0}, ValueError, r"level must be in \(0, 1\), but is 95"),
    ],
)
def test_what_cannot_be_judged_is_a_clear_exception(change, kind, words):
    call = {"labels": [1, 0, 0, 2], "scores": [0.9, 0.8, 0.3, 0.7], "group": [2, 2], **change}
    with pytest.raises(kind, match=words):
        toprank.evaluate(call.pop("labels"), call.pop("scores"), **call)


def test_unjudged_items_take_no_part_when_asked_for():
    result = toprank.evaluate([math.nan, 0, 1], [3, 2, 1], metrics="auroc", unjudged=True)
    assert result["auroc"] == 0.0


def test_nothing_to_judge_has_no_mean():
    assert math.isnan(toprank.evaluate([], [], group=[], metrics="map")["map"])


def test_long_data_are_judged_in_parts_that_change_no_bit():
    # Ten million items are three parts; the lists of the parts are the same list again and again.
    labels, scores, sizes = random_lists(500)
    times = 10_000_000 // labels.size + 1
    short = toprank.evaluate(labels, scores, group=sizes, metrics="ndcg@10", replicates=0)
    long = toprank.evaluate(
        np.tile(labels.astype(np.float32), times),
        np.tile(scores, times),
        group=np.tile(sizes, times),
        metrics="ndcg@10",
        replicates=0,
    )
    values = long.per_list["ndcg@10"].reshape(times, -1)
    assert np.array_equal(values, np.tile(short.per_list["ndcg@10"], (times, 1)), equal_nan=True)
    assert long.results["ndcg@10"].undefined == times * short.results["ndcg@10"].undefined
    assert long["ndcg@10"] == pytest.approx(short["ndcg@10"], rel=1e-12)


def test_an_error_late_in_long_data_names_its_place():
    n = 5_000_000
    scores = np.zeros(n)
    scores[n - 1] = np.nan
    with pytest.raises(ValueError, match=f"item 1 of list {n // 2 - 1} .entry {n - 1}. is NaN"):
        toprank.evaluate(np.zeros(n, np.float32), scores, group=np.full(n // 2, 2), metrics="map")


def test_threads_may_judge_at_once():
    labels, scores, sizes = random_lists(200)
    want = toprank.evaluate(labels, scores, group=sizes).mean
    found = []
    run = lambda: found.append(toprank.evaluate(labels, scores, group=sizes).mean)
    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [want] * 8


def test_other_threads_go_on_while_one_judges():
    n = 8_000_000
    labels, scores, group = np.ones(n, np.float32), np.arange(n, dtype=np.float64), np.full(n // 100, 100)
    thread = threading.Thread(target=lambda: toprank.evaluate(labels, scores, group=group, metrics="ndcg", replicates=0))
    thread.start()
    turns = 0
    while thread.is_alive():
        time.sleep(0.001)
        turns += 1
    # With the interpreter's lock held the loop would be let in a few times, between two calls of the library.
    assert turns > 20


JUDGE_LONG = """
import numpy as np, toprank
n = 40_000_000
labels, scores, group = np.ones(n, np.float32), np.zeros(n), np.full(n // 1000, 1000)
print("ready", flush=True)
try:
    while True:
        toprank.evaluate(labels, scores, group=group, metrics="ndcg,map,auroc", replicates=0)
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
def test_ctrl_c_stops_judging(interrupted):
    assert interrupted(JUDGE_LONG) == "stopped\n"


def test_a_new_objective_appears_everywhere_without_a_line_of_python(monkeypatch):
    from toprank import _catalog, _stubs

    known = _catalog.catalog()
    new = {"name": "brand-new", "family": "listwise", "about": "an objective of tomorrow", "page": "its page"}
    sharp = {"name": "sharp", "default": "1", "range": "above 0", "about": "how sharp"}
    more = {**known, "objectives": [*known["objectives"], {**new, "params": [sharp], "examples": [], "aliases": ["bn"]}]}
    monkeypatch.setattr(_catalog, "catalog", lambda: more)
    _catalog.table.cache_clear()
    try:
        assert toprank.objectives()["brand-new"].params[0].name == "sharp"
        assert "an objective of tomorrow" in repr(toprank.objectives())
        text = _stubs.stubs()
        assert 'name: Literal["brand-new", "bn"], *, seed: int = 1, sharp: float | str = ...' in text
    finally:
        _catalog.table.cache_clear()


def test_every_objective_is_named_in_the_docstring():
    assert all(f"{name}: {entry.about}" in toprank.Objective.__doc__ for name, entry in toprank.objectives().items())


def test_a_wheel_gets_stubs_that_name_every_objective_and_setting(tmp_path, monkeypatch):
    package = pathlib.Path(toprank.__file__).parent

    def bare_wheel(folder, config_settings=None, metadata_directory=None):
        with zipfile.ZipFile(pathlib.Path(folder, "toprank-0-py3-none-any.whl"), "w") as wheel:
            for file in [*package.glob("*.py"), *package.glob("_toprank.*")]:
                wheel.write(file, f"toprank/{file.name}")
            wheel.writestr("toprank-0.dist-info/RECORD", "toprank/__init__.py,,\ntoprank-0.dist-info/RECORD,,\n")
        return "toprank-0-py3-none-any.whl"

    maturin = types.ModuleType("maturin")
    maturin.build_wheel, maturin.build_sdist = bare_wheel, "maturin's own"
    monkeypatch.setitem(sys.modules, "maturin", maturin)
    monkeypatch.syspath_prepend(str(pathlib.Path(__file__).parents[1]))
    import backend

    assert backend.build_sdist == "maturin's own"
    with zipfile.ZipFile(tmp_path / backend.build_wheel(tmp_path)) as wheel:
        written, record = wheel.read(backend.STUBS), wheel.read("toprank-0.dist-info/RECORD").decode()
    digest = base64.urlsafe_b64encode(hashlib.sha256(written).digest()).rstrip(b"=").decode()
    assert f"toprank/__init__.pyi,sha256={digest},{len(written)}\n" in record and record.startswith("toprank/__init__.py,,\n")
    text = written.decode()
    compile(text, "__init__.pyi", "exec")
    assert "    scores_: Any" in text and "    results: dict[str, Value]" in text, "what methods set is known, too"
    assert all(f'name: Literal["{name}"' in text for name in toprank.objectives())
    from toprank._settings import settings_of

    assert all(f" {name}: {setting.kind.annotation} | None" in text for name, setting in settings_of("rank").items())


def test_listings_hold_every_entry_with_its_page():
    assert toprank.metrics()["ndcg"].about in repr(toprank.metrics())
    assert "gamma" in [param.name for param in toprank.objectives()["song"].params]
    assert all(entry.page for entry in toprank.objectives().values())
    assert "trec_eval" in toprank.presets()
    with pytest.raises(KeyError, match="did you mean song"):
        toprank.objectives()["sonng"]


JUDGE_MANY = """
import resource, sys
import numpy as np, toprank
labels, scores, group = np.ones(40_000_000, np.float32), np.ones(40_000_000), np.full(400_000, 100)
scores[::3] = 2
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
before = peak()
toprank.evaluate(labels, scores, group=group, metrics="p@10", replicates=0)
print((peak() - before) / (labels.nbytes + scores.nbytes))
"""


def test_what_is_judged_is_not_copied():
    pytest.importorskip("resource")
    found = subprocess.run([sys.executable, "-c", JUDGE_MANY], check=True, capture_output=True, text=True).stdout
    # A copy of the labels alone would be a third of the arrays; looking for NaN takes a byte an item, a twelfth.
    assert float(found) < 0.25, f"{found} of what was given"
