"""Parameters of the estimators: made from the library's table of settings, so that none is written twice."""

import inspect

import numpy as np
import pytest

import toprank
from toprank._catalog import catalog


def parameters(of):
    return list(inspect.signature(of).parameters)


def test_the_catalog_has_every_setting_of_every_trainer_with_its_facts():
    settings = catalog()["settings"]
    assert settings.keys() == {"rank", "recommend", "embed", "walk"}
    for lines in settings.values():
        assert all(line["help"] and line["value"] for line in lines)
    rate = next(line for line in settings["rank"] if line["key"] == "learning-rate")
    assert rate["aliases"] == ["lr", "rate"] and rate["range"] == "a number above 0" and rate["default"] == "by model"
    assert "restart" not in [line["key"] for line in settings["rank"]], "a setting of walks alone"


@pytest.mark.parametrize(
    ("of", "trainer", "own"),
    [
        (toprank.Ranker, "rank", {"list_column", "verbose"}),
        (toprank.Classifier, "rank", {"list_column", "verbose"}),
        (toprank.PageRank, "walk", {"error", "ends", "verbose"}),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_parameters_are_the_settings_of_the_trainer(of, trainer, own):
    keys = [line["key"] for line in catalog()["settings"][trainer] if not line["is_path"]]
    names = {"scores" if key == "score" else key.replace("-", "_") for key in keys}
    assert set(parameters(of)) == names | own
    made = of()
    assert all(getattr(made, name) == param.default for name, param in inspect.signature(of).parameters.items())


def test_the_documentation_of_parameters_is_that_of_the_library():
    text = " ".join(toprank.Ranker.__doc__.split())
    assert "learning_rate: Learning rate. (A number above 0; default: by model.)" in text
    assert "min_rows: Minimum number of rows per leaf." in text
    assert "`toprank.metrics()`" in text and "`toprank metrics`" not in text and " --" not in text
    for of in (toprank.Ranker, toprank.PageRank):
        assert all(f"\n{name}: " in inspect.getdoc(of) for name in parameters(of))
        assert "SETTINGS" not in of.__doc__


def test_model_and_objective_may_be_given_by_position_and_nothing_else():
    ranker = toprank.Ranker("trees", "map", min_rows=3)
    assert (ranker.model, ranker.objective, ranker.min_rows) == ("trees", "map", 3)
    with pytest.raises(TypeError, match=r"Ranker\(\): too many positional arguments"):
        toprank.Ranker("trees", "map", "lambdarank")


@pytest.mark.parametrize(
    ("name", "meant"),
    [("rate", "learning_rate"), ("lr", "learning_rate"), ("metric", "valid_metric"), ("average", "weight_average"),
     ("num_leaves", "leaves"), ("n_estimators", "trees"), ("optimizer", "optimiser"), ("paticence", "patience")],
)  # fmt: skip
def test_an_unknown_parameter_is_an_error_that_names_the_one_that_was_meant(name, meant):
    with pytest.raises(TypeError, match=f"Ranker\\(\\) got an unexpected keyword argument '{name}'; did you mean '{meant}'"):
        toprank.Ranker(**{name: 1})


def test_min_rows_reaches_the_trees(lists):
    X, y, sizes = lists(10)
    ranker = toprank.Ranker("trees", trees=2, min_rows=7).fit(X, y, group=sizes)
    assert "=7" in ranker.config_["model"].split("leaves", 1)[-1]


def test_records_and_headers_have_the_names_of_the_library(lists):
    X, y, sizes = lists(10)
    ranker = toprank.Ranker("trees", trees=2).fit(X, y, group=sizes)
    assert {"learning_rate", "lists_without_gradient", "gradient_norm", "epoch", "step", "loss"} <= ranker.history_[0].keys()
    assert ranker.header_.keys() == {"config", "reached", "about"}
    assert ranker.header_["reached"]["lists"] == 10 and ranker.config_["valid-metric"] == "ndcg@10"


def test_a_listing_of_the_package_has_what_is_imported_later():
    assert {"Ranker", "Classifier", "torch", "lightgbm", "xgboost", "evaluate"} <= set(dir(toprank))
    assert set(toprank.__all__) <= set(dir(toprank))


def test_a_function_as_metric_is_an_error_that_says_what_is_expected():
    def mine(labels, scores):
        return 1.0

    for metrics in (mine, [mine], ["map", mine], 3):
        with pytest.raises(TypeError, match='metrics: found .*, expected names such as "ndcg@10"'):
            toprank.evaluate([1, 0], [1.0, 0.0], metrics=metrics)
        with pytest.raises(TypeError, match="metrics: found"):
            toprank.compare({"a": [1.0, 0.0], "b": [0.0, 1.0]}, [1, 0], metrics=metrics)
    with pytest.raises(TypeError, match="valid_metric: found <function .*, expected text"):
        toprank.Ranker("trees", valid_metric=mine).fit(np.ones((4, 1)), [1, 0, 1, 0], group=[2, 2])
    assert toprank.evaluate([1, 0], [1.0, 0.0], metrics=(name for name in ["map", "mrr"])).mean == {"map": 1.0, "mrr": 1.0}
