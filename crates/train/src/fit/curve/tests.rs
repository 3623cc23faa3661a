//! The promises of learning curves.

use std::fmt::Write as _;

use super::*;

fn metrics() -> Vec<String> {
    vec!["train/ndcg@10".into(), "valid/pauc:fpr=0.1,x".into()]
}

fn record(step: u64) -> Record {
    Record {
        step,
        epoch: step as f64 / 4.0,
        loss: 1.0 / (step as f64 + 2.0),
        learning_rate: 0.1,
        gradient_norm: 2.5,
        lists_without_gradient: 3,
        metrics: vec![None, Some(0.1 * step as f64)],
        seconds: 1.25 * step as f64,
    }
}

const PLACES: [&str; 3] = ["curve.csv", "curve.jsonl", "tensorboard"];

/// The bytes of a curve, without the time of day that events carry.
fn bytes(path: &Path) -> Vec<u8> {
    if CurveFormat::of(path) != CurveFormat::TensorBoard {
        return fs::read(path).unwrap();
    }
    let file = fs::read(path.join(EVENTS)).unwrap();
    event::events(&file).into_iter().flat_map(|event| event[9..].to_vec()).collect()
}

fn write(path: &Path, done: u64, steps: impl IntoIterator<Item = u64>) {
    let mut file = CurveFile::open(path, &metrics(), done).unwrap();
    steps.into_iter().for_each(|step| file.write(&record(step)).unwrap());
}

#[test]
fn csv_is_as_spelled_out_and_reads_as_csv() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("curve.csv");
    write(&path, 0, [1, 2]);
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        "step,epoch,loss,learning_rate,gradient_norm,lists_without_gradient,train/ndcg@10,\"valid/pauc:fpr=0.1,x\",seconds\n\
         1,0.25,0.3333333333333333,0.1,2.5,3,,0.1,1.250\n\
         2,0.5,0.25,0.1,2.5,3,,0.2,2.500\n"
    );
}

#[test]
fn json_lines_are_as_spelled_out_and_have_no_infinite_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("curve.jsonl");
    write(&path, 0, [1]);
    let mut file = CurveFile::open(&path, &metrics(), 1).unwrap();
    file.write(&Record { loss: f64::NAN, ..record(2) }).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(
        text.lines().next().unwrap(),
        r#"{"step":1,"epoch":0.25,"loss":0.3333333333333333,"learning_rate":0.1,"gradient_norm":2.5,"lists_without_gradient":3.0,"metrics":{"train/ndcg@10":null,"valid/pauc:fpr=0.1,x":0.1},"seconds":1.25}"#
    );
    assert!(text.lines().nth(1).unwrap().contains(r#""loss":null"#));
}

#[test]
fn events_are_the_bytes_that_tensorboard_writes() {
    let record = Record {
        step: 300,
        epoch: 1.5,
        loss: 0.25,
        learning_rate: 0.001,
        gradient_norm: 3.0,
        lists_without_gradient: 2,
        metrics: vec![Some(0.5), None],
        seconds: 0.0,
    };
    let metrics = ["valid/ndcg@10".to_string(), "train/map".to_string()];
    let ours = [event::first(1_700_000_000.5), event::record(&record, &metrics, 1_700_000_001.25)].concat();
    let hex = ours.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    });
    assert_eq!(hex, include_str!("../../../tests/golden/events.hex").trim_end());
}

#[test]
fn a_resumed_curve_is_that_of_the_uninterrupted_run() {
    for place in PLACES {
        let folder = tempfile::tempdir().unwrap();
        let (whole, resumed) =
            (folder.path().join("whole").join(place), folder.path().join("resumed").join(place));
        for path in [&whole, &resumed] {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
        }
        write(&whole, 0, [5, 10, 15, 20]);
        // Killed after step 17; the checkpoint was of step 12, so 15 is made again.
        write(&resumed, 0, [5, 10, 15]);
        write(&resumed, 12, [15, 20]);
        assert_eq!(bytes(&resumed), bytes(&whole), "{place}");
        // Resumed at the very end: nothing to add, nothing lost.
        write(&resumed, 20, []);
        assert_eq!(bytes(&resumed), bytes(&whole), "{place}");
        // Started anew.
        write(&resumed, 0, [5, 10, 15, 20]);
        assert_eq!(bytes(&resumed), bytes(&whole), "{place}");
    }
}

