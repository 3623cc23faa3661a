//! What memory moves when the machine does nothing else: a = b + s·c over 600 MB, as one line of JSON. Other benches
//! compare the bytes that their kernels move with it.

use crate::common::{Outcome, WrongUse, bandwidth};

pub fn run(args: &[String]) -> Outcome {
    if let Some(threads) = args.first() {
        let threads = threads.parse().map_err(|_| WrongUse)?;
        rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    }
    let (seconds, speed) = bandwidth();
    println!(
        "{{\"what\":\"memory\",\"threads\":{},\"wall\":{seconds:.6},\"cpu\":0,\"gb_per_s\":{:.2}}}",
        rayon::current_num_threads(),
        speed / 1e9
    );
    Ok(())
}
