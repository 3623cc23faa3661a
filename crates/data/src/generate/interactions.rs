/*!
Users and the items they interacted with: long-tailed popularity, tastes, ratings, times.

Each user has a taste (6 numbers) and a number of interactions (log-normal), each item a nature (6 numbers). A user
meets items by popularity (the r-th most popular with probability about 1/r), takes one with probability
σ(1.5·⟨taste, nature⟩/√6), never the same twice, and rates it 1 to 5 by the same match and the item's quality, with
noise. Times ascend within a user; users begin at any time of one year.
*/

use toprank_core::{Param, ParamError, Stream};

use super::draws::{chance, length, long_tail, noise, sigmoid};
use super::output::{File, Output};
use super::settings::{MOST, SEED, Settings};
use super::views::{HIDDEN, Hidden, hidden};
use super::{GenerateError, Generator, Written};

pub(super) const GENERATOR: Generator = Generator {
    name: "interactions",
    about: "users, items, ratings and times, interactions.csv",
    files: &["interactions.csv"],
    page: "Columns user, item, rating (1 to 5), time (seconds since 1970). Popularity is long-tailed, the number of items of a user\n\
           is skewed, ratings follow hidden tastes. No user has an item twice; the rows of a user stand together in the\n\
           order of time. Divide it with the split leave-last.",
    params: &[
        Param { name: "users", default: "1000", range: "1 to 4e9", about: "users" },
        Param { name: "items", default: "2000", range: "1 to 1e9", about: "items to choose from" },
        Param { name: "length", default: "40", range: "1 to 10000", about: "mean number of items of a user" },
        SEED,
    ],
    make,
};

fn make(settings: &Settings, output: Output) -> Result<Written, GenerateError> {
    let users = settings.whole("users", 1.0, MOST)?;
    let items = settings.whole("items", 1.0, 1e9)?;
    let mean = settings.number("length", 1.0, 10_000.0)?;
    if mean > items as f64 / 2.0 && items > 1 {
        let range = format!("at most half of the {items} items");
        return Err(ParamError::new("length", &mean.to_string(), &range).into());
    }
    let seed = settings.seed()?;
    let users_stream = Stream::new(seed, "interactions users");
    let items_stream = Stream::new(seed, "interactions items");
    let names = Scatter::new(items);
    let files = [File { name: "interactions.csv".into(), head: "user,item,rating,time\n".into() }];
    output.write(&files, users, |user, sheet| {
        let mut random = users_stream.of_list(user as u32).open();
        let text = sheet.file(0);
        text.lists += 1;
        let taste = hidden(&mut random);
        let kindness = 0.4 * noise(&mut random);
        // At most half of the items: who has seen most of them would be drawn in vain.
        let wanted = length(&mut random, 1, mean, 0.8).min(items.div_ceil(2)) as usize;
        let mut time = 1_600_000_000.0 + libm::floor(random.unit() * 31_536_000.0);
        let mut taken: Vec<u64> = Vec::with_capacity(wanted);
        let mut draws = 0;
        while taken.len() < wanted {
            draws += 1;
            // The tail is long: a user without enough items after many draws keeps those drawn.
            let rank = if draws < 20 * wanted {
                long_tail(&mut random, items)
            } else {
                random.below(items as usize) as u64
            };
            let Err(place) = taken.binary_search(&rank) else { continue };
            let mut item_random = items_stream.of_list(rank as u32).open();
            let nature = hidden(&mut item_random);
            let quality = noise(&mut item_random);
            let fit = dot(&taste, &nature);
            if !chance(&mut random, sigmoid(1.5 * fit)) && draws < 20 * wanted {
                continue;
            }
            taken.insert(place, rank);
            let stars = 3.4 + 0.6 * fit + 0.4 * quality + kindness + 0.5 * noise(&mut random);
            text.byte(b'u');
            text.whole(user + 1);
            text.text(",i");
            text.whole(names.place(rank) + 1);
            text.byte(b',');
            text.decimal(stars.clamp(1.0, 5.0), 0);
            text.byte(b',');
            text.decimal(time, 0);
            text.end_row();
            // Minutes within an evening, days between evenings.
            let pause = if chance(&mut random, 0.2) { 86_400.0 * 3.0 } else { 600.0 };
            time += 1.0 + libm::floor(-pause * libm::log(1.0 - random.unit()));
        }
    })
}

fn dot(a: &Hidden, b: &Hidden) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / (HIDDEN as f64).sqrt()
}

/// A fixed one-to-one map of 0..n, so that the number of an item says nothing about its popularity.
struct Scatter {
    n: u64,
    factor: u64,
}

impl Scatter {
    fn new(n: u64) -> Scatter {
        // A factor without common divisor with n makes multiplication modulo n one-to-one.
        let mut factor = (n as f64 * 0.618_033_988_75) as u64 | 1;
        while gcd(factor, n) > 1 {
            factor += 2;
        }
        Scatter { n, factor }
    }

    fn place(&self, rank: u64) -> u64 {
        ((rank + 1) * self.factor) % self.n
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scatter_is_one_to_one() {
        for n in [1, 2, 3, 4, 10, 97, 1000, 2048] {
            let scatter = Scatter::new(n);
            let mut places: Vec<u64> = (0..n).map(|rank| scatter.place(rank)).collect();
            places.sort_unstable();
            assert_eq!(places, (0..n).collect::<Vec<_>>());
        }
    }
}
