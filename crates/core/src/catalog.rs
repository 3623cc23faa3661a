/*!
Catalogs: tables of named things (metrics, readers, objectives, models …) and the one grammar that names
an entry on the command line, in a config file and in a report:

```text
name[@cut][:key=value]*        ndcg@10:gain=linear   pauc:fpr=0.1   rbp:p=0.8
```

A comma separates entries. No character needs quoting in a shell; the quoted forms that are common elsewhere,
`pauc@fpr<=0.1` and `p@recall=0.5`, are read as `pauc:fpr=0.1` and `p:recall=0.5`.
*/

use std::fmt;

/// One entry as written by a user: a name, a cut-off, parameters.
///
/// ```
/// use toprank_core::Spec;
/// let specs = Spec::parse_all("ndcg@10:gain=linear, pauc@fpr<=0.1").unwrap();
/// assert_eq!(specs[0].name, "ndcg");
/// assert_eq!(specs[0].cut, Some(10));
/// assert_eq!(specs[1].to_string(), "pauc:fpr=0.1");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Name in the catalog.
    pub name: String,
    /// The k of `name@k`.
    pub cut: Option<u32>,
    /// Parameters in the order given.
    pub args: Args,
}

/// Parameters in the order given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Args(pub Vec<(String, String)>);

impl Args {
    /// The value given for `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    /// The number given for `key`, or `default`; refused unless `ok` holds, with `range` in the message.
    ///
    /// ```
    /// let args = toprank_core::Args(vec![("p".into(), "1.5".into())]);
    /// let error = args.number("p", 0.8, "in (0, 1)", |p| 0.0 < p && p < 1.0).unwrap_err();
    /// assert_eq!(error.to_string(), "p must be in (0, 1), but is 1.5");
    /// ```
    pub fn number(
        &self,
        key: &str,
        default: f64,
        range: &str,
        ok: impl Fn(f64) -> bool,
    ) -> Result<f64, ParamError> {
        let Some(text) = self.get(key) else { return Ok(default) };
        match text.parse::<f64>() {
            Ok(value) if ok(value) => Ok(value),
            _ => Err(ParamError::new(key, text, range)),
        }
    }

    /// A number above 0.
    ///
    /// # Errors
    /// If the text given for `key` is no such number; here and below the error names the range.
    pub fn positive(&self, key: &str, default: f64) -> Result<f64, ParamError> {
        self.number(key, default, "in (0, ∞)", |x| x > 0.0 && x.is_finite())
    }

    /// A number that is not negative.
    ///
    /// # Errors
    /// As [`Args::positive`].
    pub fn not_negative(&self, key: &str, default: f64) -> Result<f64, ParamError> {
        self.number(key, default, "in [0, ∞)", |x| x >= 0.0 && x.is_finite())
    }

    /// A fraction in (0, 1].
    ///
    /// # Errors
    /// As [`Args::positive`].
    pub fn fraction(&self, key: &str, default: f64) -> Result<f64, ParamError> {
        self.number(key, default, "in (0, 1]", |x| x > 0.0 && x <= 1.0)
    }

    /// A dropout rate in [0, 1).
    ///
    /// # Errors
    /// As [`Args::positive`].
    pub fn dropout(&self, key: &str, default: f64) -> Result<f64, ParamError> {
        self.number(key, default, "in [0, 1)", |x| (0.0..1.0).contains(&x))
    }

    /// An integer from 1 to `most`.
    ///
    /// # Errors
    /// As [`Args::positive`].
    pub fn count(&self, key: &str, default: usize, most: usize) -> Result<usize, ParamError> {
        let range = format!("an integer from 1 to {most}");
        let ok = |x: f64| x >= 1.0 && x <= most as f64 && x.fract() == 0.0;
        Ok(self.number(key, default as f64, &range, ok)? as usize)
    }

    /// `true` or `false`.
    ///
    /// # Errors
    /// As [`Args::one_of`].
    pub fn flag(&self, key: &str, default: bool) -> Result<bool, ParamError> {
        self.one_of(key, if default { "true" } else { "false" }, &[("true", true), ("false", false)])
    }

    /// The value that belongs to the string given for `key`, out of a table of strings.
    ///
    /// ```
    /// let args = toprank_core::Args(vec![("norm".into(), "batsh".into())]);
    /// let error = args.one_of("norm", "none", &[("none", 0), ("batch", 1)]).unwrap_err();
    /// assert_eq!(error.to_string(), "norm must be one of none, batch, but is batsh");
    /// assert_eq!(args.one_of("pool", "sum", &[("sum", 0), ("mean", 1)]), Ok(0));
    /// ```
    ///
    /// # Errors
    /// If the string is not in the table.
    pub fn one_of<T: Copy>(&self, key: &str, default: &str, table: &[(&str, T)]) -> Result<T, ParamError> {
        let text = self.get(key).unwrap_or(default);
        table.iter().find(|(name, _)| *name == text).map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<&str> = table.iter().map(|(name, _)| *name).collect();
            ParamError::new(key, text, &format!("one of {}", names.join(", ")))
        })
    }
}

