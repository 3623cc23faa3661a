"""Rows whose lists are not known: an error or a warning, never a silent list of all rows."""

import warnings

import numpy as np
import pytest

import toprank

TREES = {"model": "trees", "trees": 3, "leaves": 4, "min_rows": 2}


@pytest.fixture
def no_warnings():
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*all rows are one list.*")
        yield


@pytest.mark.parametrize("by", ["qid", "group"])
def test_an_eval_set_without_lists_is_an_error_where_the_training_data_have_them(lists, by):
    X, y, sizes = lists(10)
    V, v, valid_sizes = lists(5, seed=2)
    given = {"group": sizes} if by == "group" else {"qid": np.repeat(np.arange(10), sizes)}
    with pytest.raises(ValueError, match=f"found {by} for the training data, but neither eval_qid nor eval_group; expected eval_{by}"):
        toprank.Ranker(**TREES).fit(X, y, **given, eval_set=(V, v))
    toprank.Ranker(**TREES).fit(X, y, **given, eval_set=(V, v), eval_group=valid_sizes)
    toprank.Ranker(**TREES).fit(X, y, **given, eval_set=(V, v), eval_group=[len(V)])


def test_lists_of_an_eval_set_that_is_not_there_are_an_error(lists):
    X, y, sizes = lists(10)
    with pytest.raises(ValueError, match="expected eval_set"):
        toprank.Ranker(**TREES).fit(X, y, group=sizes, eval_group=sizes)


def test_a_ranker_without_lists_warns_that_all_rows_are_one(lists):
    X, y, _ = lists(10)
    for objective in (None, "ndcg@10", "lambdarank", "map"):
        with pytest.warns(UserWarning, match="neither qid, group nor list_column: all rows are one list"):
            toprank.Ranker(**TREES, objective=objective).fit(X, y)


def test_a_ranker_that_knows_its_lists_or_needs_none_does_not_warn(lists, no_warnings):
    X, y, sizes = lists(10)
    toprank.Ranker(**TREES).fit(X, y, group=sizes).score(X, y, group=sizes)
    toprank.Ranker(**TREES).fit(X, y, qid=np.repeat(np.arange(10), sizes))
    toprank.Ranker(**TREES).fit(X, y, group=[len(X)]).score(X, y)
    for objective in ("auroc", "auc", "auprc", "squared"):
        toprank.Ranker(**TREES, objective=objective).fit(X, y > 0).score(X, y > 0)
    toprank.Classifier(**TREES).fit(X, y > 0)


def test_a_score_without_lists_warns_if_the_ranker_was_trained_on_several(lists):
    X, y, sizes = lists(10)
    ranker = toprank.Ranker(**TREES).fit(X, y, group=sizes)
    with pytest.warns(UserWarning, match="Ranker.score was given neither qid"):
        ranker.score(X, y)


def test_a_grid_search_or_cross_validation_that_routes_no_lists_warns(lists):
    selection = pytest.importorskip("sklearn.model_selection")
    X, y, sizes = lists(10)
    qid = np.repeat(np.arange(10), sizes)
    for call in (
        lambda: selection.GridSearchCV(toprank.Ranker(**TREES), {"leaves": [3]}, cv=2).fit(X, y),
        lambda: selection.cross_val_score(toprank.Ranker(**TREES), X, y, cv=2),
        # Without routing, scikit-learn hands qid to fit alone.
        lambda: selection.GridSearchCV(toprank.Ranker(**TREES), {"leaves": [3]}, cv=selection.GroupKFold(2)).fit(
            X, y, groups=qid, qid=qid
        ),
    ):
        with pytest.warns(UserWarning, match="metadata routing"):
            call()


def test_a_grid_search_over_a_column_of_lists_does_not_warn(lists, no_warnings):
    pandas = pytest.importorskip("pandas")
    selection = pytest.importorskip("sklearn.model_selection")
    X, y, sizes = lists(10)
    frame = pandas.DataFrame(X, columns=list("abcde")).assign(query=np.repeat(np.arange(10), sizes))
    ranker = toprank.Ranker(**TREES, list_column="query")
    selection.GridSearchCV(ranker, {"leaves": [3]}, cv=selection.GroupKFold(2)).fit(frame, y, groups=frame["query"])
