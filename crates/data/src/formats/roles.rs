/*!
Which column of a table plays which role: decided here once for CSV, TSV, Parquet and Arrow.

| role        | option          | without the option                                                         |
|-------------|-----------------|----------------------------------------------------------------------------|
| list        | `list`          | `qid`, `query_id`, `query`, `list`, `group`; else all rows are one list    |
| label       | `label`         | `label`, `relevance`, `rel`, `grade`, `target`, `y`; else an error, or     |
|             |                 | not judged where rows are to be scored (`label_optional`)                  |
| labels      | `labels`        | none; if given: one list per label over the same rows                      |
| item weight | `weight`        | `item_weight`                                                              |
| list weight | `list_weight`   | `list_weight`                                                              |
| item name   | `item`          | `item`, `item_id`, `doc_id`, `docid`                                       |
| time        | `time`          | `timestamp`                                                                |
| position    |                 | `shown_position`                                                           |
| first score |                 | `init_score`                                                               |
| ignored     | `ignore`        | none; they have no role at all                                             |
| features    | `features`      | every numeric column that has a name and no other role                     |
| categories  | `categorical`   | Arrow dictionary columns of text; every text with `words: categories`      |
| kept text   | `keep`          | none; every column without a role with `words: kept`                       |

The first name of a line of this table that is there is taken. `labels`, `features`, `categorical` and `keep` take
names and patterns with `*`. A pattern passes over columns with another role; a name given in full does not.
*/

use toprank_core::catalog::hint;

use super::{ReadOptions, Words};
use crate::error::{ReadError, show_names};

pub(crate) const LIST: &[&str] = &["qid", "query_id", "query", "list", "group"];
pub(crate) const LABEL: &[&str] = &["label", "relevance", "rel", "grade", "target", "y"];
pub(crate) const WEIGHT: &[&str] = &["item_weight"];
pub(crate) const LIST_WEIGHT: &[&str] = &["list_weight"];
pub(crate) const ITEM: &[&str] = &["item", "item_id", "doc_id", "docid"];
pub(crate) const TIME: &[&str] = &["timestamp"];
pub(crate) const POSITION: &[&str] = &["shown_position"];
pub(crate) const INIT_SCORE: &[&str] = &["init_score"];
/// Usual names of every role that is a single column.
pub(crate) const ALL: &[&[&str]] = &[LIST, LABEL, WEIGHT, LIST_WEIGHT, ITEM, TIME, POSITION, INIT_SCORE];

/// What a column holds, as far as roles care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    Numbers,
    Text,
    /// Text that says of itself that it is a category.
    #[cfg(feature = "parquet")]
    Categories,
}

/// Column numbers of every role.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Roles {
    pub list: Option<usize>,
    /// One, or several over the same rows if `multi_label`.
    pub labels: Vec<usize>,
    pub multi_label: bool,
    pub weight: Option<usize>,
    pub list_weight: Option<usize>,
    pub item: Option<usize>,
    pub time: Option<usize>,
    pub position: Option<usize>,
    pub init_score: Option<usize>,
    pub features: Vec<Feature>,
    pub keep: Vec<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Feature {
    pub column: usize,
    pub categorical: bool,
}

