/*!
Edge lists: one edge a line, two columns that name its ends.

```text
while the next pieces of whole lines are fetched
    the pieces at hand are parsed in parallel: two numbers a line, or two words
    numbers stay numbers until the first word; then everything gets a number by first appearance
```

Columns are separated by tabs, commas, semicolons, bars or blanks, whichever the first line has; fields may be quoted;
gzip and zstd are unpacked. Names are of any length: `4294967296` is a node like any other. Files that [`Graph::save`] wrote
are memory-mapped. Parquet, Arrow and other tables are read by their own readers; any other file that is not text is refused.

The first line is a header, which names the columns and is no edge, in these cases only:

- [`EdgeOptions::header`] says so, or a column is asked for by its name there;
- its two names are usual ones of such columns (`source,target`, `FromNodeId ToNodeId`, `id1;id2` …), and neither is a node of
  another line;
- neither of its two names is a number, and all nodes of all other lines are.

[`ReadGraph::header`] is the line that was skipped. A first line of other strings is an edge;
[`ReadGraph::possible_header`] says so if its two nodes are in no other line.

Empty lines are skipped. Comments are skipped only where a format has them, and are counted
([`ReadGraph::comment_lines`]):

- before the first edge or header: lines that start with `#` (SNAP), and `%` followed by a blank (KONECT);
- further down: `#` followed by a blank, if columns are separated by blanks or tabs and no header names them.

Every other line is an edge, whatever its names start with: `%C3%89ire` is a node. A Matrix Market file, whose first
line without `%` is not an edge but the size of the matrix, is refused.
*/

use std::io::Read;

use rayon::prelude::*;

use super::mapped::MARK;
use super::{Degrees, Graph, MOST_EDGES, NodeNames, last_node};
use crate::error::{ReadError, show, show_names};
use crate::formats::{self, ReadOptions};
use crate::group::Interner;
use crate::pieces::Pieces;
use crate::source::Source;

/// Usual names of the column of sources, and of that of targets.
pub(crate) const SOURCE: &str = "source|from|src|node1|id1|head";
pub(crate) const TARGET: &str = "target|to|dst|node2|id2|tail";

/// Whether these are usual names of the columns of sources and targets. Case, `_` and `-` do not matter, nor does `id` or
/// `node` after `from` and the like: `From_Node_ID`.
fn are_usual(source: &str, target: &str) -> bool {
    let plain = |name: &str| name.to_ascii_lowercase().replace(['_', '-'], "");
    let is = |name: &str, usual: &str| {
        let name = plain(name);
        let stem = name.strip_suffix("id").unwrap_or(&name);
        let stem = stem.strip_suffix("node").unwrap_or(stem);
        usual.split('|').any(|usual| usual == name || usual == stem)
    };
    is(source, SOURCE) && is(target, TARGET)
}

/// What to take from an edge list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EdgeOptions {
    /// Column of the source, by name or number from 1; `None`: the first.
    pub source: Option<String>,
    /// Column of the target; `None`: the second.
    pub target: Option<String>,
    /// Column of the weight; `None`: every edge weighs 1.
    pub weight: Option<String>,
    /// Every line is an edge in both directions (a self loop once).
    pub undirected: bool,
    /// Whether the first line of a text names its columns; `None`: by the rule of [`read_edges`].
    pub header: Option<bool>,
}

/// A graph as read from an edge list.
#[derive(Clone, Debug)]
pub struct ReadGraph {
    /// The graph.
    pub graph: Graph,
    /// Lines that were skipped because they are comments; empty lines are not counted.
    pub comment_lines: u64,
    /// The first line, if it was skipped because it names the columns.
    pub header: Option<String>,
    /// The first line, if it was read as an edge of two nodes that are in no other line: it may be a header.
    pub possible_header: Option<String>,
}

/// Pieces parsed at a time: several for each thread, but few enough for the caches.
fn pieces_at_once() -> usize {
    (4 * rayon::current_num_threads()).clamp(8, 32)
}