#[test]
fn a_record_written_in_half_is_cut_off() {
    for place in PLACES {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(place);
        write(&path, 0, [5, 10]);
        let two = bytes(&path);
        let file = match CurveFormat::of(&path) {
            CurveFormat::TensorBoard => path.join(EVENTS),
            _ => path.clone(),
        };
        let whole = fs::read(&file).unwrap();
        write(&path, 10, [15]);
        let longer = fs::read(&file).unwrap();
        for cut in whole.len() + 1..longer.len() {
            fs::write(&file, &longer[..cut]).unwrap();
            write(&path, 20, []);
            assert_eq!(bytes(&path), two, "{place}, cut at {cut} of {}", longer.len());
        }
        // A file of which not even the beginning is left is begun anew.
        for cut in 0..10 {
            fs::write(&file, &longer[..cut]).unwrap();
            write(&path, 20, [5, 10]);
            assert_eq!(bytes(&path), two, "{place}, cut at {cut}");
        }
    }
}

#[test]
fn a_damaged_event_and_all_after_it_are_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tensorboard");
    write(&path, 0, [5]);
    let one = bytes(&path);
    let length = fs::read(path.join(EVENTS)).unwrap().len();
    write(&path, 5, [10, 15]);
    let mut damaged = fs::read(path.join(EVENTS)).unwrap();
    damaged[length + 30] ^= 1;
    fs::write(path.join(EVENTS), damaged).unwrap();
    write(&path, 15, []);
    assert_eq!(bytes(&path), one);
}

#[test]
fn other_metrics_in_the_file_are_an_error_that_names_both() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("curve.csv");
    write(&path, 0, [1]);
    let error = CurveFile::open(&path, &["map".to_string()], 1).unwrap_err().to_string();
    assert!(error.contains("curve.csv") && error.contains("train/ndcg@10"), "{error}");
    assert!(error.contains("lists_without_gradient,map,seconds"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 2, "the file is left alone");
}

#[test]
fn a_folder_that_is_not_there_is_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("no such folder").join("curve.csv");
    let error = CurveFile::open(&path, &[], 0).unwrap_err().to_string();
    assert!(error.contains("no such folder"), "{error}");
}

#[test]
fn series_are_the_numbers_that_were_measured() {
    let mut curve = Curve::new(metrics());
    for step in [1, 2, 3] {
        curve.push(record(step));
    }
    assert_eq!(curve.series("learning_rate").unwrap(), [(1.0, 0.1), (2.0, 0.1), (3.0, 0.1)]);
    assert_eq!(curve.series("train/ndcg@10").unwrap(), []);
    assert_eq!(curve.series(&metrics()[1]).unwrap()[1], (2.0, 0.2));
    assert_eq!(curve.series("recall"), None);
    curve.cut(2);
    assert_eq!(curve.records().len(), 2);
}

#[test]
fn what_a_checkpoint_keeps_of_a_curve_does_not_depend_on_time() {
    let mut fast = Curve::new(metrics());
    fast.push(record(1));
    let mut slow = Curve::new(metrics());
    slow.push(Record { seconds: 99.0, ..record(1) });
    let kept = serde_json::to_string(&fast).unwrap();
    assert_eq!(kept, serde_json::to_string(&slow).unwrap());
    let back: Curve = serde_json::from_str(&kept).unwrap();
    assert_eq!(back.records()[0], Record { seconds: 0.0, ..record(1) });
}
