//! Lambda methods: a logistic loss over pairs, each weighted by how much swapping the two items would change a metric.
//!
//! One mechanism (`mechanism.rs`) sums over the pairs; an objective defines the weight of a pair of ranks. The weights are
//! frozen: computed from the present order, and constants of the gradient.

pub mod lambda_err;
pub mod lambda_map;
pub mod lambda_mrr;
pub mod lambda_p;
pub mod lambdarank;
mod mechanism;
pub mod ndcg_loss1;
pub mod ndcg_loss2;
pub mod ndcg_loss2pp;
mod row;

use crate::catalog::family;

family! { "lambda":
    lambdarank = "lambdarank": "logistic loss over pairs, weighted by how much a swap changes NDCG";
    lambda_map = "lambda-map": "logistic loss over pairs, weighted by how much a swap changes average precision";
    lambda_mrr = "lambda-mrr": "logistic loss over pairs, weighted by how much a swap changes the reciprocal rank";
    lambda_err = "lambda-err": "logistic loss over pairs, weighted by how much a swap changes ERR";
    lambda_p = "lambda-p": "logistic loss over pairs, weighted by how much a swap changes precision at K";
    ndcg_loss1 = "ndcg-loss1": "LambdaLoss: each gain against all other items";
    ndcg_loss2 = "ndcg-loss2": "LambdaLoss: pairs weighted by a tight bound on NDCG";
    ndcg_loss2pp = "ndcg-loss2pp": "LambdaLoss: NDCG-Loss2 and LambdaRank together";
}

#[cfg(test)]
mod testing;
