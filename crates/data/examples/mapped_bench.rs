//! What a mapped data file costs: conversion of text, opening, fetching rows at random, verification.
//!
//! ```text
//! mapped_bench DIR [ROWS]     writes big.txt and big.toprank-data into DIR (3.2 GB and 1 GB for 1,900,000 rows)
//! ```

use std::fmt::Write as _;
use std::io::{BufWriter, Write as _};
use std::time::Instant;

use toprank_core::{Features, Stream};
use toprank_data::{MappedDataset, ReadOptions, Source, mapped};

const WIDTH: usize = 136;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let folder = std::path::PathBuf::from(args.next().ok_or("which folder?")?);
    let rows: usize = args.next().map_or(Ok(1_900_000), |rows| rows.parse())?;
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
    let before = peak_megabytes();
    let start = Instant::now();
    let options = ReadOptions { format: Some("letor".into()), ..ReadOptions::default() };
    let done = mapped::convert(&Source::path(&text), &options, &file)?;
    let size = |path| std::fs::metadata(path).map(|about| about.len() / 1_000_000);
    println!(
        "convert: {} MB of text to {} MB in {:.1} s, peak memory {} MB (before: {before} MB), streamed: {}",
        size(&text)?,
        size(&file)?,
        seconds(start),
        peak_megabytes(),
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

/// The most memory this process ever held, without pages of files; 0 where the system does not tell.
fn peak_megabytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).map_or(0, |kb| kb / 1000)
}
