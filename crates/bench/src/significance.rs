//! Times of intervals and tests on 20,000 lists; `RAYON_NUM_THREADS` sets the threads.

use std::time::Instant;
use toprank::core::Stream;
use toprank::metrics::bootstrap::{IntervalOptions, interval};
use toprank::metrics::significance::{Pairs, TukeyKind, parse, tukey};

use crate::common::{Outcome, WrongUse};

pub fn run(args: &[String]) -> Outcome {
    if !args.is_empty() {
        return Err(WrongUse.into());
    }
    let lists = 20_000;
    let runs: Vec<Vec<f64>> = (0..5)
        .map(|run| {
            let mut random = Stream::new(run, "speed").open();
            (0..lists).map(|_| random.unit()).collect()
        })
        .collect();
    let weights: Vec<f32> = (0..lists).map(|list| 1.0 + (list % 3) as f32).collect();
    let pairs = Pairs::new(&runs[0], &runs[1], None);
    let time = |what: &str, work: &dyn Fn() -> String| {
        let start = Instant::now();
        let result = work();
        println!("{what:48} {:9.1} ms   {result}", start.elapsed().as_secs_f64() * 1e3);
    };
    println!("{lists} lists, {} threads", rayon::current_num_threads());
    let options = IntervalOptions::default();
    time("interval, 2,000 replicates", &|| format!("{:?}", interval(&runs[0], None, &options).low));
    time("interval, 2,000 replicates, weights", &|| {
        format!("{:?}", interval(&runs[0], Some(&weights), &options).low)
    });
    for text in ["t", "wilcoxon", "sign", "randomisation:n=100000", "bootstrap:n=10000"] {
        let test = &parse(text)?[0].1;
        time(text, &|| format!("{:?}", test.run(&pairs, 1).p));
    }
    let views: Vec<&[f64]> = runs.iter().map(Vec::as_slice).collect();
    time("Tukey, 5 runs, 10,000 shuffles", &|| {
        format!("{:?}", tukey(&views, None, TukeyKind::default(), 1).p[0])
    });
    time("Tukey, 5 runs, studentised", &|| {
        format!("{:?}", tukey(&views, None, TukeyKind::Studentised, 1).p[0])
    });
    Ok(())
}
