"""An Optuna study: every epoch is reported, trials that fall behind are pruned, and the best settings train the model."""

import numpy as np
import optuna

import toprank


def lists(count: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Queries of ten documents, whose labels follow two of six features."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(10 * count, 6)).astype(np.float32)
    worth = X[:, 0] + np.abs(X[:, 1]) + 0.3 * random.normal(size=len(X))
    return X, np.digitize(worth, [0.5, 1.5]), np.repeat(np.arange(count), 10)


def main() -> tuple[optuna.Study, float]:
    X, y, q = lists(60, 1)
    V, v, w = lists(30, 2)

    def objective(trial: optuna.Trial) -> float:
        ranker = toprank.Ranker(
            "trees",
            "ndcg@5",
            trees=20,
            leaves=trial.suggest_int("leaves", 4, 32, log=True),
            learning_rate=trial.suggest_float("learning_rate", 0.01, 0.5, log=True),
        )

        def report(epoch: toprank.Epoch) -> bool:
            trial.report(epoch.metric, epoch.epoch)
            if trial.should_prune():
                raise optuna.TrialPruned
            return False

        ranker.fit(X, y, qid=q, eval_set=(V, v), eval_qid=w, callbacks=report)
        return ranker.best_score_

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    pruner = optuna.pruners.MedianPruner(n_startup_trials=3)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=1), pruner=pruner)
    study.optimize(objective, n_trials=8)
    best = toprank.Ranker("trees", "ndcg@5", trees=20, **study.best_params).fit(X, y, qid=q, eval_set=(V, v), eval_qid=w)
    print(study.best_params, best.best_score_)
    return study, best.best_score_


if __name__ == "__main__":
    main()