/// Reads a graph from an edge list. Cost: about 10 ns a line and thread if names are integers, 100 ns otherwise; 8 bytes
/// an edge while reading.
///
/// ```
/// use toprank_data::{Source, graph::{EdgeOptions, read_edges}};
/// let text = Source::bytes("web.txt", *b"# SNAP\n10\t20\n20\t30\n10\t30\n");
/// let read = read_edges(&text, &EdgeOptions::default()).unwrap();
/// assert_eq!((read.graph.nodes(), read.graph.edges(), read.comment_lines), (3, 3, 1));
/// assert_eq!(read.graph.names().get(2), "30");
/// ```
///
/// The first line is a header only if `options` say so or it cannot be an edge among the others: if its names are usual ones
/// of columns (`source,target`) and no nodes of other lines, or if they are no numbers while all other nodes are.
pub fn read_edges(source: &Source, options: &EdgeOptions) -> Result<ReadGraph, ReadError> {
    if let Some(path) = source.as_path()
        && is_mapped(path)
    {
        let graph = Graph::open(path)?;
        return Ok(ReadGraph { graph, comment_lines: 0, header: None, possible_header: None });
    }
    let (head, source) = source.peek()?;
    let is_table = ["parquet", "arrow", "toprank-data"].iter().filter_map(|name| formats::by_name(name));
    let mut ends = if is_table.into_iter().any(|format| (format.sniff)(&head)) {
        from_table(&source, options)?
    } else {
        from_text(&source, &head, options)?
    };
    if ends.sources.is_empty() {
        return Err(ReadError::data(source.name(), "no edge", "at least one line with two nodes"));
    }
    if options.undirected {
        ends.mirror();
    }
    let Ends { comment_lines, .. } = ends;
    let (header, doubtful) = (ends.header.take(), ends.doubtful.take());
    let graph = ends.graph(source.name())?;
    let only_here = |name: &str| {
        let node = graph.names().find(name);
        node.is_some_and(|n| {
            graph.out_degree()[n as usize] as usize + graph.inward().range(n as usize).len() == 1
        })
    };
    let possible_header = doubtful
        .filter(|(_, names)| graph.edges() > 1 && names.iter().all(|name| only_here(name)))
        .map(|(line, _)| line);
    Ok(ReadGraph { graph, comment_lines, header, possible_header })
}

/// True if the file starts as a mapped graph does.
fn is_mapped(path: &std::path::Path) -> bool {
    let mut head = [0; MARK.len()];
    let opened = std::fs::File::open(path).ok().filter(|file| file.metadata().is_ok_and(|m| m.is_file()));
    opened.is_some_and(|mut file| file.read_exact(&mut head).is_ok()) && head == *MARK
}

/// Edges that are collected for a graph.
#[derive(Default)]
struct Ends {
    /// `None`: sources and targets are the names themselves.
    words: Option<Box<Interner>>,
    sources: Vec<u32>,
    targets: Vec<u32>,
    weights: Option<Vec<f32>>,
    comment_lines: u64,
    /// The first line, if it is a header.
    header: Option<String>,
    /// The first line and its two nodes, if it may be one.
    doubtful: Option<(String, [String; 2])>,
}

impl Ends {
    fn mirror(&mut self) {
        for edge in 0..self.sources.len() {
            let (source, target) = (self.sources[edge], self.targets[edge]);
            if source != target {
                self.sources.push(target);
                self.targets.push(source);
                if let Some(weights) = &mut self.weights {
                    weights.push(weights[edge]);
                }
            }
        }
    }

    /// Names for all numbers seen until now.
    fn name_all(&mut self) -> &mut Interner {
        if self.words.is_none() {
            let mut words = Interner::default();
            for edge in 0..self.sources.len() {
                self.sources[edge] = words.number(&self.sources[edge].to_string());
                self.targets[edge] = words.number(&self.targets[edge].to_string());
            }
            self.words = Some(Box::new(words));
        }
        self.words.get_or_insert_default()
    }

    /// Whether some edge has this node.
    fn has(&self, name: &str) -> bool {
        match &self.words {
            Some(words) => words.find(name).is_some(),
            None => {
                let number = whole(name.as_bytes());
                number.is_some_and(|n| self.sources.contains(&n) || self.targets.contains(&n))
            }
        }
    }

    /// Whether every node is called by a number.
    fn are_numbers(&self) -> bool {
        self.words.as_ref().is_none_or(|words| words.names().iter().all(is_number))
    }

    fn graph(self, file: &str) -> Result<Graph, ReadError> {
        let Ends { words, mut sources, mut targets, weights, .. } = self;
        if sources.len() > MOST_EDGES {
            let found = format!("{} edges", sources.len());
            return Err(ReadError::data(file, found, "at most 4294967295"));
        }
        let Some(words) = words else {
            let (numbers, degrees) = renumber(&mut sources, &mut targets);
            let names = NodeNames::Numbers(numbers);
            return Ok(Graph::of(names, &sources, &targets, weights.as_deref(), degrees));
        };
        Graph::new(NodeNames::Strings(words), &sources, &targets, weights.as_deref())
    }
}