impl Roles {
    /// Gives each column its role. `holds` is asked only for columns whose content decides.
    pub(crate) fn assign(
        file: &str,
        names: &[String],
        options: &ReadOptions,
        holds: impl Fn(usize) -> Holds,
    ) -> Result<Roles, ReadError> {
        let ignored = (0..names.len()).filter(|&c| options.ignore.iter().any(|some| fits(some, &names[c])));
        let table = Columns { file, names, ignored: ignored.collect() };
        table.check_names(options)?;
        if let Some(some) = options.ignore.iter().find(|some| !names.iter().any(|name| fits(some, name))) {
            return Err(table.not_there(some));
        }
        let mut roles = Roles { multi_label: !options.labels.is_empty(), ..Roles::default() };
        let multi = roles.multi_label;
        if multi {
            let per_list =
                [("list", &options.list), ("list_weight", &options.list_weight), ("time", &options.time)];
            for (role, asked) in per_list {
                if let Some(column) = asked {
                    let found = format!("column {column} as {role} together with several labels");
                    return Err(ReadError::options(
                        file,
                        found,
                        "one of the two: each label is a list of its own",
                    ));
                }
            }
        }
        roles.list = table.one(options.list.as_ref(), LIST)?;
        roles.weight = table.one(options.weight.as_ref(), WEIGHT)?;
        roles.list_weight = table.one(options.list_weight.as_ref(), LIST_WEIGHT)?;
        roles.item = table.one(options.item.as_ref(), ITEM)?;
        roles.time = table.one(options.time.as_ref(), TIME)?;
        roles.position = table.one(None, POSITION)?;
        roles.init_score = table.one(None, INIT_SCORE)?;
        if multi {
            match table.many(&options.labels, |column| !roles.uses(column)) {
                Ok(labels) => roles.labels = labels,
                Err(_) if options.label_optional => roles.multi_label = false,
                Err(error) => return Err(error),
            }
            if roles.labels.len() > usize::from(u16::MAX) {
                let found = format!("{} label columns", roles.labels.len());
                return Err(ReadError::options(file, found, "at most 65535"));
            }
        } else if !options.unlabelled {
            let absent = |name: &String| options.label_optional && !names.contains(name);
            let label = match &options.label {
                Some(name) if absent(name) => None,
                asked => table.one(asked.as_ref(), LABEL)?,
            };
            if label.is_none() && !options.label_optional {
                let found = format!("no label column among {}", table.listing());
                let expected = format!("a column called {}", LABEL.join(", "));
                let error = ReadError::options(file, found, expected);
                return Err(error.advice("Name the label column with --label."));
            }
            roles.labels.extend(label);
        }
        roles.keep = table.many(&options.keep, |_| true)?;
        roles.features = roles.find_features(&table, options, holds)?;
        if multi {
            // By default recognised, so no features; but each label is its own list over all rows.
            (roles.list, roles.list_weight, roles.time) = (None, None, None);
        }
        if options.words == Words::Kept {
            let used = roles.columns();
            let free = |column: &usize| !table.ignores(*column) && used.binary_search(column).is_err();
            let others: Vec<usize> = (0..names.len()).filter(free).collect();
            if let Some(nameless) = others.iter().find(|&&column| names[column].is_empty()) {
                let found = format!("column {}, which has no name and cannot be kept", nameless + 1);
                let error = ReadError::options(file, found, "a name for every column");
                return Err(error.advice("Name it, or leave out all columns without a use with --drop."));
            }
            roles.keep.extend(others);
        }
        Ok(roles)
    }

    fn find_features(
        &self,
        table: &Columns,
        options: &ReadOptions,
        holds: impl Fn(usize) -> Holds,
    ) -> Result<Vec<Feature>, ReadError> {
        let free = |column: usize| !self.uses(column) && !table.ignores(column);
        let categorical = table.many(&options.categorical, free)?;
        let named = table.many(&options.features, free)?;
        let mut features = Vec::new();
        for column in 0..table.names.len() {
            // Both are ascending.
            let is_named = named.binary_search(&column).is_ok();
            let by_default =
                || options.features.is_empty() && free(column) && !table.names[column].is_empty();
            if categorical.binary_search(&column).is_ok() {
                features.push(Feature { column, categorical: true });
            } else if is_named || by_default() {
                match holds(column) {
                    #[cfg(feature = "parquet")]
                    Holds::Categories => features.push(Feature { column, categorical: true }),
                    Holds::Text if !is_named && options.words == Words::Categories => {
                        features.push(Feature { column, categorical: true });
                    }
                    Holds::Text if !is_named => {}
                    Holds::Text | Holds::Numbers => features.push(Feature { column, categorical: false }),
                }
            }
        }
        if features.len() > options.feature_limit() as usize {
            let found = format!("{} features", features.len());
            let expected = format!("at most {} (max_features)", options.feature_limit());
            return Err(ReadError::data(table.file, found, expected));
        }
        Ok(features)
    }

    /// True if the column has a role other than feature or kept text.
    fn uses(&self, column: usize) -> bool {
        let single =
            [self.list, self.weight, self.list_weight, self.item, self.time, self.position, self.init_score];
        single.contains(&Some(column)) || self.labels.contains(&column)
    }

