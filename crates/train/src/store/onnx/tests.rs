//! Written models give the scores of the models they were made from.

use toprank_core::{Lists, Stream};
use toprank_data::{Column, Dataset, Matrix};

use super::*;
use crate::rank::job::Job;
use crate::{Settings, TrainerKind};

/// Lists of some items with gaps, a constant, a large and a categorical feature.
fn data(labels: usize) -> Dataset {
    let mut random = Stream::new(3, "data").open();
    let (lists, items, width) = (12, 7, 5);
    let mut values = Vec::new();
    for _ in 0..lists * items {
        let gap = random.below(5) == 0;
        values.extend([
            random.unit() as f32,
            if gap { f32::NAN } else { 1e6 + 1e3 * random.unit() as f32 },
            2.0,
            random.below(3) as f32,
            -100.0 * random.unit() as f32,
        ]);
    }
    let grades: Vec<f32> = (0..lists * items).map(|_| random.below(labels) as f32).collect();
    let mut columns: Vec<Column> =
        (0..width).map(|f| Column { name: format!("f{f}"), levels: None }).collect();
    columns[3].levels = Some(["red", "green", "blue"].iter().collect());
    Dataset {
        lists: Lists::from_lengths(&vec![items; lists], grades),
        features: Matrix::Dense { width, values },
        columns,
        ..Dataset::default()
    }
}

fn trained(model: &str, transforms: &str) -> Model {
    let settings = Settings {
        model: Some(model.into()),
        objective: Some("listnet".into()),
        transforms: Some(transforms.into()),
        epochs: Some(2),
        ..Settings::default()
    };
    let job = Job::new(&settings.resolve(TrainerKind::Rank).unwrap(), data(3).into(), None).unwrap();
    let views = job.views().unwrap();
    let mut trainer = job.trainer(&views).unwrap();
    trainer.run(&mut (), None).unwrap();
    job.model(&*trainer).unwrap()
}

#[test]
fn networks_with_every_transform_are_written_and_proved() {
    for (model, transforms, list_by_list) in [
        ("linear", "missing:to=mean,standardise", false),
        ("mlp:hidden=6:norm=batch", "log1p,missing:to=median:indicator=yes,minmax", false),
        (
            "mlp:hidden=6-4:activation=gelu:output=sigmoid",
            "clip:low=0.1:high=0.9,missing:to=zero,standardise:centre=no",
            false,
        ),
        ("mlp:hidden=5:embed=periodic", "missing:to=median:indicator=yes,robust,smooth-clip", false),
        ("mlp:hidden=5", "missing:to=zero,per-list", true),
        ("linear", "per-list:kind=minmax,missing:to=zero", true),
        ("context:width=8:heads=2:blocks=1:hidden=8", "missing:to=mean,standardise", true),
    ] {
        let written =
            write(&trained(model, transforms), 200).unwrap_or_else(|e| panic!("{model}, {transforms}: {e}"));
        assert_eq!(written.list_by_list, list_by_list, "{model}, {transforms}");
        assert_eq!(written.scores.len(), 200);
        assert!(written.parity.largest > 0.0 && written.parity.relative() <= TOLERANCE);
        let missing = (0..200).filter(|&row| {
            let mut values = [0.0; 5];
            written.rows.features.row_into(row, &mut values);
            values[1].is_nan()
        });
        assert!(missing.count() > 5, "{transforms}: missing values are part of the proof");
    }
}

#[test]
fn a_written_model_that_says_something_else_is_refused() {
    let error = Parity::of(&[1.0, 2.0], &[1.0, 2.1]).unwrap_err().to_string();
    assert!(error.contains("differ by"), "{error}");
    assert!(Parity::of(&[f64::NAN], &[1.0]).is_err());
    assert!(Parity::of(&[1.0], &[1.0, 2.0]).is_err());
    assert_eq!(Parity::of(&[3.0], &[3.0]).unwrap().relative(), 0.0);
}

#[test]
fn trees_are_refused_here() {
    let error = write(&trained("trees", ""), 10).unwrap_err().to_string();
    assert!(error.contains("trees"), "{error}");
}
