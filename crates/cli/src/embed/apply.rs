//! `toprank embed apply`: from rows to vectors.

use std::io::{self, Write};
use std::path::PathBuf;

use toprank::data::Source;
use toprank::train::Embedder;
use toprank::train::embed::Vectors;

use super::{Wanted, absent, read_all};
use crate::failure::Failure;
use crate::reading::Reading;
use crate::table::{counted, csv_cell};
use crate::{Common, note};

const AFTER_HELP: &str = "\
Examples:
  toprank embed apply emb.toprank --data new.csv -o vectors.npy
  toprank embed apply emb.toprank --data new.csv --item name -o vectors.csv

The output has one vector for every row (of length 1, unless the embedding has --similarity euclidean), in the order of the file: an array of 32-bit floats, rows × dimensions, if
the file ends in .npy (numpy.load reads it), otherwise CSV with the columns item,v1,v2,… Features are found by their names; other
columns are ignored.";

/// Write the embedding vectors of rows
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct Apply {
    /// Model file of an embedding
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Rows with the features of the model; repeat it or give a pattern for several files
    #[arg(long, value_name = "FILE", required = true)]
    data: Vec<String>,
    /// File to write, .npy or CSV; - is standard output
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    reading: Reading,
}

impl Apply {
    /// Loads, embeds, writes.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let embedder = Embedder::load(&self.model)?;
        let data = read_all(&self.data, None, &self.reading, Wanted::Nothing, common.quiet)?;
        let mut order: Vec<u32> = (0..data.rows() as u32).collect();
        order.sort_by_key(|&row| data.file_row(row as usize));
        let names: Vec<String> = order.iter().map(|&row| data.item_name(row as usize)).collect();
        let vectors = embedder.embed(&self.data.join(", "), data, absent(&self.reading))?;
        let npy = Source::path(&self.output).extension() == "npy";
        toprank::data::sink::write_file(&self.output, |out| match npy {
            true => write_npy(&vectors, &order, out),
            false => write_csv(&vectors, &order, &names, out),
        })?;
        note(
            common,
            format!("{} of {}", counted(vectors.rows(), "vector"), counted(vectors.width, "dimension")),
        );
        Ok(())
    }
}

fn write_csv(vectors: &Vectors, order: &[u32], names: &[String], out: &mut dyn Write) -> io::Result<()> {
    let columns: Vec<String> = (1..=vectors.width).map(|k| format!("v{k}")).collect();
    writeln!(out, "item,{}", columns.join(","))?;
    for (name, &row) in names.iter().zip(order) {
        let numbers: Vec<String> = vectors.row(row as usize).iter().map(ToString::to_string).collect();
        writeln!(out, "{},{}", csv_cell(name), numbers.join(","))?;
    }
    Ok(())
}

/// Format version 1.0 of NumPy: a line of Python, padded so that the numbers start at a multiple of 64.
fn write_npy(vectors: &Vectors, order: &[u32], out: &mut dyn Write) -> io::Result<()> {
    const BEFORE: usize = 10;
    let mut head = format!(
        "{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}",
        order.len(),
        vectors.width
    );
    let whole = (BEFORE + head.len() + 1).next_multiple_of(64);
    head += &" ".repeat(whole - BEFORE - head.len() - 1);
    head += "\n";
    out.write_all(b"\x93NUMPY\x01\x00")?;
    out.write_all(&(head.len() as u16).to_le_bytes())?;
    out.write_all(head.as_bytes())?;
    for &row in order {
        for value in vectors.row(row as usize) {
            out.write_all(&value.to_le_bytes())?;
        }
    }
    Ok(())
}
