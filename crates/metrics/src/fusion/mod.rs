/*!
Rank fusion: one order from the scores of several runs for the same query.

Runs come aligned: `scores[run][document]`, NaN = not retrieved by that run. The fused score of a document that no
run retrieved is NaN too. [`FUSIONS`] is the one table of methods; the grammar is `rrf:k=60`,
`combsum:norm=minmax`.

```text
rrf      Σ_runs 1 / (k + rank)                        rank from 1, over the runs that retrieved the document
borda    Σ_runs points;  c documents retrieved by any run, of which r by this one:
         c − rank + 1 if retrieved, else (c − r + 1)/2, the mean of the points left over
combsum  Σ s     combmnz  count · Σ s     combanz  Σ s / count     combmax, combmin, combmed
         s: normalised scores of the runs that retrieved the document, count: their number
norm=    minmax (s − min)/(max − min)   sum (s − min)/Σ(s − min)   zscore (s − mean)/deviation   none s
```

Sources: Cormack, Clarke, Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank learning
methods", SIGIR 2009 (rrf); Aslam, Montague, "Models for metasearch", SIGIR 2001 (borda); Fox, Shaw, "Combination of
multiple searches", TREC-2, 1993 (comb…); Montague, Aslam, "Relevance score normalization for metasearch", CIKM 2001
(norms).

**Ties**: documents of equal score in a run share the mean of their ranks, so the result does not depend on the
order of documents. ranx takes them in the order given; without ties the numbers are those of ranx.
A run of one score for all has normalised scores 0. The deviation of zscore is that of the whole (divisor n).
Cost: O(runs × documents) for comb…, O(runs × documents × log documents) for rrf and borda.
*/

use crate::significance::{as_kind, make};
use toprank_core::{Entry, Param, ParamError, Spec};

/// A way to fuse runs; see the [module](self).
pub trait Fusion: Send + Sync {
    /// Fuses `scores[run][document]` into one score per document in `fused`.
    ///
    /// # Panics
    /// If a run has another number of documents than `fused`.
    fn fuse_into(&self, scores: &[&[f64]], scratch: &mut Scratch, fused: &mut [f64]);
}

/// Working memory of a fusion, kept from query to query.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    order: Vec<u32>,
    row: Vec<f64>,
    columns: Vec<f64>,
}

/// Fuses the runs of one query: `scores[run][document]`, NaN = not retrieved.
///
/// Refused if a retrieved document gets a score that is not finite: a run holds infinite scores, or scores too
/// large to be added.
///
/// # Panics
/// If the runs differ in length.
///
/// ```
/// use toprank_metrics::fusion::{fuse, parse};
/// let nan = f64::NAN;
/// let fused = fuse(parse("rrf").unwrap().as_ref(), &[&[9.0, 7.0, nan], &[nan, 0.2, nan]]).unwrap();
/// assert_eq!(fused[..2], [1.0 / 61.0, 1.0 / 62.0 + 1.0 / 61.0]);
/// assert!(fused[2].is_nan());
/// ```
pub fn fuse(fusion: &dyn Fusion, scores: &[&[f64]]) -> Result<Vec<f64>, ParamError> {
    let mut fused = vec![0.0; scores.first().map_or(0, |run| run.len())];
    fusion.fuse_into(scores, &mut Scratch::default(), &mut fused);
    check(scores, &fused)?;
    Ok(fused)
}

