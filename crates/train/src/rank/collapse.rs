/*!
Models that score all rows alike, and what to do about it.

Equal scores are the minimiser of every convex surrogate where no model of the kind puts the mean of the relevant items above the
items that count, by Jensen's inequality: the worst others of `top-push`, the corner of `tpauc-minmax`. A network may then go there
whatever it starts from.
*/

/// Rows that are looked at.
pub(super) const ROWS_LOOKED_AT: usize = 2048;
/// Scores that differ by less than this fraction of the largest are the same but for rounding.
const ROUNDING: f64 = 1e-6;

/// Numbers of at most [`ROWS_LOOKED_AT`] of `count` things, evenly spaced.
pub(super) fn evenly_spaced(count: usize) -> impl Iterator<Item = usize> {
    (0..count).step_by(count.div_ceil(ROWS_LOOKED_AT).max(1))
}

/// True if every output is the same for all of at least two rows.
pub(super) fn all_equal(by_row: &[f64], outputs: usize) -> bool {
    by_row.len() > outputs
        && (0..outputs).all(|output| {
            let scores = || by_row[output..].iter().step_by(outputs).copied();
            let (low, high) =
                (scores().fold(f64::INFINITY, f64::min), scores().fold(f64::NEG_INFINITY, f64::max));
            high - low <= ROUNDING * high.abs().max(low.abs())
        })
}

/// What is said of such a network.
pub(super) fn of_network(algorithm: &str) -> String {
    format!(
        "all rows have the same score: equal scores may be the best that this model can do for {algorithm}. Begin with a warm-up and \
         continue at a lower learning rate (--warm-up 10 --warm-up-learning-rate 0.01 --learning-rate 0.001), bound the scores \
         (--model mlp:output=sigmoid), lower the weight decay, or choose an objective that looks at more of the list, such as auroc \
         or pauc-kl"
    )
}

/// What is said of such trees.
pub(super) fn of_trees(algorithm: &str) -> String {
    format!(
        "all rows have the same score: no split improved {algorithm} as asked. Allow smaller leaves (--min-rows, the parameters \
         min-hessian and min-gain of trees), or choose another objective"
    )
}

#[cfg(test)]
mod tests {
    use toprank_core::Lists;
    use toprank_data::{Dataset, Matrix};

    use super::*;
    use crate::{Callbacks, Job, Settings, TrainerKind};

    #[test]
    fn scores_are_compared_output_by_output_up_to_rounding() {
        assert!(all_equal(&[0.3, 0.3, 0.3 + 1e-9], 1));
        assert!(!all_equal(&[0.3, 0.3, 0.301], 1));
        assert!(all_equal(&[0.0, 0.0], 1));
        assert!(!all_equal(&[0.5], 1), "one row says nothing");
        // Two outputs: each is constant, though they differ.
        assert!(all_equal(&[1.0, -1.0, 1.0, -1.0], 2));
        assert!(!all_equal(&[1.0, -1.0, 1.0, -2.0], 2));
        assert!(!all_equal(&[1.0, -1.0], 2), "one row of two outputs");
    }

    /// Notes of a run.
    #[derive(Default)]
    struct Notes(Vec<String>);

    impl Callbacks for Notes {
        fn note(&mut self, text: &str) {
            self.0.push(text.into());
        }
    }

    /// What is said at the end of a run on two features, the first of which follows the label if it is to help.
    fn said(text: &str, helps: bool) -> Vec<String> {
        let rows = 60;
        let label = |row: usize| f32::from(u8::from(row % 3 == 0));
        let values = (0..rows).flat_map(|row| [if helps { label(row) } else { 1.0 }, 2.0]).collect();
        let data = Dataset {
            lists: Lists::from_lengths(&[rows], (0..rows).map(label).collect()),
            features: Matrix::Dense { width: 2, values },
            ..Dataset::default()
        };
        let config = Settings::from_toml(&format!("objective = \"auroc\"\nepochs = 2\n{text}")).unwrap();
        let config = config.resolve(TrainerKind::Rank).unwrap().suited_to(&data.lists).unwrap();
        let job = Job::new(&config, data.into(), None).unwrap();
        let views = job.views().unwrap();
        let mut notes = Notes::default();
        job.trainer(&views).unwrap().run(&mut notes, None).unwrap();
        notes.0
    }

    #[test]
    #[cfg(feature = "neural")]
    fn a_network_that_scores_all_rows_alike_is_noticed_with_advice() {
        for model in ["linear", "mlp:hidden=4", "context:width=8:heads=2:blocks=1:hidden=8"] {
            let text = format!("model = \"{model}\"");
            let notes = said(&text, false);
            assert_eq!(notes.len(), 1, "{model}: {notes:?}");
            let words = ["all rows have the same score", "auroc", "--warm-up 10", "output=sigmoid"];
            assert!(words.iter().all(|word| notes[0].contains(word)), "{notes:?}");
            assert_eq!(said(&text, true), Vec::<String>::new(), "{model}");
        }
    }

    #[test]
    fn trees_without_a_split_are_noticed_with_advice() {
        let notes = said("model = \"trees:min-rows=40\"", true);
        assert!(
            notes.len() == 1 && notes[0].contains("no split") && notes[0].contains("--min-rows"),
            "{notes:?}"
        );
        assert_eq!(said("model = \"trees:min-rows=5\"", true), Vec::<String>::new());
    }

    #[test]
    fn so_many_rows_at_most_are_looked_at_from_all_over_the_data() {
        assert_eq!(evenly_spaced(0).count(), 0);
        assert_eq!(evenly_spaced(3).collect::<Vec<_>>(), [0, 1, 2]);
        for count in [2048, 2049, 10_000, 1_000_000] {
            let rows: Vec<usize> = evenly_spaced(count).collect();
            assert!(
                rows.len() <= ROWS_LOOKED_AT && rows.len() * 3 > ROWS_LOOKED_AT,
                "{count}: {}",
                rows.len()
            );
            assert!(*rows.last().unwrap() > count * 9 / 10);
        }
    }
}