impl Spec {
    /// Reads one entry.
    pub fn parse(text: &str) -> Result<Spec, ParamError> {
        let text = text.trim();
        let mut parts = text.split(':');
        let head = parts.next().unwrap_or_default();
        let grammar =
            || ParamError::new("metric", text, "name[@cut][:key=value]…, for example ndcg@10:gain=linear");
        let mut args = Vec::new();
        let (name, cut) = match head.split_once('@') {
            None => (head, None),
            Some((name, cut)) if cut.contains('=') => {
                // The quoted forms: pauc@fpr<=0.1, p@recall=0.5.
                let (key, value) = cut.split_once('=').ok_or_else(grammar)?;
                args.push((key.trim_end_matches(['<', '>']).to_string(), value.to_string()));
                (name, None)
            }
            Some((name, cut)) => match cut.parse::<u32>() {
                Ok(k) if k > 0 => (name, Some(k)),
                _ => {
                    return Err(ParamError::new(
                        &format!("the cut-off of {name}"),
                        cut,
                        "an integer from 1 on",
                    ));
                }
            },
        };
        for part in parts {
            let (key, value) = part.split_once('=').ok_or_else(grammar)?;
            args.push((key.to_string(), value.to_string()));
        }
        let word =
            |w: &str| !w.is_empty() && w.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
        if !word(name) || args.iter().any(|(key, value)| !word(key) || value.is_empty()) {
            return Err(grammar());
        }
        if let Some((i, (key, _))) =
            args.iter().enumerate().find(|(i, (k, _))| args[..*i].iter().any(|a| a.0 == *k))
        {
            return Err(ParamError::new(key, &args[i].1, "given once"));
        }
        Ok(Spec { name: name.to_ascii_lowercase(), cut, args: Args(args) })
    }

    /// Reads entries separated by commas; an entry that is given twice is kept once.
    pub fn parse_all(text: &str) -> Result<Vec<Spec>, ParamError> {
        let mut specs: Vec<Spec> = Vec::new();
        for part in text.split(',').filter(|part| !part.trim().is_empty()) {
            let spec = Spec::parse(part)?;
            if !specs.contains(&spec) {
                specs.push(spec);
            }
        }
        Ok(specs)
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}", self.name)?;
        if let Some(k) = self.cut {
            write!(f, "@{k}")?;
        }
        self.args.0.iter().try_for_each(|(key, value)| write!(f, ":{key}={value}"))
    }
}

/// The error about a name that is in no table: one sentence, with the name that was probably meant, or with the known
/// ones if none is near. `kind` is the kind of thing: `metric`, `sampler`, `column` …
///
/// ```
/// use toprank_core::catalog::unknown;
/// let error = unknown("metric", "ndgc", ["map", "ndcg", "dcg"]);
/// assert_eq!(error.to_string(), "unknown metric \"ndgc\"; did you mean \"ndcg\"?");
/// let error = unknown("test", "anova", ["t", "wilcoxon"]);
/// assert_eq!(error.to_string(), "unknown test \"anova\"; expected one of t, wilcoxon");
/// ```
pub fn unknown<'a>(kind: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> ParamError {
    /// More names than this are no help in one sentence.
    const MOST: usize = 24;
    let known: Vec<&str> = known.into_iter().collect();
    let expected = match nearest(name, known.iter().copied()).first() {
        Some(near) => format!("did you mean \"{near}\"?"),
        None if known.len() > MOST => {
            format!("expected one of {}, … ({} in all)", known[..MOST / 2].join(", "), known.len())
        }
        None => format!("expected one of {}", known.join(", ")),
    };
    ParamError { unknown: true, ..ParamError::new(kind, name, &expected) }
}

/// The error about a parameter that entry `of` does not have; `known` are those it has (`@`, the cut-off, is no name).
///
/// ```
/// let error = toprank_core::catalog::unknown_parameter("mlp", "hiden", ["hidden", "norm"]);
/// assert_eq!(error.to_string(), "unknown parameter of mlp \"hiden\"; did you mean \"hidden\"?");
/// ```
pub fn unknown_parameter<'a>(of: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> ParamError {
    let mut known = known.into_iter().filter(|name| *name != "@").peekable();
    let kind = format!("parameter of {of}");
    match known.peek() {
        Some(_) => unknown(&kind, name, known),
        None => ParamError { unknown: true, ..ParamError::new(&kind, name, "it has no parameters") },
    }
}

