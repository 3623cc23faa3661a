//! The example of a user's own network does what it says.
#![cfg(feature = "neural")]

#[path = "../examples/own_network.rs"]
mod example;

#[test]
fn a_users_own_network_learns_by_one_of_our_objectives() {
    let (before, after) = example::train().unwrap();
    assert!(before < 0.6 && after > 0.9, "NDCG@5 {before} before, {after} after");
}