/// Numbers that are names become places among all of them, ascending.
fn renumber(sources: &mut [u32], targets: &mut [u32]) -> (Vec<u32>, Degrees) {
    let last = last_node(sources, targets) as usize;
    if last / 8 > sources.len() + 1024 {
        // Far apart: a table of all numbers would be larger than the edges.
        let mut numbers: Vec<u32> = sources.iter().chain(&*targets).copied().collect();
        numbers.par_sort_unstable();
        numbers.dedup();
        let place = |end: &mut u32| *end = numbers.partition_point(|number| number < end) as u32;
        sources.par_iter_mut().for_each(place);
        targets.par_iter_mut().for_each(place);
        let degrees = Degrees::count(numbers.len(), sources, targets);
        return (numbers, degrees);
    }
    let mut degrees = Degrees::count(last + 1, sources, targets);
    let is_there = |&number: &u32| degrees.into[number as usize] > 0 || degrees.out_of[number as usize] > 0;
    let numbers: Vec<u32> = (0..=last as u32).filter(is_there).collect();
    if numbers.len() <= last {
        let mut place = vec![0u32; last + 1];
        for (node, &number) in numbers.iter().enumerate() {
            place[number as usize] = node as u32;
        }
        sources.par_iter_mut().for_each(|end| *end = place[*end as usize]);
        targets.par_iter_mut().for_each(|end| *end = place[*end as usize]);
        for degrees in [&mut degrees.into, &mut degrees.out_of] {
            *degrees = numbers.iter().map(|&number| degrees[number as usize]).collect();
        }
    }
    (numbers, degrees)
}

fn from_table(source: &Source, options: &EdgeOptions) -> Result<Ends, ReadError> {
    let from = options.source.clone().unwrap_or_else(|| SOURCE.into());
    let to = options.target.clone().unwrap_or_else(|| TARGET.into());
    let read = ReadOptions {
        unlabelled: true,
        list: None,
        item: Some(from),
        keep: vec![to],
        weight: options.weight.clone(),
        regroup: true,
        ..ReadOptions::default()
    };
    let data = formats::read_table(source, &read)?;
    let mut words = Interner::default();
    let mut ends = Ends { weights: data.lists.item_weights, ..Ends::default() };
    if let (Some(from), Some((_, to))) = (&data.item_names, data.extra.first()) {
        for (from, to) in from.iter().zip(to.iter()) {
            ends.sources.push(words.number(from));
            ends.targets.push(words.number(to));
        }
    }
    ends.words = Some(Box::new(words));
    Ok(ends)
}

/// How lines are cut and which columns count.
#[derive(Clone, Copy, Debug)]
struct Columns {
    /// `None`: any run of blanks and tabs.
    separator: Option<u8>,
    source: usize,
    target: usize,
    weight: Option<usize>,
    /// Whether lines below the first edge can be comments.
    comments: bool,
}