/// What to add to a list of names that may be long or come from a file: ` (did you mean …?)`, or nothing.
///
/// ```
/// use toprank_core::catalog::hint;
/// assert_eq!(hint("labl", ["qid", "label"].into_iter()), " (did you mean label?)");
/// assert_eq!(hint("age", ["qid", "label"].into_iter()), "");
/// ```
pub fn hint<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    match nearest(name, known) {
        near if near.is_empty() => String::new(),
        near => format!(" (did you mean {}?)", near.join(", ")),
    }
}

/// Those of `known` that look like `name`, nearest first, at most three: one or two letters too many, too few, swapped
/// or wrong, and at most half of the letters. Upper and lower case are the same. Names of more than 100 bytes are near to
/// nothing, so that the cost is bounded by the number of names.
///
/// ```
/// assert_eq!(toprank_core::catalog::nearest("ncdg", ["map", "ndcg"].into_iter()), ["ndcg"]);
/// ```
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    const LONGEST: usize = 100;
    if name.len() > LONGEST {
        return Vec::new();
    }
    let name = name.to_lowercase();
    let count = name.chars().count();
    let most = count.div_ceil(2).min(2);
    let mut near: Vec<(usize, usize, &str)> = known
        .filter(|k| k.len() <= LONGEST)
        .map(|k| (k.to_lowercase(), k))
        // Every edit changes the length by one at most.
        .filter(|(lower, _)| lower.chars().count().abs_diff(count) <= most)
        .map(|(lower, k)| (edits(&name, &lower), k.len().abs_diff(name.len()), k))
        .filter(|(distance, ..)| *distance <= most)
        .collect();
    near.sort_unstable();
    near.into_iter().map(|(.., k)| k).take(3).collect()
}

/// Edit distance: insertions, deletions, replacements and swaps of two neighbours count 1 each (optimal string alignment).
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut next = vec![i];
        for j in 1..=b.len() {
            let replaced = row[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(row[j] + 1).min(next[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(before[j - 2] + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
    }
    row[b.len()]
}

/// One entry of a catalog. The command, the documentation and the contract tests read only this.
pub struct Entry<T: ?Sized + 'static> {
    /// Name in the grammar.
    pub name: &'static str,
    /// Heading under which it is listed.
    pub family: &'static str,
    /// One line for the listing.
    pub about: &'static str,
    /// The documentation page that `toprank metrics NAME` and its like print: formula, source, ties, empty lists, cost.
    pub page: &'static str,
    /// Parameters, besides the policy's rules, which every metric accepts.
    pub params: &'static [Param],
    /// Constructs it, or returns which parameter is invalid.
    pub make: fn(&Spec) -> Result<Box<T>, ParamError>,
}

// By hand: derived, they would ask the same of `T`.
impl<T: ?Sized + 'static> Clone for Entry<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized + 'static> Copy for Entry<T> {}

/// One parameter of an entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Param {
    /// Its key; `@` stands for the cut-off.
    pub name: &'static str,
    /// Its default, as it would be written.
    pub default: &'static str,
    /// What is allowed.
    pub range: &'static str,
    /// What it means.
    pub about: &'static str,
}

/// Constructs the entry that `text` names, with its parameters, and returns it with the parsed text. `what` is the kind of
/// thing, for messages: `sampler`, `optimiser` …
///
/// ```
/// use toprank_core::{Entry, Spec, catalog};
/// static SHAPES: &[Entry<str>] = &[Entry {
///     name: "round", family: "shapes", about: "", page: "", params: &[], make: |_| Ok("a circle".into()),
/// }];
/// assert_eq!(&*catalog::make("shape", SHAPES, "round").unwrap().1, "a circle");
/// let error = catalog::make("shape", SHAPES, "rund").unwrap_err();
/// assert_eq!(error.to_string(), "unknown shape \"rund\"; did you mean \"round\"?");
/// let error = catalog::make("shape", SHAPES, "round:size=3").unwrap_err();
/// assert_eq!(error.to_string(), "unknown parameter of round \"size\"; it has no parameters");
/// ```
///
/// # Errors
/// If the text is not in the grammar, names no entry, or sets a parameter that the entry does not have or not take.
pub fn make<T: ?Sized>(
    what: &str,
    table: &'static [Entry<T>],
    text: &str,
) -> Result<(Spec, Box<T>), ParamError> {
    let spec = Spec::parse(text).map_err(|error| match error.param.as_str() {
        "metric" => ParamError::new(what, text, "name[:key=value]…"),
        _ => error,
    })?;
    let Some(entry) = table.iter().find(|entry| entry.name == spec.name) else {
        return Err(unknown(what, &spec.name, table.iter().map(|entry| entry.name)));
    };
    let takes = |key: &str| entry.params.iter().any(|param| param.name == key);
    if let Some(cut) = spec.cut.filter(|_| !takes("@")) {
        let param = format!("the cut-off of {}", entry.name);
        return Err(ParamError::new(&param, &cut.to_string(), "left out: it has none"));
    }
    if let Some((key, _)) = spec.args.0.iter().find(|(key, _)| key == "@" || !takes(key)) {
        return Err(unknown_parameter(entry.name, key, entry.params.iter().map(|p| p.name)));
    }
    let made = (entry.make)(&spec)?;
    Ok((spec, made))
}

/// A parameter outside its range, or an unknown name (see [`unknown`]).
#[derive(Clone, Debug, PartialEq)]
pub struct ParamError {
    /// The parameter, or the kind of thing that the unknown name should name.
    pub param: String,
    /// What was given.
    pub found: String,
    /// What is allowed.
    pub expected: String,
    /// Whether the error is about an unknown name.
    unknown: bool,
}

impl ParamError {
    /// `param must be expected, but is found`.
    pub fn new(param: &str, found: &str, expected: &str) -> ParamError {
        ParamError { param: param.into(), found: found.into(), expected: expected.into(), unknown: false }
    }
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        /// A name given by a user may have any length; so many characters of it are shown.
        const SHOWN: usize = 400;
        let ParamError { param, found, expected, unknown } = self;
        let cut = found.char_indices().nth(SHOWN).map(|(end, _)| format!("{}…", &found[..end]));
        let found = cut.as_ref().unwrap_or(found);
        match unknown {
            true => write!(f, "unknown {param} \"{found}\"; {expected}"),
            false => write!(f, "{param} must be {expected}, but is {found}"),
        }
    }
}

