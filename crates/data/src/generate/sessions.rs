/*!
Search sessions with clicks that depend on position as well as relevance.

| file         | columns                                                                      |
|--------------|------------------------------------------------------------------------------|
| sessions.tsv | user, session, time, query, page, position (from 1), click (0 or 1)          |
| qrels.txt    | query, 0, page, grade 0..4: the hidden relevance, in the form of trec_eval   |

A query (long-tailed popularity) has `pages` pages of hidden grades 0..4. A result page shows the `shown` best by
grade + 1.5·noise, the order of a mediocre ranker. Position-based clicks:

```text
P(click) = P(examined at position k) · P(attractive | grade)
P(examined at k) = k^(−bias),   P(attractive | g) = 0.05 + 0.9·(2^g − 1)/15
```

A session is one to a few queries of a user, a new one at least 30 minutes after the last.
*/

use toprank_core::{Param, ParamError, Stream};

use super::draws::{chance, length, long_tail, noise};
use super::output::{File, Output};
use super::settings::{MOST, SEED, Settings};
use super::{GenerateError, Generator, Written};

pub(super) const GENERATOR: Generator = Generator {
    name: "sessions",
    about: "users, queries, shown pages and clicks with position bias, sessions.tsv and the true qrels.txt",
    files: &["sessions.tsv", "qrels.txt"],
    page: "sessions.tsv: user, session, time, query, page, position, click; one row per page shown.\n\
           qrels.txt: the hidden grades, to judge what was learned from clicks.",
    params: &[
        Param { name: "users", default: "1000", range: "1 to 2e9", about: "users" },
        Param {
            name: "sessions",
            default: "3",
            range: "1 to 1000",
            about: "mean number of sessions of a user",
        },
        Param { name: "queries", default: "200", range: "1 to 2e9", about: "different queries" },
        Param { name: "pages", default: "30", range: "1 to 10000", about: "pages of a query" },
        Param {
            name: "shown",
            default: "10",
            range: "1 to 1000, at most pages",
            about: "pages shown at a time",
        },
        Param {
            name: "bias",
            default: "1",
            range: "0 to 5",
            about: "examination probability decreases as position^−bias",
        },
        SEED,
    ],
    make,
};

fn make(settings: &Settings, output: Output) -> Result<Written, GenerateError> {
    let users = settings.whole("users", 1.0, MOST / 2.0)?;
    let mean_sessions = settings.number("sessions", 1.0, 1000.0)?;
    let queries = settings.whole("queries", 1.0, MOST / 2.0)?;
    let pages = settings.whole("pages", 1.0, 10_000.0)?;
    let shown = settings.whole("shown", 1.0, 1000.0)?;
    if shown > pages {
        let range = format!("at most the {pages} pages of a query");
        return Err(ParamError::new("shown", &shown.to_string(), &range).into());
    }
    let bias = settings.number("bias", 0.0, 5.0)?;
    let seed = settings.seed()?;
    let examined: Vec<f64> = (1..=shown).map(|k| libm::pow(k as f64, -bias)).collect();
    let grades_stream = Stream::new(seed, "sessions grades");
    let grades = |query: u64, grades: &mut Vec<u8>| {
        let mut random = grades_stream.of_list(query as u32).open();
        grades.clear();
        grades.extend((0..pages).map(|_| {
            let hidden = noise(&mut random);
            [0.2, 0.9, 1.5, 2.1].iter().filter(|&&threshold| hidden > threshold).count() as u8
        }));
    };
    let users_stream = Stream::new(seed, "sessions users");
    let files = [
        File {
            name: "sessions.tsv".into(),
            head: "user\tsession\ttime\tquery\tpage\tposition\tclick\n".into(),
        },
        File { name: "qrels.txt".into(), head: String::new() },
    ];
    // Units: first the users, then the queries.
    output.write(&files, users + queries, |unit, sheet| {
        let mut grade = Vec::new();
        if unit >= users {
            let query = unit - users;
            let text = sheet.file(1);
            text.lists += 1;
            grades(query, &mut grade);
            for (page, &grade) in grade.iter().enumerate() {
                text.byte(b'q');
                text.whole(query + 1);
                text.text(" 0 ");
                name_page(text, query, page);
                text.byte(b' ');
                text.byte(b'0' + grade);
                text.end_row();
            }
            return;
        }
        let mut random = users_stream.of_list(unit as u32).open();
        let text = sheet.file(0);
        let mut time = 1_600_000_000 + random.below(31_536_000) as u64;
        let mut order: Vec<(f64, usize)> = Vec::new();
        for session in 0..length(&mut random, 1, mean_sessions, 0.7) {
            text.lists += 1;
            // The next session starts 30 minutes to some days later.
            time += 1800 + random.below(5 * 86_400) as u64;
            for _ in 0..=random.below(3) {
                let query = long_tail(&mut random, queries);
                grades(query, &mut grade);
                order.clear();
                order.extend(
                    grade
                        .iter()
                        .enumerate()
                        .map(|(page, &g)| (f64::from(g) + 1.5 * noise(&mut random), page)),
                );
                order.sort_by(|a, b| b.0.total_cmp(&a.0));
                for (position, &(_, page)) in order.iter().take(shown as usize).enumerate() {
                    let attractive = 0.05 + 0.9 * f64::from((1u32 << grade[page]) - 1) / 15.0;
                    let click = chance(&mut random, examined[position] * attractive);
                    text.byte(b'u');
                    text.whole(unit + 1);
                    text.byte(b'\t');
                    text.whole(session + 1);
                    text.byte(b'\t');
                    text.whole(time);
                    text.text("\tq");
                    text.whole(query + 1);
                    text.byte(b'\t');
                    name_page(text, query, page);
                    text.byte(b'\t');
                    text.whole(position as u64 + 1);
                    text.byte(b'\t');
                    text.byte(b'0' + u8::from(click));
                    text.end_row();
                }
                time += 10 + random.below(300) as u64;
            }
        }
    })
}

fn name_page(text: &mut super::output::Text, query: u64, page: usize) {
    text.byte(b'q');
    text.whole(query + 1);
    text.text("-p");
    text.whole(page as u64 + 1);
}
