//! Pair losses weighted by what a swap would change in the measure.