impl std::error::Error for ParamError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quoted_forms_are_aliases() {
        for (quoted, plain) in [
            ("pauc@fpr<=0.1", "pauc:fpr=0.1"),
            ("p@recall=0.5", "p:recall=0.5"),
            ("pauc@fpr<=0.3:tpr=0.5", "pauc:fpr=0.3:tpr=0.5"),
        ] {
            assert_eq!(Spec::parse(quoted).unwrap(), Spec::parse(plain).unwrap());
        }
    }

    #[test]
    fn what_is_not_in_the_grammar_is_refused() {
        for bad in [
            "",
            "ndcg@",
            "ndcg@0",
            "ndcg@-1",
            "ndcg@x",
            "ndcg:gain",
            "ndcg:=1",
            "ndcg:gain=",
            "nd cg",
            "a:b=1:b=2",
            "@5",
        ] {
            assert!(Spec::parse(bad).is_err(), "{bad:?} was accepted");
        }
    }

    #[test]
    fn an_entry_given_twice_stays_once() {
        let specs = Spec::parse_all("map,ndcg@5,map,").unwrap();
        assert_eq!(specs.iter().map(Spec::to_string).collect::<Vec<_>>(), ["map", "ndcg@5"]);
    }

    #[test]
    fn long_names_are_near_to_nothing_and_are_cut_in_messages() {
        let (long, longer) = ("x".repeat(100_000), "x".repeat(100_001));
        assert!(nearest(&long, [longer.as_str(), "x"].into_iter()).is_empty());
        assert!(nearest("ndgc", [long.as_str(), "ndcg"].into_iter()).contains(&"ndcg"));
        let message = ParamError::new("user", &long, "a user of the model").to_string();
        assert!(message.ends_with("xx…") && message.len() < 500, "{} bytes", message.len());
    }

    #[test]
    fn edit_distance_counts_insertions_deletions_replacements_and_swaps() {
        for (a, b, distance) in
            [("ndcg", "ndcg", 0), ("ncdg", "ndcg", 1), ("", "map", 3), ("mpa", "map", 1), ("dgc", "ndcg", 2)]
        {
            assert_eq!((edits(a, b), edits(b, a)), (distance, distance), "{a} {b}");
        }
    }

    #[test]
    fn an_unknown_name_gets_one_sentence() {
        let names: Vec<String> = (0..40).map(|i| format!("name-number-{i}")).collect();
        let many = unknown("thing", "x", names.iter().map(String::as_str)).to_string();
        assert!(many.ends_with("name-number-11, … (40 in all)"), "{many}");
        // Half of the letters wrong is another name.
        assert_eq!(
            unknown("metric", "xy", ["p", "map"]).to_string(),
            "unknown metric \"xy\"; expected one of p, map"
        );
        assert_eq!(unknown("metric", "NDGC", ["ndcg"]).expected, "did you mean \"ndcg\"?");
    }
}
