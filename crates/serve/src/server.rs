//! The server: connections, and an end that lets nobody down.

use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::timeout;

use crate::guard::Token;
use crate::handler::handle;
use crate::metrics::Metrics;
use crate::models::Models;
use crate::workbench::Workbench;
use crate::{ServeError, watch as files};

/// Connections at once; more wait until one ends. Bodies in memory are at most so many.
const CONNECTIONS: u32 = 256;
/// Time for the head of a request, and for which a connection may be idle.
const HEAD: Duration = Duration::from_secs(10);
/// Bytes of a head, and of what is read ahead.
const BUFFER: usize = 64 << 10;
/// Between two looks at whether the server is to end.
const STEP: Duration = Duration::from_millis(50);

/// Where a server says what happens to its models, line by line.
pub type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// How a server serves.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The address it listens on; port 0: a free one.
    pub listen: SocketAddr,
    /// What requests have to show; needed unless the address is that of this machine alone.
    pub token: Option<Token>,
    /// Bytes of a body at most.
    pub max_body: usize,
    /// Time for a request, from its head to its answer.
    pub time: Duration,
    /// Requests that are scored at once; others wait for their turn.
    pub concurrency: NonZeroUsize,
}

/// What all requests share.
pub(crate) struct Shared {
    pub models: Arc<Models>,
    pub settings: Settings,
    pub address: SocketAddr,
    pub turns: Arc<Semaphore>,
    pub metrics: Metrics,
    pub workbench: Workbench,
}

/// A server that has its address.
///
/// ```
/// use std::num::NonZeroUsize;
/// use std::time::Duration;
/// use toprank_serve::{Models, ServeError, Server, Settings, Workbench};
/// let settings = Settings {
///     listen: "127.0.0.1:0".parse().unwrap(),
///     token: None,
///     max_body: 16 << 20,
///     time: Duration::from_secs(30),
///     concurrency: NonZeroUsize::MIN,
/// };
/// let start = || -> Result<(), ServeError> {
///     let models = Models::load(&[("search".into(), "no-such.toprank".into())], settings.max_body)?;
///     let server = Server::bind(models, Workbench::default(), settings)?;
///     println!("http://{}", server.address());
///     server.run(|| false, |line| eprintln!("{line}")); // until the first function says true
///     Ok(())
/// };
/// assert!(start().unwrap_err().to_string().contains("no-such.toprank"));
/// ```
pub struct Server {
    runtime: tokio::runtime::Runtime,
    listener: TcpListener,
    shared: Arc<Shared>,
}

impl Server {
    /// Takes the address; `workbench` is what its pages show beside the models.
    ///
    /// # Errors
    /// If the address is in use or not one of this machine, or if others could reach it without a token.
    pub fn bind(models: Models, workbench: Workbench, settings: Settings) -> Result<Server, ServeError> {
        let listen = settings.listen;
        if settings.token.is_none() && !listen.ip().is_loopback() {
            return Err(ServeError::Settings(format!(
                "{listen}: other machines could use the models; expected a token, or an address of this machine alone such as \
                 127.0.0.1:{}",
                listen.port()
            )));
        }
        let address = |error| ServeError::Address { address: listen, error };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(address)?;
        let listener = runtime.block_on(TcpListener::bind(listen)).map_err(address)?;
        let bound = listener.local_addr().map_err(address)?;
        let shared = Shared {
            models: Arc::new(models),
            address: bound,
            turns: Arc::new(Semaphore::new(settings.concurrency.get().min(Semaphore::MAX_PERMITS))),
            metrics: Metrics::default(),
            workbench,
            settings,
        };
        Ok(Server { runtime, listener, shared: Arc::new(shared) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.shared.address
    }

    /// Serves until `stop` says true, which is asked on this thread about 20 times a second. Then no connection is taken any more,
    /// requests that have begun are answered, and it returns. Meanwhile files of models are watched; `log` hears what comes of it.
    pub fn run(self, stop: impl Fn() -> bool, log: impl Fn(&str) + Send + Sync + 'static) {
        let Server { runtime, listener, shared } = self;
        let ended = Arc::new(AtomicBool::new(false));
        let watcher = {
            let (models, ended) = (Arc::clone(&shared.models), Arc::clone(&ended));
            let log: Log = Arc::new(log);
            std::thread::Builder::new()
                .name("models".into())
                .spawn(move || files::watch(&models, &ended, &log))
        };
        runtime.block_on(serve(listener, &shared, stop));
        ended.store(true, Ordering::Relaxed);
        if let Ok(watcher) = watcher {
            // A panic of it was said on standard error, and the server has ended.
            let _ = watcher.join();
        }
        runtime.shutdown_background();
    }
}

async fn serve(listener: TcpListener, shared: &Arc<Shared>, stop: impl Fn() -> bool) {
    let free = Arc::new(Semaphore::new(CONNECTIONS as usize));
    let (end, ending) = watch::channel(false);
    while !stop() {
        let next = async {
            let place = Arc::clone(&free).acquire_owned().await;
            (place, listener.accept().await)
        };
        match timeout(STEP, next).await {
            Ok((Ok(place), Ok((stream, _)))) => {
                tokio::spawn(connection(stream, place, Arc::clone(shared), ending.clone()));
            }
            // No file handle is free, or the client is gone already: others may have more luck in a while.
            Ok(_) => tokio::time::sleep(STEP).await,
            Err(_) => {}
        }
    }
    drop(listener);
    // The receivers may be gone with their connections.
    let _ = end.send(true);
    // Every connection gives its place back. The deadline is for clients that do not read what they asked for.
    let _ = timeout(shared.settings.time + HEAD, free.acquire_many(CONNECTIONS)).await;
}

/// Serves the requests of a connection one after the other, until it is closed or the server ends.
async fn connection(
    stream: TcpStream,
    place: OwnedSemaphorePermit,
    shared: Arc<Shared>,
    mut ending: watch::Receiver<bool>,
) {
    // Small answers need not wait for more; that it cannot be set is no reason to refuse.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| handle(request, Arc::clone(&shared)));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let mut ending = pin!(ending.changed());
    let mut asked = false;
    // A client that breaks off is no error of ours.
    let _ = poll_fn(|context| {
        if !asked && ending.as_mut().poll(context).is_ready() {
            asked = true;
            connection.as_mut().graceful_shutdown();
        }
        connection.as_mut().poll(context)
    })
    .await;
    drop(place);
}
