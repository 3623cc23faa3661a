//! Any number of workers grows the trees of one.

use std::ops::Range;

use toprank_core::Stream;
use toprank_core::collective::{Alone, Collective, Threads};
use toprank_data::Matrix;

use crate::{BinSettings, Bins, Booster, Boosting, Category, Ensemble, Growth, Sampling};

const WIDTH: usize = 5;

/// Lists of 1 to 12 rows: three numeric features, two with missing values, one with categories, one that is nearly always 0.
struct Data {
    offsets: Vec<u64>,
    values: Vec<f32>,
    labels: Vec<f64>,
}

impl Data {
    fn drawn(lists: usize, seed: u64) -> Data {
        let mut random = Stream::new(seed, "workers").open();
        let mut data = Data { offsets: vec![0], values: Vec::new(), labels: Vec::new() };
        for _ in 0..lists {
            for _ in 0..=random.below(12) {
                let category = random.below(6);
                let (a, b) = (random.unit() as f32, random.unit() as f32);
                let missing = |value: f32, at: f64| if at < 0.1 { f32::NAN } else { value };
                let rare = if random.below(30) == 0 { 1.0 + random.below(3) as f32 } else { 0.0 };
                let row =
                    [a, missing(b, random.unit()), missing(a * b, random.unit()), category as f32, rare];
                data.values.extend(row);
                let signal = f64::from(a) * [1.0, -1.0, 0.5, 0.0, 2.0, -0.3][category] + f64::from(rare);
                data.labels.push(signal + 0.3 * random.unit());
            }
            data.offsets.push(data.labels.len() as u64);
        }
        data
    }

    /// Some of the lists: their offsets, features and labels.
    fn part(&self, lists: Range<usize>) -> (Vec<u64>, Matrix, &[f64]) {
        let first = self.offsets[lists.start];
        let offsets: Vec<u64> =
            self.offsets[lists.start..=lists.end].iter().map(|offset| offset - first).collect();
        let rows = first as usize..self.offsets[lists.end] as usize;
        let values = self.values[rows.start * WIDTH..rows.end * WIDTH].to_vec();
        (offsets, Matrix::Dense { width: WIDTH, values }, &self.labels[rows])
    }
}

/// What one worker ends with: squared loss, the second output with the labels turned around.
fn trained(
    workers: &dyn Collective,
    (offsets, rows, labels): (Vec<u64>, Matrix, &[f64]),
    outputs: usize,
    settings: &Boosting,
    bins: &BinSettings,
    rounds: Range<usize>,
    from: Option<&Ensemble>,
) -> Ensemble {
    let categorical = [false, false, false, true, false];
    let bins = Bins::fit_among(workers, &rows, &categorical, bins).unwrap();
    let data = bins.apply(&rows).unwrap();
    let ensemble = from.cloned().unwrap_or_else(|| Ensemble::new(WIDTH, outputs));
    let scores = if rows.rows() == 0 || from.is_none() {
        vec![0.0; rows.rows() * outputs]
    } else {
        ensemble.score(&rows).unwrap()
    };
    let mut booster =
        Booster::resume_among(workers, &data, &offsets, settings.clone(), ensemble, scores).unwrap();
    for _ in rounds {
        let gradient: Vec<f64> = booster
            .scores()
            .iter()
            .enumerate()
            .map(|(i, score)| {
                score - if i % outputs == 0 { labels[i / outputs] } else { -labels[i / outputs] }
            })
            .collect();
        let hessian: Vec<f64> = gradient.iter().map(|g| 1.0 / (1.0 + g.abs())).collect();
        booster.round(&gradient, &hessian).unwrap();
    }
    booster.into_ensemble()
}

/// The trees of every worker; `cuts` says how many lists each has.
fn among(
    data: &Data,
    cuts: &[usize],
    outputs: usize,
    settings: &Boosting,
    bins: &BinSettings,
    rounds: Range<usize>,
    from: Option<&Ensemble>,
) -> Vec<Ensemble> {
    std::thread::scope(|scope| {
        let mut first = 0;
        let runs: Vec<_> = Threads::new(cuts.len())
            .into_iter()
            .zip(cuts)
            .map(|(worker, &lists)| {
                let part = data.part(first..first + lists);
                first += lists;
                let rounds = rounds.clone();
                scope.spawn(move || trained(&worker, part, outputs, settings, bins, rounds, from))
            })
            .collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    })
}

