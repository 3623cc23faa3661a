/*!
Browsing sessions as query graphs, as in section 7.1 of Bogolubsky et al., "Learning Supervised PageRank with Gradient-Based
and Gradient-Free Optimization Methods", NIPS 2016.

A log is a table of visits: `user`, `time`, `page` and, if sessions start from queries, `query` (empty where a visit is not
one of results). Where it has a column `click`, only its rows with 1 are visits. The visits of a user in the order of
time are cut into sessions: one ends when another query follows, or when more than `gap` seconds have passed since the
last visit. Then, for each query,

- nodes are the pages of its sessions, seeds their first pages, edges their neighbouring pairs;
- features of a page: `visits`, `starts`, `ends` (of sessions there), `users`, `dwell` (mean seconds until the next
  visit of the session, 0 if there is none);
- features of an edge: `count` of transitions, and by default those of its two pages.

Without a column `query` all sessions make one graph. Sessions that do not start with a query, where there is such a
column, are left out and counted.
*/

use std::io;
use std::path::Path;

use hashbrown::HashMap;

use super::{GraphTables, QueryGraphs};
use crate::error::{ReadError, show};
use crate::formats::{self, ReadOptions};
use crate::group::Interner;
use crate::names::Names;
use crate::sink;
use crate::source::Source;

const NODE_COLUMNS: [&str; 5] = ["visits", "starts", "ends", "users", "dwell"];

/// Which columns a log has, and how it is cut.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionOptions {
    /// Column of the user.
    pub user: String,
    /// Column of the time, in seconds.
    pub time: String,
    /// Column of the page.
    pub page: String,
    /// Column of the query; where the file has none, all sessions make one graph.
    pub query: String,
    /// Seconds without a visit after which a session ends; default 1800.
    pub gap: f64,
}

impl Default for SessionOptions {
    fn default() -> SessionOptions {
        SessionOptions {
            user: "user|user_id|visitor".into(),
            time: "time|timestamp".into(),
            page: "page|node|item|url".into(),
            query: "query|qid".into(),
            gap: 1800.0,
        }
    }
}

/// The sessions of a log.
#[derive(Debug, Default)]
pub struct Sessions {
    /// Number of sessions.
    pub sessions: usize,
    /// Number of visits in them.
    pub visits: usize,
    /// Sessions left out because they do not start with a query.
    pub without_query: usize,
    queries: Interner,
    shared: bool,
    graphs: Vec<Browsing>,
}

/// What happened after one query.
#[derive(Debug, Default)]
struct Browsing {
    pages: Interner,
    /// visits, starts, ends, users, seconds of dwelling, visits with a next one.
    counts: Vec<[f64; 6]>,
    /// The last user seen on each page: users come one after the other.
    last_user: Vec<u32>,
    edges: HashMap<(u32, u32), u32>,
}

impl Browsing {
    fn page(&mut self, name: &str, user: u32) -> usize {
        let page = self.pages.number(name) as usize;
        if page == self.counts.len() {
            self.counts.push([0.0; 6]);
            self.last_user.push(u32::MAX);
        }
        self.counts[page][0] += 1.0;
        if self.last_user[page] != user {
            self.last_user[page] = user;
            self.counts[page][3] += 1.0;
        }
        page
    }
}

