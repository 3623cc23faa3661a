//! Helpers for functions that `toprank_core::vectorised` compiles twice.

/// a·b + c; rounded once if `FUSED`. Only a body that [`toprank_core::vectorised`] compiles for FMA should ask for it:
/// elsewhere it is a slow function call.
#[inline(always)]
#[allow(clippy::inline_always)] // must be inlined to become one instruction
pub(crate) fn fma<const FUSED: bool>(a: f64, b: f64, c: f64) -> f64 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}
