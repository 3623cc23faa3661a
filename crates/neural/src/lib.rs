//! **Score by a network, learn from ∂loss/∂score.** Linear models, multi-layer perceptrons and the context-aware ranker,
//! built from burn modules; a user's own module trains the same way.
//!
//! Invariants:
//! - a network is a function of one flat slice of parameters; each shard builds its own leaves from it;
//! - burn types stay inside this room, but for those who bring their own module;
//! - random numbers of dropout and noise come from the stream of the step, never from a process-wide generator.