/// Reads a log and cuts it into sessions. Cost: a sort of the visits.
///
/// ```
/// use toprank_data::{Source, graph::{SessionOptions, read_sessions}};
/// let log = "user,time,page,query\nu,0,a,q\nu,60,b,\nu,4000,c,\nv,10,a,q\nv,30,c,\n";
/// let sessions = read_sessions(&Source::bytes("log.csv", log.as_bytes()), &SessionOptions::default()).unwrap();
/// assert_eq!((sessions.sessions, sessions.without_query), (2, 1)); // the visit at 4000 is a session of its own
/// let graphs = sessions.graphs().unwrap();
/// assert_eq!(graphs.node_names.iter().collect::<Vec<_>>(), ["a", "b", "c"]);
/// ```
pub fn read_sessions(source: &Source, options: &SessionOptions) -> Result<Sessions, ReadError> {
    let file = source.name();
    if options.gap.is_nan() || options.gap < 0.0 {
        let found = format!("a gap of {} seconds", options.gap);
        return Err(ReadError::options(file, found, "a number from 0 on"));
    }
    let read = |query: bool| {
        let mut keep = vec![options.page.clone()];
        keep.extend(query.then(|| options.query.clone()));
        let options = ReadOptions {
            format: formats::by_name(&source.extension()).is_none().then(|| "csv".into()),
            unlabelled: true,
            item: Some(options.user.clone()),
            time: Some(options.time.clone()),
            list: None,
            keep,
            regroup: true,
            ..ReadOptions::default()
        };
        formats::read_table(source, &options)
    };
    let (data, with_query) = match read(true) {
        Err(error) if error.to_string().contains(&options.query.replace('|', " or ")) => {
            (read(false)?, false)
        }
        data => (data?, true),
    };
    let column = |at: usize| data.extra.get(at).map(|column| &column.1);
    // Kept columns come in the order of the file.
    let is_page = |at: &usize| {
        let name = &data.extra[*at].0;
        options.page.split('|').any(|page| page == name)
    };
    let page_at = (0..data.extra.len()).find(is_page).unwrap_or(0);
    let pages = column(page_at).ok_or_else(|| ReadError::data(file, "no pages", "a column page"))?;
    let queries = if with_query { column(1 - page_at) } else { None };
    let users = data.item_names.as_ref().ok_or_else(|| ReadError::data(file, "no users", "a column user"))?;
    let times = data.times.as_deref().ok_or_else(|| ReadError::data(file, "no times", "a column time"))?;
    let click = data.columns.iter().position(|column| column.name == "click");
    let mut numbers = Interner::default();
    let mut visits: Vec<(u32, f64, usize)> = Vec::new();
    for (row, &time) in times.iter().enumerate() {
        let user = numbers.number(users.get(row));
        if click.is_none_or(|click| data.features.get(row, click) == 1.0) {
            visits.push((user, time, row));
        }
    }
    // Rows break ties: the order of the file.
    visits.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
    let mut all = Sessions { shared: !with_query, ..Sessions::default() };
    if !with_query {
        all.queries.number("all");
        all.graphs.push(Browsing::default());
    }
    cut(&mut all, &visits, pages, queries, options.gap);
    if all.sessions == 0 {
        return Err(ReadError::data(file, "no session that starts with a query", "one at least"));
    }
    Ok(all)
}

fn cut(all: &mut Sessions, visits: &[(u32, f64, usize)], pages: &Names, queries: Option<&Names>, gap: f64) {
    // The graph of the running session, its last page and time; `None`: a session without a query.
    let mut session: Option<(usize, usize)> = None;
    let mut query = "";
    let mut before: Option<(u32, f64)> = None;
    for &(user, time, row) in visits {
        let typed = queries.map_or("", |queries| queries.get(row));
        let same = before.is_some_and(|(last, at)| last == user && time - at <= gap);
        let going_on = same && (typed.is_empty() || typed == query);
        if !going_on {
            if let Some((graph, page)) = session.take() {
                all.graphs[graph].counts[page][2] += 1.0;
            }
            query = typed;
            let graph = match queries {
                None => Some(0),
                Some(_) if typed.is_empty() => None,
                Some(_) => Some(all.queries.number(typed) as usize),
            };
            match graph {
                None => all.without_query += 1,
                Some(graph) => {
                    if graph == all.graphs.len() {
                        all.graphs.push(Browsing::default());
                    }
                    all.sessions += 1;
                    all.visits += 1;
                    let page = all.graphs[graph].page(pages.get(row), user);
                    all.graphs[graph].counts[page][1] += 1.0;
                    session = Some((graph, page));
                }
            }
        } else if let Some((graph, last)) = session {
            all.visits += 1;
            let browsing = &mut all.graphs[graph];
            let page = browsing.page(pages.get(row), user);
            *browsing.edges.entry((last as u32, page as u32)).or_insert(0) += 1;
            browsing.counts[last][4] += time - before.map_or(time, |before| before.1);
            browsing.counts[last][5] += 1.0;
            session = Some((graph, page));
        }
        before = Some((user, time));
    }
    if let Some((graph, page)) = session {
        all.graphs[graph].counts[page][2] += 1.0;
    }
}

