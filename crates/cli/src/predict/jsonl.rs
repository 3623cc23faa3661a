//! One list per line, as JSON, in a pipe.

use std::io::Write;

use toprank::data::Source;
use toprank::data::lines::Lines;
use toprank::train::Model;
use toprank::train::rank::json_list::{ListReader, Scorer, answer_of, id_of};

use crate::failure::Failure;

const NOT_CALIBRATED: &str =
    "--probability: the model is not calibrated; expected one that was trained with --folds or --valid";

/// Answers every line of standard input, with probabilities if they are wanted. A line that cannot be scored is answered with
/// what is wrong with it, and the next one is served; `strict`: it ends the command.
pub fn answer(model: &Model, probability: bool, strict: bool) -> Result<(), Failure> {
    if probability && !model.gives_probabilities() {
        return Err(Failure::usage(NOT_CALIBRATED));
    }
    let mut lines = Lines::open(&Source::path("-"))?;
    let mut out = std::io::stdout().lock();
    let reader = ListReader::new(&model.header().features, model.header().width);
    let scorer = Scorer { model, reader: &reader, probability };
    while let Some(line) = lines.next_line()? {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let answer = scorer.answer(line);
        let id = answer.is_err().then(|| id_of(line)).flatten();
        let answer = match answer {
            Ok(answer) => answer,
            Err(refused) => {
                let error = lines.error(refused.found, refused.expected);
                if strict {
                    return Err(error.into());
                }
                answer_of(id, "error", error.to_string().into())
            }
        };
        // The other side may wait for this answer before it sends the next line.
        out.write_all((answer + "\n").as_bytes())
            .and_then(|()| out.flush())
            .map_err(|error| Failure::file("standard output", &error))?;
    }
    Ok(())
}