/// Fuses runs query by query: `scores[run]` is a column over the documents of all queries, which `offsets` cut; only the `depth`
/// best documents of a query (and what ties with the last of them) keep their score, the others get NaN.
///
/// ```
/// use toprank_metrics::fusion::{fuse_queries, parse};
/// let scores = [&[3.0, 1.0, 2.0][..], &[1.0, 0.5, 4.0][..]];
/// let fused = fuse_queries(parse("combmax:norm=none").unwrap().as_ref(), &scores, &[0, 2, 3], Some(1)).unwrap();
/// assert!(fused[0] == 3.0 && fused[1].is_nan() && fused[2] == 4.0);
/// ```
///
/// # Errors
/// The number of the query at fault, from 0, and what [`check`] says about it.
///
/// # Panics
/// If the columns differ in length or are not what `offsets` cut.
pub fn fuse_queries(
    fusion: &dyn Fusion,
    scores: &[&[f64]],
    offsets: &[u64],
    depth: Option<usize>,
) -> Result<Vec<f64>, (usize, ParamError)> {
    let mut fused = vec![0.0; scores.first().map_or(0, |run| run.len())];
    let mut scratch = Scratch::default();
    for (query, range) in offsets.windows(2).enumerate() {
        let range = range[0] as usize..range[1] as usize;
        let columns: Vec<&[f64]> = scores.iter().map(|run| &run[range.clone()]).collect();
        let out = &mut fused[range];
        fusion.fuse_into(&columns, &mut scratch, out);
        check(&columns, out).map_err(|error| (query, error))?;
        if let Some(depth) = depth {
            forget_below(out, depth);
        }
    }
    Ok(fused)
}

/// Keeps the `depth` best scores (and what ties with the last of them), makes the others NaN.
fn forget_below(scores: &mut [f64], depth: usize) {
    let mut sorted: Vec<f64> = scores.iter().copied().filter(|score| !score.is_nan()).collect();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    if let Some(&last) = depth.checked_sub(1).and_then(|place| sorted.get(place)) {
        scores.iter_mut().filter(|score| **score < last).for_each(|score| *score = f64::NAN);
    }
}

/// Refuses fused scores of retrieved documents that are not finite; for callers of [`Fusion::fuse_into`].
pub fn check(scores: &[&[f64]], fused: &[f64]) -> Result<(), ParamError> {
    for (document, score) in fused.iter().enumerate() {
        if !score.is_finite() && scores.iter().any(|run| !run[document].is_nan()) {
            let what = format!("the fused score of document {}", document + 1);
            let expected = "finite (a run holds infinite scores or scores too large to be added)";
            return Err(ParamError::new(&what, &score.to_string(), expected));
        }
    }
    Ok(())
}

/// Makes the fusion a text such as `combmnz:norm=zscore` names; `comb-sum` and `combSUM` are understood.
///
/// ```
/// let error = toprank_metrics::fusion::parse("condorcet").err().unwrap();
/// assert!(error.to_string().starts_with("unknown fusion method \"condorcet\"; expected one of rrf, combsum,"));
/// ```
pub fn parse(text: &str) -> Result<Box<dyn Fusion>, ParamError> {
    let mut spec = Spec::parse(text).map_err(|error| as_kind(error, "fusion"))?;
    spec.name = spec.name.replace(['-', '_'], "");
    make(FUSIONS, "fusion method", &spec)
}

const PAGE: &str = "\
Scores of one query from several runs become one score per document; NaN = not retrieved.

  rrf      Σ 1 / (k + rank) over the runs that retrieved the document
  borda    Σ points: c − rank + 1 of c candidates; not retrieved: the mean of the points left over
  combsum  Σ s      combmnz  count · Σ s      combanz  Σ s / count      combmax, combmin, combmed
  norm=    minmax (s − min)/(max − min), sum (s − min)/Σ(s − min), zscore (s − mean)/deviation, none

Documents of equal score in a run share the mean of their ranks. A run of one score for all has normalised scores
0. Sources: Cormack et al. 2009 (rrf), Aslam and Montague 2001 (borda), Fox and Shaw 1993 (comb…).";

const NORM: &[Param] = &[Param {
    name: "norm",
    default: "minmax",
    range: "minmax, sum, zscore or none",
    about: "how the scores of a run are made comparable",
}];

const fn comb(name: &'static str, about: &'static str, make: MakeFusion) -> Entry<dyn Fusion> {
    Entry { name, family: "fusion", about, page: PAGE, params: NORM, make }
}

type MakeFusion = fn(&Spec) -> Result<Box<dyn Fusion>, ParamError>;

