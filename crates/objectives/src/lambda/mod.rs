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
#[cfg(test)]
mod testing;