const LISTS: usize = 90;
/// Equal parts, unequal ones, workers without any list.
const PARTS: [&[usize]; 5] = [&[LISTS], &[45, 45], &[1, 80, 9], &[0, 30, 0, 60], &[20, 70, 0]];

#[test]
fn any_number_of_workers_grows_the_same_trees_to_the_bit() {
    let data = Data::drawn(LISTS, 3);
    let plain = Growth { leaves: 12, min_rows: 5, ..Growth::default() };
    let growths = [
        plain.clone(),
        Growth { extra: true, node_features: 0.6, smooth: 2.0, ..plain.clone() },
        Growth {
            features: 0.6,
            min_rows: 40,
            l1: 0.1,
            max_delta: 0.4,
            monotone: vec![1, 0, -1, 0, 0],
            category: Category { max: 2, ..Category::default() },
            ..plain
        },
    ];
    let samplings = [
        Sampling::All,
        Sampling::Lists { fraction: 0.6 },
        Sampling::Rows { fraction: 0.5 },
        Sampling::Goss { top: 0.3, other: 0.2 },
    ];
    let bins = [
        BinSettings { max_bins: 20, ..BinSettings::default() },
        BinSettings { sample: 150, seed: 4, ..BinSettings::default() },
    ];
    for (g, growth) in growths.iter().enumerate() {
        for sampling in samplings {
            let (bins, outputs) = (&bins[g % 2], 1 + g % 2);
            let settings =
                Boosting { rate: 0.2, sampling, growth: growth.clone(), seed: 7, ..Boosting::default() };
            let alone = trained(&Alone, data.part(0..LISTS), outputs, &settings, bins, 0..6, None);
            assert!(alone.trees.iter().any(|tree| tree.leaves.len() > 3));
            for cuts in PARTS {
                for found in among(&data, cuts, outputs, &settings, bins, 0..6, None) {
                    assert_eq!(found, alone, "{growth:?} {sampling:?} {cuts:?}");
                }
            }
        }
    }
}

#[test]
fn a_run_goes_on_with_another_number_of_workers() {
    let data = Data::drawn(LISTS, 5);
    let (settings, bins) = (Boosting { seed: 2, ..Boosting::default() }, BinSettings::default());
    let whole = trained(&Alone, data.part(0..LISTS), 1, &settings, &bins, 0..8, None);
    let first = &among(&data, &[30, 60], 1, &settings, &bins, 0..3, None)[0];
    for cuts in PARTS {
        assert_eq!(among(&data, cuts, 1, &settings, &bins, 3..8, Some(first))[0], whole);
    }
}

#[test]
fn one_list_in_all_can_be_divided_by_rows() {
    let data = Data::drawn(60, 6);
    let one = Data { offsets: (0..=data.labels.len() as u64).collect(), ..data };
    let rows = one.labels.len();
    let (settings, bins) = (Boosting::default(), BinSettings::default());
    let alone = trained(&Alone, one.part(0..rows), 1, &settings, &bins, 0..4, None);
    assert_eq!(among(&one, &[100, rows - 100], 1, &settings, &bins, 0..4, None), [alone.clone(), alone]);
}

#[test]
fn a_worker_that_fails_ends_the_others_with_an_error() {
    let data = Data::drawn(LISTS, 8);
    let results: Vec<_> = std::thread::scope(|scope| {
        let runs: Vec<_> = Threads::new(3)
            .into_iter()
            .map(|worker| {
                let (offsets, rows, _) = data.part(30 * worker.rank()..30 * (worker.rank() + 1));
                scope.spawn(move || {
                    let bins = Bins::fit_among(&worker, &rows, &[], &BinSettings::default()).unwrap();
                    let binned = bins.apply(&rows).unwrap();
                    let ensemble = Ensemble::new(WIDTH, 1);
                    let scores = vec![0.0; rows.rows()];
                    let mut booster = Booster::resume_among(
                        &worker,
                        &binned,
                        &offsets,
                        Boosting::default(),
                        ensemble,
                        scores,
                    )
                    .unwrap();
                    let bad = if worker.rank() == 1 { f64::NAN } else { 1.0 };
                    booster.round(&vec![bad; rows.rows()], &vec![1.0; rows.rows()])
                })
            })
            .collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    assert!(results[1].as_ref().unwrap_err().what.contains("has gradient NaN"), "{results:?}");
    for rank in [0, 2] {
        assert!(results[rank].as_ref().unwrap_err().what.contains("worker 1 has ended"), "{results:?}");
    }
}