/// All fusions.
pub static FUSIONS: &[Entry<dyn Fusion>] = &[
    Entry {
        name: "rrf",
        family: "fusion",
        about: "reciprocal rank fusion",
        page: PAGE,
        params: &[Param { name: "k", default: "60", range: "≥ 0", about: "damps the first ranks" }],
        make: |spec| {
            let k = spec.args.number("k", 60.0, "a number ≥ 0", |k| k >= 0.0 && k.is_finite())?;
            Ok(Box::new(ReciprocalRank { k }))
        },
    },
    comb("combsum", "sum of normalised scores", |spec| Comb::boxed(spec, Join::Sum)),
    comb(
        "combmnz",
        "sum of normalised scores times the number of runs that retrieved the document",
        |spec| Comb::boxed(spec, Join::Mnz),
    ),
    comb("combanz", "mean normalised score over the runs that retrieved the document", |spec| {
        Comb::boxed(spec, Join::Anz)
    }),
    comb("combmax", "largest normalised score", |spec| Comb::boxed(spec, Join::Max)),
    comb("combmin", "smallest normalised score of the runs that retrieved the document", |spec| {
        Comb::boxed(spec, Join::Min)
    }),
    comb("combmed", "median normalised score of the runs that retrieved the document", |spec| {
        Comb::boxed(spec, Join::Med)
    }),
    Entry {
        name: "borda",
        family: "fusion",
        about: "Borda count: points for ranks",
        page: PAGE,
        params: &[],
        make: |_| Ok(Box::new(Borda)),
    },
];

/// Reciprocal rank fusion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReciprocalRank {
    /// Damps the first ranks; 60 in the paper.
    pub k: f64,
}

impl Fusion for ReciprocalRank {
    fn fuse_into(&self, scores: &[&[f64]], scratch: &mut Scratch, fused: &mut [f64]) {
        blank_unless_retrieved(scores, fused);
        for run in scores {
            for_each_rank(run, &mut scratch.order, |document, rank| fused[document] += 1.0 / (self.k + rank));
        }
    }
}

/// Borda count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Borda;

impl Fusion for Borda {
    fn fuse_into(&self, scores: &[&[f64]], scratch: &mut Scratch, fused: &mut [f64]) {
        blank_unless_retrieved(scores, fused);
        let candidates = fused.iter().filter(|score| !score.is_nan()).count() as f64;
        for run in scores {
            let retrieved = run.iter().filter(|score| !score.is_nan()).count() as f64;
            let left_over = f64::midpoint(candidates - retrieved, 1.0);
            for (fused, score) in fused.iter_mut().zip(*run) {
                if score.is_nan() {
                    *fused += left_over;
                }
            }
            for_each_rank(run, &mut scratch.order, |document, rank| {
                fused[document] += candidates - rank + 1.0;
            });
        }
    }
}

/// 0 for documents that some run retrieved, NaN for the others.
fn blank_unless_retrieved(scores: &[&[f64]], fused: &mut [f64]) {
    fused.fill(f64::NAN);
    for run in scores {
        assert_eq!(run.len(), fused.len(), "one score per document for every run");
        for (fused, score) in fused.iter_mut().zip(*run) {
            if !score.is_nan() {
                *fused = 0.0;
            }
        }
    }
}

/// Calls `take(document, rank)` for every retrieved document; ranks from 1, equal scores share their mean rank.
fn for_each_rank(run: &[f64], order: &mut Vec<u32>, mut take: impl FnMut(usize, f64)) {
    order.clear();
    order.extend((0..run.len() as u32).filter(|&document| !run[document as usize].is_nan()));
    order.sort_unstable_by(|&a, &b| run[b as usize].total_cmp(&run[a as usize]).then(a.cmp(&b)));
    let mut start = 0;
    while start < order.len() {
        let score = run[order[start] as usize];
        // Plain equality: −0 and 0 tie, and total_cmp has put them side by side.
        let group = order[start..].iter().take_while(|&&document| run[document as usize] == score).count();
        let rank = start as f64 + f64::midpoint(group as f64, 1.0);
        order[start..start + group].iter().for_each(|&document| take(document as usize, rank));
        start += group;
    }
}

