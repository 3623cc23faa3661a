"""Runs compared, judgements and runs."""

import json
import subprocess

import numpy as np
import pytest

import toprank

QRELS = {"q1": {"a": 1, "b": 0, "c": 2}, "q2": {"a": 1, "d": 0}, "q3": {"z": 1}}
RUN = {"q1": {"b": 0.9, "a": 0.8, "x": 0.7}, "q2": {"a": 0.5, "d": 0.5}}


def test_judgements_and_a_run_are_judged_as_trec_eval_does():
    result = toprank.evaluate(QRELS, RUN, metrics="map,p@2", like="trec_eval")
    # q1: a at rank 2 of 2 relevant; q2: a and d tie, d comes first by name descending.
    assert result["map"] == ((1 / 2) / 2 + 1 / 2) / 2
    assert list(result.list_names) == ["q1", "q2"]
    whole = toprank.evaluate(QRELS, RUN, metrics="map", like="trec_eval", complete=True)
    assert whole["map"] == pytest.approx(result["map"] * 2 / 3)
    assert toprank.evaluate(QRELS, RUN, metrics="p@2", like="trec_eval", depth=1)["p@2"] == (0 + 0) / 2


def test_files_of_judgements_say_the_same_as_dictionaries(command, tmp_path):
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    qrels.write_text("".join(f"{q} 0 {d} {y}\n" for q, docs in QRELS.items() for d, y in docs.items()))
    run.write_text("".join(f"{q} Q0 {d} 1 {s} r\n" for q, docs in RUN.items() for d, s in docs.items()))
    by_file = toprank.evaluate(qrels, run, metrics="map,ndcg@10", like="trec_eval")
    assert by_file.mean == toprank.evaluate(QRELS, RUN, metrics="map,ndcg@10", like="trec_eval").mean
    call = "evaluate --qrels qrels --run run --like trec_eval -m map,ndcg@10 --json".split()
    report = json.loads(subprocess.run([command, *call], cwd=tmp_path, check=True, capture_output=True).stdout)
    assert by_file.mean == report["metrics"]


def test_what_is_no_judgement_is_a_clear_exception(tmp_path):
    with pytest.raises(OSError, match="nothing"):
        toprank.evaluate(str(tmp_path / "nothing"), RUN)
    with pytest.raises(TypeError, match="scores: found list"):
        toprank.evaluate(QRELS, [1, 2])
    with pytest.raises(ValueError, match="no query of the run is in the qrels"):
        toprank.evaluate(QRELS, {"other": {"a": 1}})
    with pytest.raises(ValueError, match="expected no group"):
        toprank.evaluate(QRELS, RUN, group=[1])


def test_a_clear_difference_is_found_and_noise_is_not():
    random = np.random.default_rng(2)
    labels = random.integers(0, 3, 1000)
    runs = {
        "noise": random.normal(size=1000),
        "other noise": random.normal(size=1000),
        "good": labels + random.normal(size=1000),
    }
    found = toprank.compare(runs, labels, group=[10] * 100, metrics="ndcg@5", tests="t,wilcoxon")
    pairs = {(pair["first"], pair["second"]): pair for pair in found.metrics["ndcg@5"]["pairs"]}
    assert pairs["noise", "good"]["mean_difference"] > 0.1
    assert all(test["p_corrected"] < 1e-6 for test in pairs["noise", "good"]["tests"])
    assert all(test["p_corrected"] > 0.01 for test in pairs["noise", "other noise"]["tests"])
    frame = pytest.importorskip("pandas") and found.to_frame()
    assert list(frame["second"]) == ["other noise", "good", "good"]
    assert any(line.startswith("good beats noise on ndcg@5 by 0.") for line in found.verdicts)
    assert "no significant difference on ndcg@5: other noise − noise" in repr(found)


def test_the_comparison_is_that_of_the_command(lists, command, tmp_path):
    X, y, sizes = lists()
    qid = np.repeat(np.arange(sizes.size), sizes)
    (tmp_path / "d.txt").write_text("".join(f"{label} qid:{q} 1:{x}\n" for label, q, x in zip(y, qid, X[:, 0])))
    for name, column in (("a", 0), ("b", 1)):
        (tmp_path / name).write_text("".join(f"{score!r}\n" for score in X[:, column].tolist()))
    call = "compare --data d.txt -m ndcg@10,map --tests t,randomisation --replicates 500 --json a=a b=b".split()
    report = json.loads(subprocess.run([command, *call], cwd=tmp_path, check=True, capture_output=True).stdout)
    ours = toprank.compare({"a": X[:, 0], "b": X[:, 1]}, y, group=sizes, metrics="ndcg@10,map", replicates=500)
    text = json.dumps(report)
    for comparison in ours.metrics.values():
        for pair in comparison["pairs"]:
            for test in pair["tests"]:
                assert repr(test["p_corrected"]) in text
            assert repr(pair["mean_difference"]) in text and repr(pair["interval"]["low"]) in text


def test_one_list_is_compared_row_by_row_as_the_command_does(command, tmp_path):
    random = np.random.default_rng(4)
    labels = (np.arange(240) % 4 == 0).astype(int)
    runs = {"poor": random.normal(size=240), "good": labels * 1.5 + random.normal(size=240)}
    found = toprank.compare(runs, labels, metrics="roc_auc,average_precision", replicates=300)
    (tmp_path / "d.csv").write_text("x,label\n" + "".join(f"{i},{label}\n" for i, label in enumerate(labels)))
    for name, scores in runs.items():
        (tmp_path / name).write_text("".join(f"{score!r}\n" for score in scores.tolist()))
    call = "compare --data d.csv --label label -m auroc,auprc poor=poor good=good --replicates 300 --json".split()
    report = json.loads(subprocess.run([command, *call], cwd=tmp_path, check=True, capture_output=True).stdout)
    for comparison, theirs in zip(found.metrics.values(), report["comparisons"], strict=True):
        ours, theirs = comparison["pairs"][0], theirs["pairs"][0]
        assert ours["tests"] == theirs["tests"] and ours["interval"] == theirs["interval"]
        assert ours["interval"]["low"] > 0 and ours["verdict"] == theirs["verdict"]
    assert found.verdicts[0].startswith("good beats poor on auroc by 0.")
    assert found.metrics["auroc"]["pairs"][0]["interval"]["method"] == "DeLong"
    with pytest.raises(ValueError, match="unknown test over rows"):
        toprank.compare(runs, labels, metrics="auroc", tests="t")


def test_runs_that_cannot_be_compared_are_refused():
    with pytest.raises(TypeError, match="runs: found list"):
        toprank.compare([[1, 2], [2, 1]], [1, 0])
    with pytest.raises(ValueError, match="two or more"):
        toprank.compare({"a": [1, 2]}, [1, 0])
    with pytest.raises(ValueError, match="tukey must be"):
        toprank.compare({"a": [1, 2], "b": [2, 1]}, [1, 0], tukey="yes")
    with pytest.raises(ValueError, match="tukey compares the values of lists"):
        toprank.compare({"a": [1, 2], "b": [2, 1]}, [1, 0], tukey="randomised")
    with pytest.raises(ValueError, match="unknown correction .bonferroni.; expected one of none, holm, bh"):
        toprank.compare({"a": [1, 2], "b": [2, 1]}, [1, 0], correction="bonferroni")
