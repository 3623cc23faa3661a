//! Scores as they come, in one of three forms, or as JSON.

use std::io::{self, Write};

use serde_json::{Value, json};
use toprank::data::{Dataset, Run, write_run};

use crate::table::csv_cell;

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One line per row of the data, one number per output.
    Scores,
    /// TREC lines.
    Run,
    /// CSV of the best items.
    Top,
}

/// A file of scores being written.
pub struct Output<'a> {
    form: Form,
    top: usize,
    data: &'a Dataset,
    /// Scores that are not written yet.
    pending: Vec<f64>,
    /// Lists that are written.
    lists: usize,
    /// True if scores are the lines of the file as they come: no row was moved or belongs to several lists.
    in_order: bool,
}

impl<'a> Output<'a> {
    pub fn new(form: Form, top: Option<u32>, data: &'a Dataset) -> Output<'a> {
        let in_order = data.lists.rows.is_none() && data.file_rows.is_none() && data.outputs() == 1;
        let top = top.map_or(usize::MAX, |top| top as usize);
        Output { form, top, data, pending: Vec::new(), lists: 0, in_order }
    }

    pub fn start(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.form == Form::Top { out.write_all(b"list,rank,item,score\n") } else { Ok(()) }
    }

    /// The next scores, in the order of entries.
    pub fn push(&mut self, scores: &[f64], out: &mut dyn Write) -> io::Result<()> {
        if self.form == Form::Scores && self.in_order {
            return scores.iter().try_for_each(|score| writeln!(out, "{score:?}"));
        }
        self.pending.extend_from_slice(scores);
        if self.form == Form::Scores { Ok(()) } else { self.write_lists(out) }
    }

    pub fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        match self.form {
            Form::Scores if self.in_order => Ok(()),
            Form::Scores => self.write_rows(out),
            // Empty lists at the end.
            Form::Run | Form::Top => self.write_lists(out),
        }
    }

    /// Writes every list whose last score is there.
    fn write_lists(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let lists = &self.data.lists;
        let mut used = 0;
        let mut rows: Vec<(String, String, f64)> = Vec::new();
        while self.lists < lists.len() && used + lists.range(self.lists).len() <= self.pending.len() {
            let length = lists.range(self.lists).len();
            let (list, ranked) = self.ranked(self.lists, &self.pending[used..used + length]);
            used += length;
            if self.form == Form::Top {
                for (rank1, (item, score)) in (1..).zip(&ranked) {
                    writeln!(out, "{},{rank1},{},{score:?}", csv_cell(&list), csv_cell(item))?;
                }
            } else {
                rows.extend(ranked.into_iter().map(|(item, score)| (list.clone(), item, score)));
            }
            self.lists += 1;
        }
        self.pending.drain(..used);
        if rows.is_empty() {
            return Ok(());
        }
        let rows = rows.iter().map(|(list, item, score)| (list.as_str(), item.as_str(), *score));
        let run =
            Run::from_rows("the data", rows).map_err(|e| io::Error::new(io::ErrorKind::Unsupported, e))?;
        write_run(&run.named("toprank"), out)
    }

    /// The name of a list, and its best items in order.
    fn ranked(&self, q: usize, scores: &[f64]) -> (String, Vec<(String, f64)>) {
        let lists = &self.data.lists;
        let names = lists.range(q).map(|entry| self.data.item_name(lists.row(entry)));
        let mut ranked: Vec<(String, f64)> = names.zip(scores.iter().copied()).collect();
        match self.form {
            // As trec_eval ranks: equal scores by name, the last one first.
            Form::Run => ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| b.0.cmp(&a.0))),
            Form::Scores | Form::Top => ranked.sort_by(|a, b| b.1.total_cmp(&a.1)),
        }
        ranked.truncate(self.top);
        (self.data.list_name(q), ranked)
    }

    /// The scores of all rows in the order of the file, `outputs` numbers a row; NaN: not scored for this label.
    fn by_row(&self, scores: &[f64]) -> io::Result<Vec<f64>> {
        let (lists, outputs) = (&self.data.lists, self.data.outputs());
        let mut by_row = vec![f64::NAN; self.data.rows() * outputs];
        for q in 0..lists.len() {
            let output = lists.output.as_ref().map_or(0, |output| usize::from(output[q]));
            for entry in lists.range(q) {
                by_row[self.data.file_row(lists.row(entry)) * outputs + output] = scores[entry];
            }
        }
        match by_row.iter().position(|score| outputs == 1 && score.is_nan()) {
            None => Ok(by_row),
            Some(row) => {
                let what = format!("row {} is in no list and has no score; use --trec-run or --top", row + 1);
                Err(io::Error::new(io::ErrorKind::Unsupported, what))
            }
        }
    }

    /// Writes the scores of all rows in the order of the file.
    fn write_rows(&self, out: &mut dyn Write) -> io::Result<()> {
        for scores in self.by_row(&self.pending)?.chunks_exact(self.data.outputs()) {
            // A row that is not judged for a label has no score for it.
            let show = |score: &f64| if score.is_nan() { "nan".into() } else { format!("{score:?}") };
            let line: Vec<String> = scores.iter().map(show).collect();
            writeln!(out, "{}", line.join(" "))?;
        }
        Ok(())
    }

    /// The scores of all entries as a JSON list in the order of the file: a number a row, or a list of them.
    pub fn rows_as_json(&self, scores: &[f64]) -> io::Result<Value> {
        let by_row = self.by_row(scores)?;
        Ok(match self.data.outputs() {
            1 => json!(by_row),
            outputs => by_row.chunks_exact(outputs).map(|row| json!(row)).collect(),
        })
    }

    /// The best items of each list as JSON.
    pub fn top_as_json(&self, scores: &[f64]) -> Value {
        let lists = &self.data.lists;
        let of_list = |q: usize| {
            let (list, ranked) = self.ranked(q, &scores[lists.range(q)]);
            let items: Vec<Value> =
                ranked.into_iter().map(|(item, score)| json!({"item": item, "score": score})).collect();
            json!({"list": list, "items": items})
        };
        (0..lists.len()).map(of_list).collect()
    }
}
