//! One body, compiled twice: for the CPU at hand with AVX2 and FMA, and for any CPU.

/// Defines a function whose loops the compiler may vectorise with AVX2 where the CPU has it.
///
/// The body is inlined into two functions; which one runs is decided at run time. Rust never fuses a product and a
/// sum on its own, so both give the same bits unless the body calls `mul_add`.
macro_rules! vectorised {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        $(#[$meta])*
        #[inline]
        $vis fn $name($($arg: $type),*) $(-> $ret)? {
            #[inline(always)]
            fn body($($arg: $type),*) $(-> $ret)? $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma")]
                fn with_avx2($($arg: $type),*) $(-> $ret)? {
                    body($($arg),*)
                }
                if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
                    // SAFETY: `with_avx2` needs AVX2 and FMA, and both were found just above.
                    #[allow(unsafe_code)]
                    return unsafe { with_avx2($($arg),*) };
                }
            }
            body($($arg),*)
        }
    };
}
