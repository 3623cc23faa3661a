//! What the fuzz target `serve_request` and the test that replays its seeds do: the parts of a request that hyper leaves to us.

use crate::body::{Lists, MOST_LISTS, lists};
use crate::handler::parameters;
use crate::workbench::readers;

/// Takes the first line as the query of a path and the rest as a body. Whatever the bytes are, nothing panics, and an answer or a refusal is
/// JSON with a short message.
///
/// # Panics
/// If a promise is broken.
pub fn request(bytes: &[u8]) {
    let (query, body) = match bytes.iter().position(|&byte| byte == b'\n') {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (&[][..], bytes),
    };
    let short = |refusal: crate::refusal::Refusal| {
        assert!(refusal.message.len() < 3000, "{} bytes", refusal.message.len());
        let text = refusal.json();
        assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{text}");
        assert!(!text.contains(toprank::core::text::is_unsafe), "{text:?}");
    };
    match parameters(&String::from_utf8_lossy(query), &[("model", ""), ("probability", "")]) {
        Ok(found) => assert!(found.keys().all(|key| key == "model" || key == "probability")),
        Err(refusal) => short(refusal),
    }
    match lists(body) {
        Lists::One(list) => assert!(list.len() <= body.len()),
        Lists::Lines(lines) => {
            assert!(lines.len() > 1 && lines.len() <= MOST_LISTS);
            assert!(lines.iter().all(|(_, line)| !line.is_empty() && !line.contains(&b'\n')));
            assert!(lines.is_sorted_by_key(|(number, _)| *number));
        }
        Lists::TooMany => assert!(body.len() > MOST_LISTS),
    }
    for read in readers() {
        match read(body) {
            Ok(text) => assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{text}"),
            Err(refusal) => short(refusal),
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_seeds_of_the_fuzz_target_and_what_becomes_of_them_break_no_promise() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/serve_request");
        let mut count = 0;
        // Bytes that are changed, left out and doubled, always the same ones.
        let mut state = 1_u64;
        let mut draw = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        for entry in std::fs::read_dir(folder).unwrap() {
            let seed = std::fs::read(entry.unwrap().path()).unwrap();
            super::request(&seed);
            count += 1;
            for _ in 0..150 {
                let mut changed = seed.clone();
                for _ in 0..=draw(4) {
                    let at = draw(changed.len());
                    match draw(4) {
                        0 => changed[at] = draw(256) as u8,
                        1 => changed[at] = b"\"\\{}[],:%&=\n0e-"[draw(15)],
                        2 => changed.truncate(at.max(1)),
                        _ => {
                            let piece = changed[at..].to_vec();
                            changed.extend(piece);
                        }
                    }
                }
                super::request(&changed);
            }
        }
        assert!(count >= 8, "{count} seeds");
        for length in 0..300 {
            super::request(
                &b"model=%41&x\n{\"judge\":\"a\",\"query\":\"\\ud800\",\"document\":1}"[..].repeat(9)
                    [..length],
            );
        }
    }
}