fn from_text(source: &Source, head: &[u8], options: &EdgeOptions) -> Result<Ends, ReadError> {
    let file = source.name();
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    if head.starts_with(b"%%MatrixMarket") {
        return Err(ReadError::data(
            file,
            "a Matrix Market file",
            "an edge list: a source and a target a line",
        )
        .advice("Remove its lines that start with % and the line of sizes after them."));
    }
    // UTF-16 has its own message where lines are read.
    let is_utf16 = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
    if let Some(at) = head.iter().position(|&byte| is_binary(byte)).filter(|_| !is_utf16) {
        return Err(binary(file, head, at));
    }
    let mut data = head
        .split(|&byte| byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .skip_while(|line| line.is_empty() || is_leading_comment(line))
        .filter(|line| !line.is_empty());
    let first = data.next().unwrap_or_default();
    let second = data.next().unwrap_or_default();
    let separator = b",\t;|".iter().copied().find(|separator| first.contains(separator));
    let mut names = Vec::new();
    cut(first, separator, &mut names);
    let names: Vec<String> =
        names.iter().map(|field| String::from_utf8_lossy(unquote(field)).into_owned()).collect();
    let asked = [&options.source, &options.target, &options.weight];
    let by_name = |asked: &Option<String>| {
        asked.as_ref().is_some_and(|name| names.contains(name) && name.parse::<usize>().is_err())
    };
    let named = asked.iter().any(|asked| by_name(asked));
    let place = |asked: &Option<String>, default: usize, what: &str| match asked {
        None => Ok(default),
        Some(name) => names
            .iter()
            .position(|there| there == name)
            .or_else(|| name.parse::<usize>().ok().filter(|&n| n > 0).map(|n| n - 1))
            .ok_or_else(|| {
                let expected = format!("one of {}", show_names(names.iter().map(String::as_str)));
                ReadError::options(file, format!("no column {name} for the {what}"), expected)
            }),
    };
    let mut columns = Columns {
        separator,
        source: place(&options.source, 0, "source")?,
        target: place(&options.target, 1, "target")?,
        weight: match &options.weight {
            None => None,
            weight => Some(place(weight, 2, "weight")?),
        },
        comments: false,
    };
    let heading = match (options.header, columns.names(first), columns.names(second)) {
        (Some(false), ..) => Heading::No,
        (Some(true), ..) => Heading::Yes,
        _ if named => Heading::Yes,
        // The other lines are known at the end only.
        (None, Some([source, target]), _) if are_usual(&source, &target) => Heading::UnlessNode,
        (None, Some(names), Some(below)) if !names.iter().any(|n| is_number(n)) => {
            if below.iter().all(|n| is_number(n)) { Heading::IfNumbers } else { Heading::No }
        }
        _ => Heading::No,
    };
    columns.comments = matches!(separator, None | Some(b'\t')) && heading == Heading::No;
    let mut ends = gather(source, columns, heading)?;
    // With blanks for separators, any two strings would be in doubt.
    if ends.header.is_none() && options.header.is_none() && separator.is_some() {
        let names = columns.names(first).filter(|names| !names.iter().any(|n| is_number(n)));
        ends.doubtful = names.map(|names| (shown_line(first), names));
    }
    Ok(ends)
}

impl Columns {
    /// Source and target of a line.
    fn names(&self, line: &[u8]) -> Option<[String; 2]> {
        let mut fields = Vec::new();
        cut(line, self.separator, &mut fields);
        let name = |c: usize| fields.get(c).map(|field| unquoted(field)).filter(|name| !name.is_empty());
        Some([name(self.source)?, name(self.target)?])
    }
}

/// Whether a name is a number, of any length.
fn is_number(name: &str) -> bool {
    fast_float2::parse::<f64, _>(name).is_ok()
}

/// A line in a note: cut, without control characters.
fn shown_line(line: &[u8]) -> String {
    show_names([String::from_utf8_lossy(line.trim_ascii()).as_ref()])
}

/// Bytes that no text has.
fn is_binary(byte: u8) -> bool {
    byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c)
}

/// The error about a file that is not text; `at` is its first byte that no text has.
fn binary(file: &str, head: &[u8], at: usize) -> ReadError {
    let found = if head.starts_with(MARK) {
        "a graph file that is packed or comes through a pipe".to_string()
    } else {
        format!(
            "a file that is not text: it starts with {}, byte {at} is {:#04x}",
            show(&head[..at.min(16)]),
            head[at]
        )
    };
    ReadError::data(
        file,
        found,
        "an edge list as text, a plain .toprank-graph file, or a Parquet or Arrow table",
    )
}

/// When the first line is a header.
#[derive(Clone, Copy, PartialEq)]
enum Heading {
    Yes,
    No,
    /// Unless one of its names is a node of another line.
    UnlessNode,
    /// If all nodes of all other lines are numbers.
    IfNumbers,
}