    /// Every column that is read, ascending, each once.
    pub(crate) fn columns(&self) -> Vec<usize> {
        let single =
            [self.list, self.weight, self.list_weight, self.item, self.time, self.position, self.init_score];
        let mut all: Vec<usize> = single.into_iter().flatten().collect();
        all.extend(&self.labels);
        all.extend(&self.keep);
        all.extend(self.features.iter().map(|feature| feature.column));
        all.sort_unstable();
        all.dedup();
        all
    }
}

struct Columns<'a> {
    file: &'a str,
    names: &'a [String],
    /// Columns that are not to be read, ascending.
    ignored: Vec<usize>,
}

impl Columns<'_> {
    fn ignores(&self, column: usize) -> bool {
        self.ignored.binary_search(&column).is_ok()
    }

    /// A name that stands twice would make every answer below a guess.
    fn check_names(&self, options: &ReadOptions) -> Result<(), ReadError> {
        let mut seen = crate::group::Interner::default();
        for (column, name) in self.names.iter().enumerate() {
            let before = seen.len();
            seen.number(name);
            if !name.is_empty() && seen.len() == before {
                let found =
                    format!("column name {name} stands twice, the second time at column {}", column + 1);
                return Err(ReadError::data(self.file, found, "a different name for each column"));
            }
        }
        let limit = options.feature_limit() as usize;
        if self.names.len() > limit.saturating_add(1 << 16) {
            let found = format!("{} columns", self.names.len());
            return Err(ReadError::data(
                self.file,
                found,
                format!("at most {limit} features (max_features)"),
            ));
        }
        Ok(())
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|there| there == name)
    }

    /// The column called so; of alternatives `a|b` the first that is there.
    fn first_of(&self, name: &str) -> Option<usize> {
        self.place(name).or_else(|| name.split('|').find_map(|name| self.place(name)))
    }

    fn one(&self, asked: Option<&String>, usual: &[&str]) -> Result<Option<usize>, ReadError> {
        match asked {
            Some(name) => self.first_of(name).map(Some).ok_or_else(|| self.not_there(name)),
            None => {
                Ok(usual.iter().find_map(|name| self.place(name).filter(|&column| !self.ignores(column))))
            }
        }
    }

    /// Columns of all names and patterns, in file order, each once.
    fn many(&self, asked: &[String], free: impl Fn(usize) -> bool) -> Result<Vec<usize>, ReadError> {
        let mut taken = vec![false; if asked.is_empty() { 0 } else { self.names.len() }];
        for wanted in asked {
            if let Some(column) = self.first_of(wanted) {
                taken[column] = true;
                continue;
            }
            let mut any = false;
            if wanted.contains('*') {
                for column in (0..self.names.len()).filter(|&c| free(c) && matches(wanted, &self.names[c])) {
                    taken[column] = true;
                    any = true;
                }
            }
            if !any {
                return Err(self.not_there(wanted));
            }
        }
        Ok((0..taken.len()).filter(|&column| taken[column]).collect())
    }

    fn not_there(&self, wanted: &str) -> ReadError {
        let found = if wanted.contains('*') {
            format!("no free column matches {wanted}")
        } else {
            format!("no column is called {}", wanted.replace('|', " or "))
        };
        // A short name is near to everything.
        let names = self.names.iter().filter(|_| wanted.len() > 3).map(String::as_str);
        ReadError::options(self.file, found, format!("one of {}{}", self.listing(), hint(wanted, names)))
    }

    /// The columns there are, for messages.
    fn listing(&self) -> String {
        show_names(self.names.iter().map(String::as_str))
    }
}

/// True if `name` is meant by what is to be ignored: a name, a pattern with `*`, or a range of numbers such as `26-46`.
pub(crate) fn fits(some: &str, name: &str) -> bool {
    let range = some.split_once('-').and_then(|(from, to)| Some((from.parse().ok()?, to.parse().ok()?)));
    let within =
        |(from, to): (u32, u32)| name.parse::<u32>().is_ok_and(|number| (from..=to).contains(&number));
    some == name || matches(some, name) || range.is_some_and(within)
}

