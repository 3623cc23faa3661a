//! What a memory-mapped data file costs: conversion of text, opening, fetching rows at random, verification.
//!
//! ```text
//! mapped FOLDER [ROWS]     writes big.txt and big.toprank-data into FOLDER (3.2 GB and 1 GB for 1,900,000 rows)
//! ```

use std::fmt::Write as _;
use std::io::{BufWriter, Write as _};
use std::time::Instant;

use toprank::core::{Features, Stream};
use toprank::data::{MappedDataset, ReadOptions, Source, mapped};

use crate::common::{Outcome, WrongUse, peak_bytes};

const WIDTH: usize = 136;

pub fn run(args: &[String]) -> Outcome {
    let [folder, rows @ ..] = args else { return Err(WrongUse.into()) };
    let folder = std::path::Path::new(folder);
    let rows: usize = rows.first().map_or(Ok(1_900_000), |rows| rows.parse())?;
    let (text, file) = (folder.join("big.txt"), folder.join("big.toprank-data"));

    let mut out = BufWriter::new(std::fs::File::create(&text)?);
    let mut random = Stream::new(1, "features").open();
    let mut line = String::new();
    for row in 0..rows {
        line.clear();
        write!(line, "{} qid:{}", row % 5, row / 120)?;
        for feature in 1..=WIDTH {
            write!(line, " {feature}:{:.6}", random.unit())?;
        }
        writeln!(out, "{line}")?;
    }
    out.flush()?;
    drop(out);

    let seconds = |from: Instant| from.elapsed().as_secs_f64();
    let before = peak_bytes() / 1e6;
    let start = Instant::now();
    let options = ReadOptions { format: Some("letor".into()), ..ReadOptions::default() };
    let done = mapped::convert(&Source::path(&text), &options, &file)?;
    let size = |path| std::fs::metadata(path).map(|about| about.len() / 1_000_000);
    println!(
        "convert: {} MB of text to {} MB in {:.1} s, peak memory {:.0} MB (before: {before:.0} MB), streamed: {}",
        size(&text)?,
        size(&file)?,
        seconds(start),
        peak_bytes() / 1e6,
        done.streamed
    );
    let mut opened: Vec<f64> = (0..5)
        .map(|_| {
            let start = Instant::now();
            MappedDataset::open(&file).map(|data| seconds(start) + 0.0 * data.lists.len() as f64)
        })
        .collect::<Result<_, _>>()?;
    opened.sort_by(f64::total_cmp);
    println!("open: {:.1} ms (median of 5, {} rows)", 1000.0 * opened[2], rows);

    let data = MappedDataset::open(&file)?;
    let mut out = vec![0.0; 1000 * WIDTH];
    for pass in ["first", "second"] {
        let start = Instant::now();
        let mut random = Stream::new(2, "rows").open();
        for _ in 0..200 {
            let chosen: Vec<u32> = (0..1000).map(|_| random.below(rows) as u32).collect();
            data.features.gather(&chosen, &mut out);
        }
        println!("200,000 rows at random, {pass} time: {:.2} µs a row", 1e6 * seconds(start) / 200_000.0);
    }
    let start = Instant::now();
    data.verify()?;
    println!("verify: {:.2} s", seconds(start));
    if let Some(fault) = data.features.fault() {
        return Err(fault.into());
    }
    Ok(())
}