fn gather(source: &Source, columns: Columns, heading: Heading) -> Result<Ends, ReadError> {
    let file = source.name();
    let mut pieces = Pieces::open(source)?;
    let mut ends = Ends { weights: columns.weight.map(|_| Vec::new()), ..Ends::default() };
    let mut line = 1u64;
    let mut first_line: Option<Vec<u8>> = None;
    let at_once = pieces_at_once();
    let mut texts: Vec<Vec<u8>> = vec![Vec::new(); at_once];
    let mut next: Vec<Vec<u8>> = vec![Vec::new(); at_once];
    let fill = |pieces: &mut Pieces, texts: &mut [Vec<u8>]| {
        texts.iter_mut().for_each(Vec::clear);
        for text in texts {
            pieces.next(text)?;
            if text.is_empty() {
                break;
            }
        }
        Ok::<(), ReadError>(())
    };
    let mut first_number = line;
    loop {
        fill(&mut pieces, &mut texts)?;
        if texts[0].is_empty() {
            break;
        }
        for text in &mut texts {
            if first_line.is_none() {
                ends.comment_lines += drop_leading_comments(text, &mut line);
                first_number = line;
                if heading != Heading::No && !text.is_empty() {
                    first_line = Some(text.drain(..line_end(text, 0)).collect());
                    line += 1;
                }
            }
            if !text.is_empty() {
                break;
            }
        }
        if let Some(first) = texts.iter().position(|text| !text.is_empty()) {
            texts.rotate_left(first);
            break;
        }
    }
    let mut add_all = |parsed: Vec<Piece>, texts: &[Vec<u8>]| {
        for (piece, text) in parsed.into_iter().zip(texts) {
            if let Some((at, found, expected)) = piece.fault {
                return Err(ReadError::data(file, found, expected).at_line(line + at));
            }
            add(&mut ends, &piece, text);
            ends.comment_lines += piece.comment_lines;
            line += piece.lines;
        }
        Ok(())
    };
    // Pieces parsed and their texts, to be added while the next ones are parsed.
    let (mut waiting, mut before) = (Vec::new(), vec![Vec::new(); at_once]);
    while !texts[0].is_empty() {
        let ((added, filled), parsed) = rayon::join(
            || (add_all(std::mem::take(&mut waiting), &before), fill(&mut pieces, &mut next)),
            || texts.par_iter().map(|text| parse(text, &columns, false)).collect::<Vec<Piece>>(),
        );
        added?;
        if filled.is_err() {
            // What stands before the fault of the file may have its own.
            add_all(parsed, &texts)?;
            return filled.map(|()| ends);
        }
        waiting = parsed;
        std::mem::swap(&mut before, &mut texts);
        std::mem::swap(&mut texts, &mut next);
    }
    add_all(waiting, &before)?;
    if let Some(first) = &first_line {
        let is_header = match heading {
            Heading::Yes => true,
            Heading::No => false,
            Heading::UnlessNode => !columns.names(first).iter().flatten().any(|name| ends.has(name)),
            Heading::IfNumbers => ends.are_numbers(),
        };
        if is_header {
            ends.header = Some(shown_line(first));
            return Ok(ends);
        }
        let piece = parse(first, &columns, false);
        if let Some((_, found, expected)) = piece.fault {
            return Err(ReadError::data(file, found, expected).at_line(first_number));
        }
        add(&mut ends, &piece, first);
    }
    Ok(ends)
}

/// Drops empty lines and comments from the start of the text; returns how many comments there were.
fn drop_leading_comments(text: &mut Vec<u8>, line: &mut u64) -> u64 {
    let (mut start, mut comments) = (0, 0);
    while start < text.len() {
        let end = line_end(text, start);
        match text[start..end].trim_ascii() {
            [] => {}
            comment if is_leading_comment(comment) => comments += 1,
            _ => break,
        }
        *line += 1;
        start = end;
    }
    text.drain(..start);
    comments
}

/// Where the line that starts at `start` ends, with its line feed.
fn line_end(text: &[u8], start: usize) -> usize {
    memchr::memchr(b'\n', &text[start..]).map_or(text.len(), |length| start + length + 1)
}

