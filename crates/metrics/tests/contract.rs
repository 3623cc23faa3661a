//! Promises that every metric keeps. A new line of `METRICS` is tested here without a new test.

use proptest::prelude::*;
use toprank_core::{List, Lists, Policy, Ragged, Ties};
use toprank_metrics::{Better, METRICS, Measure, TieRule, Work, evaluate};

/// Parameters worth a test of their own, beside every name and, where there is a cut-off, the cuts 1, 2, 3 and 9.
const MORE: &str = "ndcg:gain=linear,ndcg@2:gain=0/1/5/5,dcg@3:gain=linear,ndcg:ideal=present,map@2:divisor=cut,\
    map:relevant=2,p@4:short=length,f1@4:short=length,judged@4:short=length,rprec:times=0.4,rprec:times=2,err@2:max=5,rbp:p=0.3,\
    rbp-residual:p=0.3,iprec:recall=0.7,11pt:points=0.2/0.8,p:recall=0.6,recall:precision=0.5,auprc:form=grouped,\
    auprc:form=area,pauc:fpr=0.3,pauc:fpr=0.6:from=0.2:scale=raw,pauc:fpr=0.5:tpr=0.4,pauc:fpr=0.4:scale=mcclish,\
    p-norm-push:p=1,p-norm-push:p=2.5:anchor=relevant";

fn all_measures(base: &Policy) -> Vec<Measure> {
    let cuts = |name: &'static str| [1, 2, 3, 9].map(|k| format!("{name}@{k}"));
    let has_cut = |entry: &&toprank_core::Entry<_>| entry.params.iter().any(|param| param.name == "@");
    let mut specs = vec![MORE.to_string()];
    specs.extend(METRICS.iter().map(|entry| entry.name.to_string()));
    specs.extend(METRICS.iter().filter(has_cut).flat_map(|entry| cuts(entry.name)));
    Measure::parse_all(&specs.join(","), base).unwrap()
}

fn with_ties(ties: Ties) -> Vec<Measure> {
    all_measures(&Policy { ties, ..Policy::default() })
}

fn value(measure: &Measure, list: &List) -> Option<f64> {
    measure.of_list(list, &mut Work::default()).unwrap()
}

/// A small list with many ties: scores 0, 1, 2, labels unjudged, −1, 0 … 3, a few judged items not retrieved.
#[derive(Clone, Debug)]
struct Case {
    scores: Vec<f64>,
    labels: Vec<f32>,
    missed: Vec<f32>,
}

impl Case {
    fn list(&self) -> List<'_> {
        List { missed: &self.missed, ..List::new(&self.scores, &self.labels) }
    }
}

fn label() -> impl Strategy<Value = f32> {
    prop::sample::select(vec![f32::NAN, -1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 2.0, 3.0])
}

fn case(longest: usize) -> impl Strategy<Value = Case> {
    let items = prop::collection::vec((0..3u8, label()), 0..=longest);
    (items, prop::collection::vec(prop::sample::select(vec![0.0f32, 1.0, 2.0]), 0..3)).prop_map(
        |(items, missed)| Case {
            scores: items.iter().map(|item| f64::from(item.0)).collect(),
            labels: items.iter().map(|item| item.1).collect(),
            missed,
        },
    )
}

/// All orders of `items`.
fn orders(items: &[usize]) -> Vec<Vec<usize>> {
    if items.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (i, &first) in items.iter().enumerate() {
        let mut rest = items.to_vec();
        rest.remove(i);
        for mut order in orders(&rest) {
            order.insert(0, first);
            all.push(order);
        }
    }
    all
}

/// The reference implementation of averaged ties: the mean over all orders of the items that agree with the scores.
fn mean_over_orders(measure: &Measure, case: &Case, weights: Option<&[f32]>) -> Option<f64> {
    let n = case.scores.len();
    let all = orders(&(0..n).collect::<Vec<_>>());
    let agree = all.iter().filter(|order| order.windows(2).all(|w| case.scores[w[0]] >= case.scores[w[1]]));
    let values: Vec<Option<f64>> = agree
        .map(|order| {
            let labels: Vec<f32> = order.iter().map(|&i| case.labels[i]).collect();
            let scores: Vec<f64> = (0..n).map(|place| -(place as f64)).collect();
            let weights: Option<Vec<f32>> =
                weights.map(|weights| order.iter().map(|&i| weights[i]).collect());
            let weights = weights.as_deref();
            value(measure, &List { missed: &case.missed, weights, ..List::new(&scores, &labels) })
        })
        .collect();
    let sum: Option<f64> = values.iter().copied().sum();
    sum.map(|sum| sum / values.len() as f64)
}

