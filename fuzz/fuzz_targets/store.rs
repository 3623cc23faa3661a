//! No bytes make a loader of model files or checkpoints panic; for the fuzzer every checksum is right. Networks are left out: this
//! build has none. The tests of `toprank-train` attack their files.
#![no_main]

use toprank_train::store::checkpoint;
use toprank_train::{Embedder, Model, Recommender, TrainerKind, WalkFile};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let path = std::env::temp_dir().join(format!("toprank-fuzz-{}", std::process::id()));
    std::fs::write(&path, bytes).expect("a file in the temporary folder");
    let _ = Model::load(&path);
    let _ = Recommender::load(&path);
    let _ = Embedder::load(&path);
    let _ = WalkFile::load(&path);
    for kind in [TrainerKind::Rank, TrainerKind::Recommend, TrainerKind::Embed, TrainerKind::Walk] {
        let _ = checkpoint::resumable(&path, kind);
    }
});
