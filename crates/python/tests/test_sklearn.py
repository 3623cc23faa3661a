"""scikit-learn's own checks: what passes, and the reason for each that does not."""

import inspect
import warnings

import pytest

import toprank

checks = pytest.importorskip("sklearn.utils.estimator_checks")

BY_ROW = "draws and the defaults for small data count rows: a row of weight 2 is one row"
WEIGHTS = {f"check_sample_weight_equivalence_on_{kind}_data": BY_ROW for kind in ("dense", "sparse")}
EXPECTED = {
    "Ranker": WEIGHTS,
    "Classifier": WEIGHTS,
}


@pytest.mark.parametrize(
    "estimator",
    [toprank.Ranker("trees", "ndcg@10", trees=5, leaves=4), toprank.Classifier("trees", trees=5, leaves=4, folds=2)],
    ids=lambda estimator: type(estimator).__name__,
)
def test_estimators_pass_the_checks_that_make_sense_for_them(estimator):
    if "on_fail" not in inspect.signature(checks.check_estimator).parameters:
        pytest.skip("an older scikit-learn reports no results")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = checks.check_estimator(estimator, on_fail=None, on_skip=None)
    failed = {result["check_name"]: str(result["exception"]) for result in results if result["status"] == "failed"}
    assert len(results) > 40
    assert failed.keys() == EXPECTED[type(estimator).__name__].keys(), failed
