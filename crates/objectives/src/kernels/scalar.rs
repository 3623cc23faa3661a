//! Functions of one number without overflow or cancellation.

/// σ(x) = 1/(1 + e^{−x}).
///
/// ```
/// use toprank_objectives::kernels::scalar::sigmoid;
/// assert_eq!(sigmoid(0.0), 0.5);
/// assert_eq!((sigmoid(-1e4), sigmoid(1e4)), (0.0, 1.0));
/// ```
#[inline]
pub fn sigmoid(x: f64) -> f64 {
    let e = (-x.abs()).exp();
    if x >= 0.0 { 1.0 / (1.0 + e) } else { e / (1.0 + e) }
}

/// ln(1 + e^x).
///
/// ```
/// use toprank_objectives::kernels::scalar::softplus;
/// assert_eq!(softplus(0.0), 2f64.ln());
/// assert_eq!((softplus(-1e4), softplus(1e4)), (0.0, 1e4));
/// ```
#[inline]
pub fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// ln Σ e^{x_j}; −∞ of nothing.
///
/// ```
/// use toprank_objectives::kernels::scalar::log_sum_exp;
/// assert!((log_sum_exp(&[1e3, 1e3]) - (1e3 + 2f64.ln())).abs() < 1e-12);
/// ```
pub fn log_sum_exp(x: &[f64]) -> f64 {
    let top = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if top.is_infinite() {
        return top;
    }
    top + x.iter().map(|v| (v - top).exp()).sum::<f64>().ln()
}

/// Fills `p` with e^{x_j}/Σ e^{x_k} and gives (top, log), where ln p_j = (x_j − top) − log: no digits are lost to an
/// offset of all x.
///
/// ```
/// use toprank_objectives::kernels::scalar::softmax;
/// let mut p = [0.0; 2];
/// assert_eq!(softmax(&[1e9, 1e9], &mut p), (1e9, 2f64.ln()));
/// assert_eq!(p, [0.5, 0.5]);
/// ```
pub fn softmax(x: &[f64], p: &mut [f64]) -> (f64, f64) {
    let top = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    for (p, x) in p.iter_mut().zip(x) {
        *p = (x - top).exp();
    }
    let total: f64 = p.iter().sum();
    for p in p {
        *p /= total;
    }
    (top, total.ln())
}

/// ln(e^a + e^b).
///
/// ```
/// use toprank_objectives::kernels::scalar::log_add_exp;
/// assert_eq!(log_add_exp(f64::NEG_INFINITY, 2.0), 2.0);
/// ```
#[inline]
pub fn log_add_exp(a: f64, b: f64) -> f64 {
    let (high, low) = if a >= b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}

/// The number from `low` to `high` that is next to x. Unlike `clamp` it takes bounds that scores of any size can make of
/// themselves: a bound that is NaN is none, and of crossed bounds it gives one.
///
/// ```
/// use toprank_objectives::kernels::scalar::within;
/// assert_eq!((within(3.0, 0.0, 1.0), within(3.0, 0.0, f64::NAN), within(-3.0, 1.0, 0.0)), (1.0, 3.0, 1.0));
/// ```
#[inline]
pub fn within(x: f64, low: f64, high: f64) -> f64 {
    if x < low {
        low
    } else if x > high {
        high
    } else {
        x
    }
}