/// How the scores of a run are made comparable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Norm {
    /// (s − min)/(max − min).
    #[default]
    MinMax,
    /// (s − min)/Σ(s − min).
    Sum,
    /// (s − mean)/deviation.
    ZScore,
    /// As they are.
    None,
}

impl Norm {
    /// Shift and divisor of a run: s → (s − shift)/divisor. Equal scores are divided to 0.
    fn of(self, run: &[f64]) -> (f64, f64) {
        let retrieved = || run.iter().copied().filter(|score| !score.is_nan());
        let count = retrieved().count() as f64;
        let least = retrieved().fold(f64::INFINITY, f64::min);
        let most = retrieved().fold(f64::NEG_INFINITY, f64::max);
        let (shift, divisor) = match self {
            Norm::None => return (0.0, 1.0),
            _ if least == most => return (least, f64::INFINITY),
            Norm::MinMax => (least, most - least),
            Norm::Sum => (least, retrieved().map(|score| score - least).sum()),
            Norm::ZScore => {
                let mean = retrieved().sum::<f64>() / count;
                (mean, (retrieved().map(|score| (score - mean).powi(2)).sum::<f64>() / count).sqrt())
            }
        };
        // A divisor that overflowed would turn every score to 0 in silence; NaN is found by `check`.
        (shift, if divisor.is_finite() { divisor } else { f64::NAN })
    }
}

/// How the normalised scores of a document are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// Σ s.
    Sum,
    /// count · Σ s.
    Mnz,
    /// Σ s / count.
    Anz,
    /// The largest.
    Max,
    /// The smallest.
    Min,
    /// The median; of an even number the mean of the middle two.
    Med,
}

/// CombSUM and its kin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comb {
    /// Normalisation of each run.
    pub norm: Norm,
    /// Join over runs.
    pub join: Join,
}

impl Comb {
    fn boxed(spec: &Spec, join: Join) -> Result<Box<dyn Fusion>, ParamError> {
        let norm = match spec.args.get("norm").unwrap_or("minmax") {
            "minmax" => Norm::MinMax,
            "sum" => Norm::Sum,
            "zscore" => Norm::ZScore,
            "none" => Norm::None,
            other => return Err(ParamError::new("norm", other, NORM[0].range)),
        };
        Ok(Box::new(Comb { norm, join }))
    }
}

impl Fusion for Comb {
    fn fuse_into(&self, scores: &[&[f64]], scratch: &mut Scratch, fused: &mut [f64]) {
        let (runs, documents) = (scores.len(), fused.len());
        // One row of normalised scores per document, so that a join sees them side by side.
        scratch.columns.clear();
        scratch.columns.resize(runs * documents, f64::NAN);
        for (run, scores) in scores.iter().enumerate() {
            assert_eq!(scores.len(), documents, "one score per document for every run");
            let (shift, divisor) = self.norm.of(scores);
            for (document, score) in scores.iter().enumerate() {
                scratch.columns[document * runs + run] = (score - shift) / divisor;
            }
        }
        for (document, fused) in fused.iter_mut().enumerate() {
            let all = &scratch.columns[document * runs..][..runs];
            scratch.row.clear();
            let retrieved = scores.iter().zip(all).filter(|(run, _)| !run[document].is_nan());
            scratch.row.extend(retrieved.map(|(_, score)| *score));
            *fused = if scratch.row.is_empty() { f64::NAN } else { self.join.of(&mut scratch.row) };
        }
    }
}

impl Join {
    /// Joins the scores of one document, at least one. Sorted first: the result does not depend on the order of runs.
    fn of(self, scores: &mut [f64]) -> f64 {
        scores.sort_unstable_by(f64::total_cmp);
        let count = scores.len();
        let sum = || scores.iter().sum::<f64>();
        match self {
            Join::Sum => sum(),
            Join::Mnz => sum() * count as f64,
            Join::Anz => sum() / count as f64,
            Join::Max => scores[count - 1],
            Join::Min => scores[0],
            Join::Med => f64::midpoint(scores[(count - 1) / 2], scores[count / 2]),
        }
    }
}

#[cfg(test)]
mod tests;