/// A piece of text once it is parsed, up to its first fault.
#[derive(Default)]
struct Piece {
    lines: u64,
    comment_lines: u64,
    /// Two numbers an edge; empty once a word was found.
    numbers: Vec<u32>,
    /// Two ranges of the text an edge, if some end is a word.
    words: Option<Vec<std::ops::Range<u32>>>,
    weights: Vec<f32>,
    /// Line within the piece, what was found, what was expected.
    fault: Option<(u64, String, &'static str)>,
}

fn add(ends: &mut Ends, piece: &Piece, text: &[u8]) {
    if let Some(weights) = &mut ends.weights {
        weights.extend_from_slice(&piece.weights);
    }
    if let Some(ranges) = &piece.words {
        ends.name_all();
        let Ends { words, sources, targets, .. } = ends;
        let words = words.get_or_insert_default();
        let mut number = |range: &std::ops::Range<u32>| {
            words.number(&unquoted(&text[range.start as usize..range.end as usize]))
        };
        for pair in ranges.as_chunks::<2>().0 {
            sources.push(number(&pair[0]));
            targets.push(number(&pair[1]));
        }
        return;
    }
    let pairs = piece.numbers.as_chunks::<2>().0;
    match &mut ends.words {
        None => {
            ends.sources.extend(pairs.iter().map(|pair| pair[0]));
            ends.targets.extend(pairs.iter().map(|pair| pair[1]));
        }
        Some(words) => {
            for pair in pairs {
                ends.sources.push(words.number(&pair[0].to_string()));
                ends.targets.push(words.number(&pair[1].to_string()));
            }
        }
    }
}

/// Numbers as long as every end is one; at the first word the piece is read again as `words`.
fn parse(text: &[u8], columns: &Columns, words: bool) -> Piece {
    // A line of two numbers has 4 bytes at least; most have 12.
    let mut piece = Piece { numbers: Vec::with_capacity(text.len() / 6), ..Piece::default() };
    piece.words = words.then(Vec::new);
    // Numbers hold no such byte. The start of the file was searched for every byte that no text has.
    let has_nul = words && memchr::memchr(0, text).is_some();
    let plain = columns.source == 0 && columns.target == 1 && columns.weight.is_none() && !words;
    let mut fields: Vec<&[u8]> = Vec::new();
    let mut start = 0;
    while start < text.len() {
        if plain && let Some((source, target, end)) = two_numbers(text, start, columns.separator) {
            piece.numbers.extend([source, target]);
            piece.lines += 1;
            start = end;
            continue;
        }
        let end = line_end(text, start);
        let line = text[start..end].trim_ascii();
        start = end;
        piece.lines += 1;
        if line.is_empty() {
            continue;
        }
        if columns.comments && is_marked(line, b'#') {
            piece.comment_lines += 1;
            continue;
        }
        cut(line, columns.separator, &mut fields);
        if has_nul && memchr::memchr(0, line).is_some() {
            let found = format!("bytes that are not text in {}", show(line));
            piece.fault = Some((piece.lines - 1, found, "a source and a target on every line"));
            return piece;
        }
        let (source, target) = match two_ends(line, &fields, columns) {
            Ok(ends) => ends,
            Err((found, expected)) => {
                piece.fault = Some((piece.lines - 1, found, expected));
                return piece;
            }
        };
        if let Some(column) = columns.weight {
            let field = fields.get(column).copied().unwrap_or_default();
            let weight = fast_float2::parse::<f32, _>(field).ok();
            let Some(weight) = weight.filter(|weight| weight.is_finite() && *weight >= 0.0) else {
                let found = format!("the weight {}", show(field));
                piece.fault = Some((piece.lines - 1, found, "a finite number from 0 on"));
                return piece;
            };
            piece.weights.push(weight);
        }
        match (whole(source), whole(target), &mut piece.words) {
            (_, _, Some(words)) => words.extend([source, target].map(|field| range(text, field))),
            (Some(source), Some(target), None) => piece.numbers.extend([source, target]),
            (_, _, None) => return parse(text, columns, true),
        }
    }
    piece
}

/// What was found and what was expected.
type Wrong = (String, &'static str);

/// The fields of source and target, or what is wrong.
fn two_ends<'a>(line: &[u8], fields: &[&'a [u8]], columns: &Columns) -> Result<(&'a [u8], &'a [u8]), Wrong> {
    let field = |c: usize| fields.get(c).copied().filter(|field| !unquote(field).is_empty());
    let (Some(source), Some(target)) = (field(columns.source), field(columns.target)) else {
        let found = format!("{} fields in {}", fields.len(), show(line));
        return Err((found, "a source and a target on every line"));
    };
    if std::str::from_utf8(source).is_err() || std::str::from_utf8(target).is_err() {
        return Err((format!("{} is not UTF-8", show(line)), "UTF-8 text"));
    }
    Ok((source, target))
}

/// Where a field stands in the text.
fn range(text: &[u8], field: &[u8]) -> std::ops::Range<u32> {
    let start = field.as_ptr() as usize - text.as_ptr() as usize;
    start as u32..(start + field.len()) as u32
}

