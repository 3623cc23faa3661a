/*! Writers of runs. */

use std::io::{self, Write};

use super::Run;

/// Writes TREC lines `query Q0 document rank score tag`: queries as they are, documents by (score, name)
/// descending as trec_eval ranks them, ranks from 1, scores in the fewest digits that read back the same.
///
/// The tag is the run's name with `_` for blanks, `run` if it has none. A query or document whose name is empty,
/// holds a blank or starts with `#`, `{`, `PAR1` or a byte-order mark cannot be written and is an error: use
/// [`write_run_json`].
///
/// ```
/// let run = toprank_data::Run::from_rows("my run", [("q1", "a", 0.5), ("q1", "b", 2.0)]).unwrap();
/// let mut text = Vec::new();
/// toprank_data::write_run(&run, &mut text).unwrap();
/// assert_eq!(text, b"q1 Q0 b 1 2.0 my_run\nq1 Q0 a 2 0.5 my_run\n");
/// ```
pub fn write_run(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let mut out = io::BufWriter::with_capacity(1 << 16, out);
    let tag = run.name().split_whitespace().collect::<Vec<_>>().join("_");
    let tag = if tag.is_empty() { "run" } else { &tag };
    let mut order = Vec::new();
    for (query, name) in run.queries().iter().enumerate() {
        check_word(name)?;
        if name.starts_with('#') {
            return Err(refuse(name, "starts with #, a comment in a TREC file"));
        }
        // The first bytes of a file without a telling extension say what it is.
        if name.starts_with(['{', '\u{feff}']) || name.starts_with("PAR1") {
            return Err(refuse(name, "starts as other formats do and would not be read back"));
        }
        order.clear();
        order.extend(run.documents(query));
        order.sort_by(|a, b| {
            b.1.partial_cmp(&a.1).unwrap_or(std::cmp::Ordering::Equal).then_with(|| b.0.cmp(a.0))
        });
        for ((doc, score), rank1) in order.iter().zip(1u32..) {
            check_word(doc)?;
            writeln!(out, "{name} Q0 {doc} {rank1} {score:?} {tag}")?;
        }
    }
    out.flush()
}

/// Writes `{"query": {"document": score, …}, …}`, one query a line, documents in the order of the run.
///
/// ```
/// let run = toprank_data::Run::from_rows("x", [("q1", "a b", 0.5), ("q2", "\"", 2.0)]).unwrap();
/// let mut text = Vec::new();
/// toprank_data::judged::write_run_json(&run, &mut text).unwrap();
/// assert_eq!(text, b"{\"q1\":{\"a b\":0.5},\n\"q2\":{\"\\\"\":2.0}}\n");
/// ```
pub fn write_run_json(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let mut out = io::BufWriter::with_capacity(1 << 16, out);
    out.write_all(b"{")?;
    for (query, name) in run.queries().iter().enumerate() {
        out.write_all(if query == 0 { b"" } else { b",\n" })?;
        serde_json::to_writer(&mut out, name)?;
        out.write_all(b":{")?;
        for (i, (doc, score)) in run.documents(query).enumerate() {
            out.write_all(if i == 0 { b"" } else { b"," })?;
            serde_json::to_writer(&mut out, doc)?;
            write!(out, ":{score:?}")?;
        }
        out.write_all(b"}")?;
    }
    out.write_all(b"}\n")?;
    out.flush()
}

fn check_word(name: &str) -> io::Result<()> {
    if name.is_empty() || name.bytes().any(|byte| byte == b' ' || (b'\t'..=b'\r').contains(&byte)) {
        return Err(refuse(name, "is empty or holds a blank, which a TREC file cannot"));
    }
    Ok(())
}

fn refuse(name: &str, why: &str) -> io::Error {
    let name = crate::error::show(name.as_bytes());
    io::Error::new(
        io::ErrorKind::Unsupported,
        format!("name {name} {why}; expected a word. Write JSON instead."),
    )
}
