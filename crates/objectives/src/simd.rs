//! What bodies that `toprank_core::vectorised` compiles twice have in common.

/// a·b + c; rounded once if `FUSED`, which only a body that [`toprank_core::vectorised`] compiles for FMA should ask for: elsewhere it
/// is a slow call.
#[inline(always)]
#[allow(clippy::inline_always)] // must become an instruction of its caller
pub(crate) fn fma<const FUSED: bool>(a: f64, b: f64, c: f64) -> f64 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}