/// The two numbers of a plain line and where the next one starts.
#[inline]
fn two_numbers(text: &[u8], start: usize, separator: Option<u8>) -> Option<(u32, u32, usize)> {
    let (source, at) = digits(text, start)?;
    let mut at = match separator {
        Some(separator) => (*text.get(at)? == separator).then_some(at + 1)?,
        None => {
            let blanks = text[at..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
            (blanks > 0).then_some(at + blanks)?
        }
    };
    let (target, end) = digits(text, at)?;
    at = end;
    if text.get(at) == Some(&b'\r') {
        at += 1;
    }
    (*text.get(at)? == b'\n').then_some((source, target, at + 1))
}

/// An integer as [`whole`] takes it, and where it ends.
#[inline]
pub(super) fn digits(text: &[u8], start: usize) -> Option<(u32, usize)> {
    let Some(&word) = text.get(start..).and_then(<[u8]>::first_chunk::<8>) else {
        return more_digits(text, start, 0, 0);
    };
    // Eight bytes at once, the first the lowest. Digits become 0 to 9. Any other byte has its top bit set, or the sum sets it;
    // what the sum carries into the bytes after that one does not matter.
    let values = u64::from_le_bytes(word) ^ 0x3030_3030_3030_3030;
    let others = (values | values.wrapping_add(0x7676_7676_7676_7676)) & 0x8080_8080_8080_8080;
    let count = others.trailing_zeros() / 8;
    let leading = count > 1 && word[0] == b'0';
    if count == 0 || leading {
        return None;
    }
    // With zeros in front they are eight digits: pairs of digits become one number, then pairs of pairs and of fours.
    let values = values << (64 - 8 * count);
    let pairs = values.wrapping_mul(10).wrapping_add(values >> 8);
    let first = (pairs & 0x0000_00FF_0000_00FF).wrapping_mul(100 + (1_000_000 << 32));
    let second = (pairs >> 16 & 0x0000_00FF_0000_00FF).wrapping_mul(1 + (10_000 << 32));
    let value = first.wrapping_add(second) >> 32;
    if count == 8 {
        return more_digits(text, start, 8, value);
    }
    Some((value as u32, start + count as usize))
}

/// As [`digits`], byte by byte after the first `count` digits, which are `value`.
fn more_digits(text: &[u8], start: usize, count: usize, mut value: u64) -> Option<(u32, usize)> {
    let mut at = start + count;
    while let Some(digit) = text.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
        value = value * 10 + u64::from(digit);
        at += 1;
        if at - start > 10 {
            return None;
        }
    }
    let leading = text.get(start) == Some(&b'0') && at - start > 1;
    (at > start && !leading && value < u64::from(u32::MAX)).then_some((value as u32, at))
}

/// The number, if the field is one as we would write it: then it can stand for the name.
fn whole(field: &[u8]) -> Option<u32> {
    digits(field, 0).filter(|(_, end)| *end == field.len()).map(|(value, _)| value)
}

/// Whether a line above the first edge is a comment of SNAP or KONECT.
fn is_leading_comment(line: &[u8]) -> bool {
    line.starts_with(b"#") || is_marked(line, b'%')
}

/// Whether a line is the mark alone or starts with the mark and a blank.
fn is_marked(line: &[u8], mark: u8) -> bool {
    line.first() == Some(&mark) && matches!(line.get(1), None | Some(b' ' | b'\t'))
}

/// Cuts a line into fields; quoted ones keep their quotes.
fn cut<'a>(line: &'a [u8], separator: Option<u8>, fields: &mut Vec<&'a [u8]>) {
    fields.clear();
    let Some(separator) = separator else {
        fields.extend(line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|field| !field.is_empty()));
        return;
    };
    if memchr::memchr(b'"', line).is_none() {
        fields.extend(line.split(|&byte| byte == separator).map(<[u8]>::trim_ascii));
        return;
    }
    let (mut start, mut quoted) = (0, false);
    for (at, &byte) in line.iter().enumerate() {
        if byte == b'"' {
            quoted = !quoted;
        } else if byte == separator && !quoted {
            fields.push(line[start..at].trim_ascii());
            start = at + 1;
        }
    }
    fields.push(line[start..].trim_ascii());
}

/// The name that a field holds.
fn unquoted(field: &[u8]) -> String {
    String::from_utf8_lossy(unquote(field)).replace("\"\"", "\"")
}

fn unquote(field: &[u8]) -> &[u8] {
    field.strip_prefix(b"\"").and_then(|inner| inner.strip_suffix(b"\"")).unwrap_or(field)
}