/// True if `name` fits `pattern`, in which `*` stands for any text.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|head| name.strip_prefix(head)) else { return false };
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        text.split(',').map(String::from).collect()
    }

    fn assign(columns: &str, options: &ReadOptions) -> Result<Roles, ReadError> {
        Roles::assign("t.csv", &names(columns), options, |_| Holds::Numbers)
    }

    #[test]
    fn rows_to_be_scored_need_no_label() {
        for options in [
            ReadOptions { label_optional: true, ..ReadOptions::default() },
            ReadOptions { label_optional: true, label: Some("fraud".into()), ..ReadOptions::default() },
            ReadOptions { label_optional: true, labels: names("y1,y2"), ..ReadOptions::default() },
        ] {
            let roles = assign("f0,f1", &options).unwrap();
            assert!(roles.labels.is_empty() && !roles.multi_label);
            assert_eq!(roles.features.len(), 2);
        }
        let roles = assign("f0,y", &ReadOptions { label_optional: true, ..ReadOptions::default() }).unwrap();
        assert_eq!(roles.labels, [1], "a label that is there is read");
    }

    #[test]
    fn ignored_columns_have_no_role() {
        let options = ReadOptions { ignore: names("item,x*,2-3"), ..ReadOptions::default() };
        let roles = assign("qid,item,label,x1,1,2,3,4", &options).unwrap();
        assert_eq!((roles.item, roles.columns()), (None, vec![0, 2, 4, 7]));
        let options = ReadOptions { ignore: names("colour"), ..ReadOptions::default() };
        let error = assign("label,color", &options).unwrap_err().to_string();
        assert!(error.contains("no column is called colour"), "{error}");
    }

    #[test]
    fn patterns_match_whole_names() {
        let cases = [
            ("f*", "f1", true),
            ("f*", "xf1", false),
            ("*", "", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "acb", false),
            ("*b", "ab", true),
            ("*bb", "b", false),
            ("a*a", "a", false),
            ("f1", "f1", true),
            ("f1", "f12", false),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(matches(pattern, name), expected, "{pattern} on {name}");
        }
    }

    #[test]
    fn usual_names_are_found_and_the_rest_are_features() {
        let roles = assign("query_id,f1,item,grade,,f2", &ReadOptions::default()).unwrap();
        assert_eq!((roles.list, roles.item, &roles.labels[..]), (Some(0), Some(2), &[3][..]));
        assert_eq!(roles.features.iter().map(|f| f.column).collect::<Vec<_>>(), [1, 5], "no unnamed column");
    }

    #[test]
    fn a_pattern_passes_over_roles_and_a_name_does_not() {
        let options =
            ReadOptions { features: names("f*"), list: Some("f0".into()), ..ReadOptions::default() };
        let roles = assign("f0,f1,label", &options).unwrap();
        assert_eq!(roles.features, [Feature { column: 1, categorical: false }]);
        let options = ReadOptions { features: names("f0,f1"), ..options };
        assert_eq!(assign("f0,f1,label", &options).unwrap().features.len(), 2);
    }

    #[test]
    fn wrong_names_are_told_with_the_columns_there_are() {
        let ask = |options: ReadOptions| assign("qid,label,f1", &options).unwrap_err().to_string();
        assert_eq!(
            ask(ReadOptions { list: Some("q".into()), ..ReadOptions::default() }),
            "t.csv: no column is called q; expected one of qid, label, f1."
        );
        assert_eq!(
            ask(ReadOptions { label: Some("labl".into()), ..ReadOptions::default() }),
            "t.csv: no column is called labl; expected one of qid, label, f1 (did you mean label?)."
        );
        assert_eq!(
            ask(ReadOptions { features: names("x*"), ..ReadOptions::default() }),
            "t.csv: no free column matches x*; expected one of qid, label, f1."
        );
        assert_eq!(
            ask(ReadOptions { labels: names("label"), list: Some("qid".into()), ..ReadOptions::default() }),
            "t.csv: column qid as list together with several labels; expected one of the two: each label is a \
             list of its own."
        );
        assert_eq!(
            assign("qid,f1", &ReadOptions::default()).unwrap_err().to_string(),
            "t.csv: no label column among qid, f1; expected a column called label, relevance, rel, grade, \
             target, y.\nName the label column with --label."
        );
        assert_eq!(
            assign("label,f1,f1", &ReadOptions::default()).unwrap_err().to_string(),
            "t.csv: column name f1 stands twice, the second time at column 3; expected a different name for \
             each column."
        );
    }
}
