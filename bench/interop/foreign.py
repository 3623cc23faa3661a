"""Models of LightGBM and XGBoost of every kind that their files tell apart, for agree.py.

Each function writes them into a folder, with the rows they were trained with beside those whose SHAP values are compared,
and returns their names with whether we are to refuse them.
"""
import numpy as np

ROWS = 1500


def data():
    """14 features with 10 % missing values: numbers, zeros, few values, two of categories."""
    random = np.random.default_rng(5)
    x = random.normal(size=(ROWS, 14)).astype(np.float32)
    x[:, 1] *= 1e-4
    x[:, 2] = np.floor(x[:, 2] * 2)
    x[:, 3:6][random.random((ROWS, 3)) < 0.6] = 0
    x[:, 12] = random.integers(0, 12, ROWS)
    x[:, 13] = random.integers(0, 60, ROWS)
    y = x[:, 0] * x[:, 3] + np.abs(x[:, 4]) + x[:, 2] + np.cos(x[:, 12] * 7) + (x[:, 13] * 5 % 7) / 3
    x[random.random(x.shape) < 0.1] = np.nan
    return x, y.astype(np.float64), random


def lightgbm_models(folder):
    import lightgbm

    x, y, random = data()
    grades = np.clip(np.digitize(y, np.quantile(y, [0.5, 0.75, 0.9])), 0, 3)
    common = {"verbosity": -1, "num_leaves": 15, "min_data_in_leaf": 10, "num_threads": 2, "seed": 1, "deterministic": True}
    refused = {}

    def train(name, settings, label=y, rounds=40, categories=(), group=None, refuse=False, explain=False, **more):
        settings = {**common, **settings}
        dataset = lightgbm.Dataset(
            x.astype(np.float64), label, group=group, categorical_feature=list(categories), params=settings, free_raw_data=False
        )
        model = lightgbm.train(settings, dataset, rounds, **more)
        model.save_model(str(folder / f"{name}.txt"))
        refused[name] = refuse
        if explain:
            x.astype("<f4").tofile(folder / f"{name}.train.f32")
        return model

    first = train("squared", {"objective": "regression"}, explain=True)
    train("categories", {"objective": "regression"}, categories=[12, 13], explain=True)
    train("categories one against the rest", {"objective": "regression", "max_cat_to_onehot": 64}, categories=[12, 13])
    train("lambdarank", {"objective": "lambdarank"}, grades, group=[30] * (ROWS // 30))
    train("xendcg", {"objective": "rank_xendcg"}, grades, group=[30] * (ROWS // 30))
    train("logistic", {"objective": "binary"}, grades > 0)
    train("multiclass", {"objective": "multiclass", "num_class": 4}, grades, rounds=15, explain=True)
    train("one against all", {"objective": "multiclassova", "num_class": 4}, grades, rounds=15)
    train("poisson", {"objective": "poisson"}, np.exp(y / 4))
    train("absolute error", {"objective": "regression_l1"})
    train("missing never", {"objective": "regression", "use_missing": False})
    train("missing is zero", {"objective": "regression", "zero_as_missing": True})
    train("dart", {"objective": "regression", "boosting": "dart", "drop_rate": 0.5})
    train("one-side sampling", {"objective": "regression", "data_sample_strategy": "goss"})
    train("random forest", {"objective": "regression", "boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6})
    classes = {"objective": "multiclass", "num_class": 4, "boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6}
    train("random forest of classes", classes, grades, rounds=10)
    train("extra trees", {"objective": "regression", "extra_trees": True})
    train("continued", {"objective": "regression"}, rounds=10, init_model=first)
    train("few bins", {"objective": "regression", "max_bin": 7, "max_depth": 3})
    train("stumps that stop", {"objective": "regression", "min_gain_to_split": 400.0})
    train("linear leaves", {"objective": "regression", "linear_tree": True}, refuse=True)
    return refused


def xgboost_models(folder):
    import xgboost

    x, y, random = data()
    grades = np.clip(np.digitize(y, np.quantile(y, [0.5, 0.75, 0.9])), 0, 3)
    types = ["float"] * 12 + ["c"] * 2
    refused = {}

    def train(name, settings, label=y, rounds=40, categories=False, group=None, refuse=False, explain=False, bounds=None):
        settings = {"max_depth": 5, "eta": 0.3, "nthread": 2, "seed": 1, "tree_method": "hist", **settings}
        more = {"feature_types": types, "enable_categorical": True} if categories else {}
        matrix = xgboost.DMatrix(x, label, **more)
        if group is not None:
            matrix.set_group(group)
        if bounds is not None:
            matrix.set_float_info("label_lower_bound", bounds)
            matrix.set_float_info("label_upper_bound", bounds * 2)
        xgboost.train(settings, matrix, rounds).save_model(str(folder / f"{name}.json"))
        refused[name] = refuse
        if explain:
            x.astype("<f4").tofile(folder / f"{name}.train.f32")

    groups = [30] * (ROWS // 30)
    positive = np.exp(y / 4)
    train("squared", {"objective": "reg:squarederror"}, explain=True)
    train("squared, exact, pruned", {"objective": "reg:squarederror", "tree_method": "exact", "gamma": 3.0})
    train("by leaves", {"objective": "reg:squarederror", "grow_policy": "lossguide", "max_leaves": 20, "max_depth": 0})
    train("categories", {"objective": "reg:squarederror", "max_cat_to_onehot": 1}, categories=True)
    train("categories one against the rest", {"objective": "reg:squarederror", "max_cat_to_onehot": 100}, categories=True)
    train("categories, approximate", {"objective": "reg:squarederror", "tree_method": "approx"}, categories=True)
    for name in ("ndcg", "map", "pairwise"):
        train(f"rank {name}", {"objective": f"rank:{name}"}, grades > 0 if name == "map" else grades, group=groups)
    for name in ("logistic", "logitraw", "hinge"):
        train(f"binary {name}", {"objective": f"binary:{name}"}, grades > 0)
    train("logistic regression", {"objective": "reg:logistic"}, 1 / (1 + np.exp(-y)))
    train("multiclass", {"objective": "multi:softprob", "num_class": 4}, grades, rounds=15)
    train("multiclass, softmax", {"objective": "multi:softmax", "num_class": 4}, grades, rounds=15)
    for name in ("absoluteerror", "pseudohubererror"):
        train(name, {"objective": f"reg:{name}"})
    train("quantiles", {"objective": "reg:quantileerror", "quantile_alpha": [0.2, 0.8]}, rounds=15)
    for name in ("squaredlogerror", "gamma", "tweedie"):
        train(name, {"objective": f"reg:{name}"}, positive)
    train("poisson", {"objective": "count:poisson"}, positive)
    train("cox", {"objective": "survival:cox"}, positive)
    train("survival", {"objective": "survival:aft"}, bounds=positive)
    train("several labels", {"objective": "reg:squarederror"}, np.c_[y, -y, y * y], rounds=15)
    train("base of its own", {"objective": "reg:squarederror", "base_score": 123.5})
    train("dart", {"objective": "reg:squarederror", "booster": "dart", "rate_drop": 0.5})
    forest = {"objective": "reg:squarederror", "num_parallel_tree": 5, "subsample": 0.6, "colsample_bynode": 0.5}
    train("random forest", forest, rounds=8)
    leaves = {"objective": "reg:squarederror", "multi_strategy": "multi_output_tree"}
    train("vectors in leaves", leaves, np.c_[y, -y], rounds=5, refuse=True)
    train("linear", {"objective": "reg:squarederror", "booster": "gblinear"}, refuse=True)
    return refused