fn same(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-12,
        (a, b) => a.is_none() == b.is_none(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn averaged_ties_are_the_mean_over_all_orders(case in case(6), factors in prop::collection::vec(1..5u8, 6)) {
        let weights: Vec<f32> = factors[..case.scores.len()].iter().map(|&w| f32::from(w)).collect();
        for measure in with_ties(Ties::Averaged) {
            for weights in [None, Some(weights.as_slice())] {
                let metric = measure.metric();
                let expected = metric.tie_rule(weights.is_some()) == TieRule::Expected;
                // Weights that the metric does not read are another test.
                if expected && (weights.is_none() || metric.takes_item_weights()) {
                    let got = value(&measure, &List { weights, ..case.list() });
                    let want = mean_over_orders(&measure, &case, weights);
                    prop_assert!(same(got, want), "{}: {got:?}, over all orders {want:?}", measure.name());
                }
            }
        }
    }

    #[test]
    fn the_order_of_the_input_does_not_matter_under_averaged_ties(case in case(12), turn in 0..12usize) {
        let mut turned = case.clone();
        if !turned.scores.is_empty() {
            let by = turn % turned.scores.len();
            turned.scores.rotate_left(by);
            turned.labels.rotate_left(by);
            turned.scores.reverse();
            turned.labels.reverse();
        }
        for measure in with_ties(Ties::Averaged) {
            let (got, want) = (value(&measure, &turned.list()), value(&measure, &case.list()));
            prop_assert!(same(got, want), "{}: {got:?} and {want:?}", measure.name());
        }
    }

    #[test]
    fn adding_a_constant_to_all_scores_changes_nothing(case in case(12)) {
        let mut moved = case.clone();
        moved.scores.iter_mut().for_each(|score| *score -= 100.0);
        for ties in [Ties::Averaged, Ties::Input, Ties::Worst] {
            for measure in with_ties(ties) {
                prop_assert_eq!(value(&measure, &moved.list()), value(&measure, &case.list()), "{}", measure.name());
            }
        }
    }

    #[test]
    fn every_value_lies_in_its_range(case in case(12)) {
        for ties in [Ties::Averaged, Ties::Trec, Ties::Input, Ties::Worst] {
            for measure in with_ties(ties) {
                if let Some(value) = value(&measure, &case.list()) {
                    let range = match measure.entry().name {
                        "dcg" => 0.0..=1000.0,
                        "kendall" | "spearman" => -1.0..=1.0,
                        _ => 0.0..=1.0,
                    };
                    prop_assert!(range.contains(&value), "{}: {value}", measure.name());
                }
            }
        }
    }

    #[test]
    fn the_worst_order_is_never_better_than_the_average(case in case(12)) {
        for (worst, averaged) in with_ties(Ties::Worst).iter().zip(with_ties(Ties::Averaged)) {
            let (low, mean) = (value(worst, &case.list()), value(&averaged, &case.list()));
            prop_assert_eq!(low.is_some(), mean.is_some());
            let (Some(low), Some(mean)) = (low, mean) else { continue };
            let ahead = if worst.metric().better() == Better::Higher { low - mean } else { mean - low };
            prop_assert!(ahead <= 1e-12, "{}: worst {low}, averaged {mean}", worst.name());
        }
    }

    #[test]
    fn looking_at_the_top_only_gives_the_same_value(
        scores in prop::collection::vec(0..40u8, 20..80),
        labels in prop::collection::vec(label(), 80),
    ) {
        let n = scores.len();
        let scores: Vec<f64> = scores.into_iter().map(f64::from).collect();
        let lists = Lists::from_lengths(&[n], labels[..n].to_vec());
        for ties in [Ties::Averaged, Ties::Input, Ties::Worst] {
            let whole = evaluate(&lists, &scores, &with_ties(ties)).unwrap(); // some metric needs the whole order
            for (measure, want) in with_ties(ties).iter().zip(whole.results) {
                let alone = evaluate(&lists, &scores, std::slice::from_ref(measure)).unwrap();
                prop_assert!(same(alone.results[0].mean, want.mean), "{}", measure.name());
            }
        }
    }

    #[test]
    fn item_weights_enter_where_the_metric_says_so(case in case(8), factors in prop::collection::vec(1..5u8, 8)) {
        let n = case.scores.len();
        let weights: Vec<f32> = factors[..n].iter().map(|&w| f32::from(w)).collect();
        let doubled: Vec<f32> = weights.iter().map(|w| 2.0 * w).collect();
        let ones = vec![1.0; n];
        // Items that were not retrieved weigh 1 each, so scaling is only promised without them.
        let list = |weights| List { weights, ..List::new(&case.scores, &case.labels) };
        for measure in with_ties(Ties::Averaged) {
            let plain = value(&measure, &list(None));
            let weighted = value(&measure, &list(Some(&weights)));
            if measure.metric().takes_item_weights() {
                let twice = value(&measure, &list(Some(&doubled)));
                prop_assert!(same(twice, weighted), "{}: {twice:?} and {weighted:?}", measure.name());
                if measure.metric().tie_rule(true) == measure.metric().tie_rule(false) {
                    prop_assert!(same(value(&measure, &list(Some(&ones))), plain), "{}", measure.name());
                }
            } else {
                prop_assert_eq!(weighted, plain, "{}", measure.name());
            }
        }
    }
}

#[test]
fn odd_lists_give_a_number_or_nothing_and_never_panic() {
    let labels: [&[f32]; 9] = [
        &[],
        &[0.0],
        &[1.0],
        &[f32::NAN],
        &[-1.0],
        &[0.0; 5],
        &[2.0; 5],
        &[f32::NAN; 5],
        &[1.0, 0.0, f32::NAN, -1.0, 2.0],
    ];
    for labels in labels {
        for scores in [vec![1.0; labels.len()], (0..labels.len()).map(|i| i as f64).collect()] {
            for missed in [&[][..], &[1.0], &[0.0]] {
                for ties in [Ties::Averaged, Ties::Trec, Ties::Input, Ties::Worst] {
                    let list = List { missed, ..List::new(&scores, labels) };
                    for measure in with_ties(ties) {
                        let got = value(&measure, &list);
                        assert!(got.is_none_or(f64::is_finite), "{}: {got:?} on {list:?}", measure.name());
                    }
                }
            }
        }
    }
}

#[test]
fn weights_of_nothing_are_no_class() {
    let list = List { weights: Some(&[0.0, 0.0, 0.0]), ..List::new(&[3.0, 2.0, 1.0], &[1.0, 0.0, 2.0]) };
    for measure in with_ties(Ties::Averaged) {
        let got = value(&measure, &list);
        assert!(got.is_none_or(f64::is_finite), "{}: {got:?}", measure.name());
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads_to_the_bit() {
    let mut random = toprank_core::Stream::new(1, "contract").open();
    let lengths: Vec<usize> = (0..3000).map(|q| if q == 7 { 70_000 } else { random.below(40) }).collect();
    let n: usize = lengths.iter().sum();
    let labels = (0..n).map(|_| random.below(4) as f32).collect();
    let mut lists = Lists::from_lengths(&lengths, labels);
    lists.list_weights = Some(lengths.iter().map(|_| random.below(9) as f32 / 8.0).collect());
    let offsets: Vec<u64> = (0..=lengths.len() as u64).collect();
    lists.missed = Some(Ragged { offsets, values: lengths.iter().map(|_| random.below(2) as f32).collect() });
    let scores: Vec<f64> = (0..n).map(|_| (random.unit() * 1000.0).floor()).collect();
    let measures = with_ties(Ties::Averaged);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let evaluation = pool.install(|| evaluate(&lists, &scores, &measures)).unwrap();
        let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        evaluation.results.iter().map(|r| (r.mean.map(f64::to_bits), bits(&r.per_list))).collect::<Vec<_>>()
    };
    let one = on(1);
    assert!(on(2) == one && on(5) == one);
}
