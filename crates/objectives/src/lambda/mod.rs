//! Lambda methods: a logistic loss of pairs, each weighted by what swapping the two would change in a measure.
//!
//! One mechanism (`mechanism.rs`) walks over the pairs; an instance gives the weight of a pair of ranks. The weights are
//! frozen: computed from the present order, constant in the gradient.

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
#[cfg(test)]
mod testing;