impl Sessions {
    /// Number of graphs.
    pub fn len(&self) -> usize {
        self.graphs.len()
    }

    /// True if there is no graph.
    pub fn is_empty(&self) -> bool {
        self.graphs.is_empty()
    }

    /// The query graphs, nothing judged yet.
    ///
    /// # Errors
    /// If there are more nodes or edges than 32 bits can number.
    pub fn graphs(&self) -> Result<QueryGraphs, ReadError> {
        let mut tables = GraphTables {
            queries: self.queries.clone(),
            shared: self.shared,
            parts: vec![0],
            seeds: Some(Vec::new()),
            node_columns: NODE_COLUMNS.map(String::from).to_vec(),
            edge_columns: vec!["count".into()],
            ends: Some(true),
            ..GraphTables::default()
        };
        for browsing in &self.graphs {
            let base = tables.node_names.len() as u32;
            tables.node_names.append(browsing.pages.names());
            for counts in &browsing.counts {
                tables.node_values.extend(features(counts).map(|value| value as f32));
                if let Some(seeds) = &mut tables.seeds {
                    seeds.push(counts[1] > 0.0);
                }
            }
            for ((from, to), count) in browsing.sorted_edges() {
                tables.sources.push(base + from);
                tables.targets.push(base + to);
                tables.edge_values.push(count as f32);
            }
            tables.parts.push(tables.node_names.len() as u32);
        }
        QueryGraphs::build(tables)
    }

    /// Writes `nodes.tsv` and `edges.tsv` into a folder, which is made if needed.
    ///
    /// # Errors
    /// If a file cannot be written, or a name holds a tab or a line end.
    pub fn write(&self, folder: &Path) -> Result<(), ReadError> {
        std::fs::create_dir_all(folder).map_err(|e| ReadError::io(&folder.display().to_string(), &e))?;
        for browsing in &self.graphs {
            let names = self.queries.names().iter().chain(browsing.pages.names().iter());
            if let Some(name) = names.into_iter().find(|name| name.contains(['\t', '\n', '\r', '"'])) {
                let found = format!("the name {}", show(name.as_bytes()));
                let expected = "names without tabs, line ends and quotes";
                return Err(ReadError::data("the log", found, expected));
            }
        }
        let query = |q: usize| match self.shared {
            true => String::new(),
            false => format!("{}\t", self.queries.names().get(q)),
        };
        let head = if self.shared { "" } else { "query\t" };
        sink::write_file(&folder.join("nodes.tsv"), |out| {
            writeln!(out, "{head}node\tseed\t{}", NODE_COLUMNS.join("\t"))?;
            for (q, browsing) in self.graphs.iter().enumerate() {
                for (page, counts) in browsing.counts.iter().enumerate() {
                    let name = browsing.pages.names().get(page);
                    write!(out, "{}{name}\t{}", query(q), u8::from(counts[1] > 0.0))?;
                    features(counts).iter().try_for_each(|value| write!(out, "\t{}", *value as f32))?;
                    writeln!(out)?;
                }
            }
            Ok::<(), io::Error>(())
        })?;
        sink::write_file(&folder.join("edges.tsv"), |out| {
            writeln!(out, "{head}from\tto\tcount")?;
            for (q, browsing) in self.graphs.iter().enumerate() {
                let name = |page: u32| browsing.pages.names().get(page as usize);
                for ((from, to), count) in browsing.sorted_edges() {
                    writeln!(out, "{}{}\t{}\t{count}", query(q), name(from), name(to))?;
                }
            }
            Ok(())
        })
    }
}

impl Browsing {
    fn sorted_edges(&self) -> Vec<((u32, u32), u32)> {
        let mut edges: Vec<((u32, u32), u32)> =
            self.edges.iter().map(|(&ends, &count)| (ends, count)).collect();
        edges.sort_unstable();
        edges
    }
}

/// What [`NODE_COLUMNS`] names.
fn features(counts: &[f64; 6]) -> [f64; 5] {
    let [visits, starts, ends, users, seconds, followed] = *counts;
    [visits, starts, ends, users, if followed > 0.0 { seconds / followed } else { 0.0 }]
}
