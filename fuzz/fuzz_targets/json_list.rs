//! Any bytes are a list of rows or are refused; a list has whole rows, and no more of them than allowed.
#![no_main]

use toprank_train::rank::json_list::{ListReader, answer_of, id_of};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    const MOST: usize = 4096;
    let reader = ListReader::new(&["a".to_string(), "b".to_string(), "c".to_string()], 3).at_most(MOST);
    match reader.read(bytes) {
        Ok(list) => {
            assert!(list.values.len() % 3 == 0 && list.values.len() <= MOST);
            assert!(list.values.iter().all(|value| value.is_nan() || value.is_finite()));
            let data = reader.dataset(&[], list.values, 2);
            data.lists.check().expect("lists keep their promises");
            assert_eq!(id_of(bytes).filter(|id| !id.is_null()), list.id);
        }
        Err(refused) => {
            assert!(refused.found.len() < 1000 && refused.expected.len() < 1000, "a message is short");
            let answer = answer_of(id_of(bytes), "error", refused.found.into());
            serde_json::from_str::<serde_json::Value>(&answer).expect("an answer is JSON");
        }
    }
});
