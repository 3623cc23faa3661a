//! One function body, compiled twice: for CPUs with AVX2 and FMA, and for any CPU.

/// Defines a function whose loops the compiler may vectorise with AVX2 if the CPU has it.
///
/// The body is inlined into two functions; which one runs is decided at run time. Rust never fuses a product and a
/// sum on its own, so both give the same bits, unless the function is written `fn name<FUSED>(…)`: then the body knows
/// the constant `FUSED`, true where `mul_add` is one instruction, and may round differently there.
///
/// ```
/// toprank_core::vectorised! {
///     fn double(values: &mut [f64]) {
///         values.iter_mut().for_each(|value| *value *= 2.0);
///     }
/// }
/// let mut values = [1.0, 2.0];
/// double(&mut values);
/// assert_eq!(values, [2.0, 4.0]);
/// ```
#[macro_export]
macro_rules! vectorised {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        $crate::vectorised! { $(#[$meta])* $vis fn $name<_FUSED>($($arg: $type),*) $(-> $ret)? $body }
    };
    (
        $(#[$meta:meta])* $vis:vis fn $name:ident<$fused:ident>($($arg:ident: $type:ty),* $(,)?) $(-> $ret:ty)?
        $body:block
    ) => {
        $(#[$meta])*
        #[inline]
        $vis fn $name($($arg: $type),*) $(-> $ret)? {
            #[inline(always)]
            fn body<const $fused: bool>($($arg: $type),*) $(-> $ret)? $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma")]
                fn with_avx2($($arg: $type),*) $(-> $ret)? {
                    body::<true>($($arg),*)
                }
                if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
                    // SAFETY: `with_avx2` needs AVX2 and FMA, and both were found just above.
                    #[allow(unsafe_code)]
                    return unsafe { with_avx2($($arg),*) };
                }
            }
            body::<false>($($arg),*)
        }
    };
}
