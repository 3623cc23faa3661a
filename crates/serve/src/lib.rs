/*!
**How do models answer requests?** A server over HTTP/1.1 for rankers, recommenders and embeddings, and the pages on which people
try models, compare runs and judge them ([`workbench`]).

```text
connection ─▶ guard (token, host) ─▶ body (limit, time) ─▶ queue (concurrency) ─▶ lists ─▶ endpoint ─▶ JSON
                                                                                    ▲
                                     files of models ─▶ self-test ─▶ current model ─┘   (again when a file changes)
browser    ─▶ guard (token or cookie, host, origin) ─▶ page │ queue ─▶ action of the workbench ─▶ JSON
```

Invariants:
- a score is that of `toprank predict` to the bit: both call [`toprank::train::rank::json_list`];
- what a request takes is bounded before it is taken: bytes of the body, numbers, lists, bytes of the answer, time, requests at once;
- no request ends the server: what fails is answered as JSON with a status, also a bug of ours (500);
- without a token only this machine is served, and no page of a browser that was made for another host;
- a model that fails its self-test never replaces one that answers;
- a grade is in the judge's file, synchronised, before the page shows the next item.

HTTP is hyper's work, scores are computed by rayon's threads; one thread moves bytes in between.
*/

mod body;
pub mod endpoints;
#[doc(hidden)]
pub mod fuzz;
mod guard;
mod handler;
mod metrics;
mod models;
mod openapi;
mod refusal;
mod server;
mod watch;
pub mod workbench;

pub use guard::{Token, TokenError};
pub use models::{Kind, Loaded, Models};
pub use server::{Log, Server, Settings};
pub use workbench::{Judging, JudgingFiles, LiveReport, Workbench};

/// Why a server cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// A model that cannot be loaded.
    #[error(transparent)]
    Model(#[from] toprank::train::TrainError),
    /// Something that was asked for and cannot be had: what was found; what was expected.
    #[error("{0}")]
    Settings(String),
    /// The system refuses an address.
    #[error("{address}: {error}")]
    Address {
        /// The address.
        address: std::net::SocketAddr,
        /// What the system says.
        error: std::io::Error,
    },
}
