/*!
Workers in processes of their own, on one machine or several, that reach each other over TCP.

```text
worker 0   waits at an address until all others have come
a call     every worker sends worker 0 its part; worker 0 sends everyone what came of it
```

Every worker sends a sign of life every few seconds, whatever it computes: one that was killed is noticed at once, one that is out of
reach after [`SILENCE`]. Then the run of all ends with an error; nothing waits for ever.

The connection is neither encrypted nor limited to one user, so it belongs in a private network; `secret` keeps out whoever does not
know it. For 64 workers or more an MPI library is faster (see the Python module `toprank.distributed`): here all bytes pass worker 0.
*/

use std::fmt;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use toprank_core::collective::{Collective, CollectiveError};
use xxhash_rust::xxh3::xxh3_128;

/// Without a sign of life for so long a worker is out of reach.
pub const SILENCE: Duration = Duration::from_secs(20);
/// Time between two signs of life.
const SIGN: Duration = Duration::from_secs(4);
/// First bytes of every connection.
const MAGIC: [u8; 8] = *b"toprank1";
/// Bytes of a greeting: magic, secret, number of the worker, number of workers.
const GREETING: usize = 8 + 16 + 4 + 4;

/// A worker and its connections: of worker 0 to all others, of the others to worker 0.
pub struct Sockets {
    rank: usize,
    size: usize,
    links: Mutex<Vec<Link>>,
    /// Why no call can be made any more.
    broken: Mutex<Option<String>>,
    signs: Option<JoinHandle<()>>,
    over: Arc<AtomicBool>,
}

/// A connection to a worker.
struct Link {
    worker: usize,
    stream: TcpStream,
    /// The same for writing, which signs of life share.
    writer: Arc<Mutex<TcpStream>>,
}

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Sign = 0,
    Words = 1,
    Bytes = 2,
    Failure = 3,
}

impl fmt::Debug for Sockets {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "worker {} of {} over TCP", self.rank, self.size)
    }
}

impl Sockets {
    /// Worker `rank` of `size`, who meet at `address` (`host:port`, on which worker 0 listens) within `patience`. All know the same
    /// `secret`, which may be empty.
    ///
    /// # Errors
    /// If the address is in use or cannot be reached, if the others do not come in time, or if one of them was started for another
    /// number of workers.
    pub fn meet(
        address: &str,
        rank: usize,
        size: usize,
        secret: &str,
        patience: Duration,
    ) -> Result<Sockets, CollectiveError> {
        let failed = |reason: String| CollectiveError { rank, reason };
        if rank >= size {
            return Err(failed(format!("is not one of {size} workers, which are numbered from 0")));
        }
        let until = Instant::now() + patience;
        let streams = match rank {
            0 => lead(address, size, secret, until),
            _ => join(address, rank, size, secret, until).map(|stream| vec![(0, stream)]),
        };
        let links = streams.and_then(|streams| {
            streams
                .into_iter()
                .map(|(worker, stream)| Link::new(worker, stream))
                .collect::<Result<Vec<_>, String>>()
        });
        let links = links.map_err(failed)?;
        let over = Arc::new(AtomicBool::new(false));
        let signs = (!links.is_empty()).then(|| {
            let writers: Vec<_> = links.iter().map(|link| Arc::clone(&link.writer)).collect();
            let over = Arc::clone(&over);
            std::thread::spawn(move || give_signs(&writers, &over))
        });
        Ok(Sockets { rank, size, links: links.into(), broken: None.into(), signs, over })
    }

    /// One call; after the first that failed none succeeds.
    fn call(&self, kind: Kind, own: &[u8]) -> Result<Vec<u8>, CollectiveError> {
        let failed = |reason: String| CollectiveError { rank: self.rank, reason };
        let mut broken = locked(&self.broken);
        if let Some(reason) = &*broken {
            return Err(failed(reason.clone()));
        }
        let mut links = locked(&self.links);
        let done = if self.rank == 0 { serve(&mut links, kind, own) } else { ask(&mut links[0], kind, own) };
        done.map_err(|reason| {
            *broken = Some(reason.clone());
            // Closed now, so that the others notice at once.
            for link in links.iter() {
                let _ = link.stream.shutdown(std::net::Shutdown::Both);
            }
            failed(reason)
        })
    }
}

impl Collective for Sockets {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn sum(&self, words: &mut [u64]) -> Result<(), CollectiveError> {
        let own: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let sums = self.call(Kind::Words, &own)?;
        for (word, sum) in words.iter_mut().zip(sums.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*sum);
        }
        Ok(())
    }

    fn gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>, CollectiveError> {
        let all = self.call(Kind::Bytes, own)?;
        let (lengths, mut rest) = all.split_at((8 * self.size).min(all.len()));
        let mut parts = Vec::with_capacity(self.size);
        for length in lengths.as_chunks::<8>().0 {
            let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
            let (part, after) = rest.split_at(length.min(rest.len()));
            parts.push(part.to_vec());
            rest = after;
        }
        Ok(parts)
    }
}

impl Drop for Sockets {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(signs) = self.signs.take() {
            signs.thread().unpark();
            let _ = signs.join();
        }
        let links = locked(&self.links);
        for link in links.iter() {
            let _ = link.stream.shutdown(std::net::Shutdown::Write);
        }
        // Signs of life that nobody has read would make the system cut the connection, with what the other has still to read.
        for link in links.iter() {
            let _ = link.stream.set_read_timeout(Some(Duration::from_secs(1)));
            let _ = std::io::copy(&mut &link.stream, &mut std::io::sink());
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn give_signs(writers: &[Arc<Mutex<TcpStream>>], over: &AtomicBool) {
    let mut next = Instant::now() + SIGN;
    while !over.load(Ordering::Relaxed) {
        std::thread::park_timeout(next.saturating_duration_since(Instant::now()));
        if Instant::now() >= next {
            next += SIGN;
            for writer in writers {
                // A connection that is closed is noticed by the next call.
                let _ = write(&mut locked(writer), Kind::Sign, &[]);
            }
        }
    }
}

impl Link {
    fn new(worker: usize, stream: TcpStream) -> Result<Link, String> {
        let ready = || {
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(SILENCE))?;
            stream.set_write_timeout(Some(SILENCE))?;
            stream.try_clone()
        };
        let writer = ready().map_err(|error| format!("worker {worker}: {error}"))?;
        Ok(Link { worker, stream, writer: Arc::new(writer.into()) })
    }

    fn lost(&self, error: &std::io::Error) -> String {
        let worker = self.worker;
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                format!("worker {worker} is out of reach: no sign of life for {} seconds", SILENCE.as_secs())
            }
            _ => format!("worker {worker} has ended"),
        }
    }

    fn send(&self, kind: Kind, bytes: &[u8]) -> Result<(), String> {
        write(&mut locked(&self.writer), kind, bytes).map_err(|error| self.lost(&error))
    }

    /// The next message that is no sign of life.
    fn receive(&mut self) -> Result<(Kind, Vec<u8>), String> {
        loop {
            let (kind, bytes) = read(&mut self.stream).map_err(|error| self.lost(&error))?;
            match kind {
                Kind::Sign => {}
                Kind::Failure => return Err(String::from_utf8_lossy(&bytes).into_owned()),
                _ => return Ok((kind, bytes)),
            }
        }
    }
}

fn write(stream: &mut TcpStream, kind: Kind, bytes: &[u8]) -> std::io::Result<()> {
    let mut head = [0; 9];
    head[0] = kind as u8;
    head[1..].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
    // One packet where it is short.
    if bytes.len() < 1024 {
        return stream.write_all(&[&head, bytes].concat());
    }
    stream.write_all(&head)?;
    stream.write_all(bytes)
}

fn read(stream: &mut TcpStream) -> std::io::Result<(Kind, Vec<u8>)> {
    let mut head = [0; 9];
    stream.read_exact(&mut head)?;
    let kind = match head[0] {
        0 => Kind::Sign,
        1 => Kind::Words,
        2 => Kind::Bytes,
        3 => Kind::Failure,
        _ => return Err(ErrorKind::InvalidData.into()),
    };
    let mut length = [0; 8];
    length.copy_from_slice(&head[1..]);
    let length = u64::from_le_bytes(length);
    let mut bytes = Vec::new();
    // Memory follows what arrives, not what was announced.
    stream.take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != length {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok((kind, bytes))
}

/// What worker 0 does in a call.
fn serve(links: &mut [Link], kind: Kind, own: &[u8]) -> Result<Vec<u8>, String> {
    let result = collect(links, kind, own);
    let (kind, bytes) = match &result {
        Ok(all) => (kind, all.as_slice()),
        Err(reason) => (Kind::Failure, reason.as_bytes()),
    };
    let mut sent = Ok(());
    for link in links {
        sent = sent.and(link.send(kind, bytes));
    }
    result.and_then(|all| sent.map(|()| all))
}

fn collect(links: &mut [Link], kind: Kind, own: &[u8]) -> Result<Vec<u8>, String> {
    let mut parts = vec![own.to_vec()];
    for link in links {
        let (found, bytes) = link.receive()?;
        if found != kind || kind == Kind::Words && bytes.len() != own.len() {
            return Err(format!("worker {} makes another call than worker 0", link.worker));
        }
        parts.push(bytes);
    }
    if kind == Kind::Bytes {
        let lengths = parts.iter().flat_map(|part| (part.len() as u64).to_le_bytes());
        return Ok(lengths.chain(parts.iter().flatten().copied()).collect());
    }
    let mut parts = parts.into_iter();
    let mut sums = parts.next().unwrap_or_default();
    for part in parts {
        for (sum, word) in sums.as_chunks_mut::<8>().0.iter_mut().zip(part.as_chunks::<8>().0) {
            *sum = u64::from_le_bytes(*sum).wrapping_add(u64::from_le_bytes(*word)).to_le_bytes();
        }
    }
    Ok(sums)
}

/// What the others do in a call.
fn ask(link: &mut Link, kind: Kind, own: &[u8]) -> Result<Vec<u8>, String> {
    let sent = link.send(kind, own);
    // Where sending failed, an answer may say why.
    match (link.receive(), sent) {
        (Ok((found, bytes)), Ok(())) if found == kind => Ok(bytes),
        (Ok(_), Ok(())) => Err("worker 0 makes another call".into()),
        (Err(reason), _) | (_, Err(reason)) => Err(reason),
    }
}

fn greeting(secret: &str, rank: usize, size: usize) -> [u8; GREETING] {
    let mut bytes = [0; GREETING];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..24].copy_from_slice(&xxh3_128(secret.as_bytes()).to_le_bytes());
    bytes[24..28].copy_from_slice(&(rank as u32).to_le_bytes());
    bytes[28..].copy_from_slice(&(size as u32).to_le_bytes());
    bytes
}

/// Waits for all others.
fn lead(address: &str, size: usize, secret: &str, until: Instant) -> Result<Vec<(usize, TcpStream)>, String> {
    let wrong = |error: std::io::Error| format!("cannot listen at {address}: {error}");
    if size == 1 {
        return Ok(Vec::new());
    }
    let listener = TcpListener::bind(address).map_err(wrong)?;
    listener.set_nonblocking(true).map_err(wrong)?;
    let mut links: Vec<Option<TcpStream>> = (1..size).map(|_| None).collect();
    while links.iter().any(Option::is_none) {
        let mut stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if Instant::now() > until {
                    let late: Vec<String> =
                        (1..size).filter(|k| links[k - 1].is_none()).map(|k| k.to_string()).collect();
                    return Err(format!("the workers {} did not come to {address} in time", late.join(", ")));
                }
                std::thread::sleep(Duration::from_millis(5));
                continue;
            }
            Err(error) => return Err(wrong(error)),
        };
        let mut bytes = [0; GREETING];
        let greeted = stream
            .set_nonblocking(false)
            .and_then(|()| stream.set_read_timeout(Some(Duration::from_secs(5))))
            .and_then(|()| stream.read_exact(&mut bytes));
        // Whoever says something else is no worker.
        if greeted.is_err() || bytes[..24] != greeting(secret, 0, size)[..24] {
            continue;
        }
        let number = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i])) as usize;
        let (rank, theirs) = (number(24), number(28));
        let refusal = match links.get(rank.wrapping_sub(1)) {
            _ if theirs != size => Some(format!(
                "worker {rank} was started as one of {theirs} workers, worker 0 as one of {size}"
            )),
            Some(None) => None,
            _ => Some(format!("worker {rank} was started twice")),
        };
        if let Some(reason) = refusal {
            let _ = write(&mut stream, Kind::Failure, reason.as_bytes());
            for other in links.iter_mut().flatten() {
                let _ = write(other, Kind::Failure, reason.as_bytes());
            }
            return Err(reason);
        }
        links[rank - 1] = Some(stream);
    }
    Ok((1..size).zip(links.into_iter().flatten()).collect())
}

/// Goes to worker 0, who may not be there yet.
fn join(address: &str, rank: usize, size: usize, secret: &str, until: Instant) -> Result<TcpStream, String> {
    loop {
        let connected = address.to_socket_addrs().and_then(|mut all| {
            let at = all.next().ok_or_else(|| std::io::Error::from(ErrorKind::AddrNotAvailable))?;
            TcpStream::connect_timeout(&at, Duration::from_secs(5))
        });
        match connected
            .and_then(|mut stream| stream.write_all(&greeting(secret, rank, size)).map(|()| stream))
        {
            Ok(stream) => return Ok(stream),
            Err(error) if Instant::now() > until => {
                return Err(format!("worker 0 cannot be reached at {address}: {error}"));
            }
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An address that was free a moment ago.
    fn free() -> String {
        TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
    }

    fn meet(address: &str, rank: usize, size: usize, secret: &str) -> Result<Sockets, CollectiveError> {
        Sockets::meet(address, rank, size, secret, Duration::from_secs(20))
    }

    /// What every worker returns.
    fn run<T: Send>(size: usize, work: impl Fn(Sockets) -> T + Sync) -> Vec<T> {
        let address = free();
        std::thread::scope(|scope| {
            let (address, work) = (&address, &work);
            let runs: Vec<_> = (0..size)
                .map(|rank| scope.spawn(move || work(meet(address, rank, size, "secret").unwrap())))
                .collect();
            runs.into_iter().map(|run| run.join().unwrap()).collect()
        })
    }

    #[test]
    fn every_worker_has_the_same_sums_and_all_bytes_in_the_order_of_workers() {
        for size in 1..5 {
            let found = run(size, |worker| {
                let mut last = Vec::new();
                for call in 0..20_u64 {
                    let mut words = vec![worker.rank() as u64 + call; 70_000];
                    words[1] = u64::MAX;
                    worker.sum(&mut words).unwrap();
                    let (n, ranks) = (size as u64, (0..size as u64).sum::<u64>());
                    assert_eq!((words[0], words[1]), (ranks + n * call, n.wrapping_neg()));
                    last = worker.gather(&vec![worker.rank() as u8; worker.rank()]).unwrap();
                }
                last
            });
            let expected: Vec<Vec<u8>> = (0..size).map(|rank| vec![rank as u8; rank]).collect();
            assert!(found.iter().all(|all| *all == expected));
        }
    }

    #[test]
    fn a_worker_that_ends_is_named_to_all_others_who_do_not_wait() {
        let started = Instant::now();
        let found = run(4, |worker| {
            worker.sum(&mut [1]).unwrap();
            if worker.rank() == 2 {
                return Ok(());
            }
            worker.sum(&mut [1])
        });
        for rank in [0, 1, 3] {
            assert_eq!(found[rank].clone().unwrap_err().reason, "worker 2 has ended", "worker {rank}");
        }
        assert!(started.elapsed() < SILENCE);
    }

    #[test]
    fn worker_0_that_ends_is_noticed_and_so_are_different_calls() {
        let found = run(2, |worker| if worker.rank() == 0 { Ok(()) } else { worker.sum(&mut [1]) });
        assert_eq!(found[1].clone().unwrap_err().reason, "worker 0 has ended");
        let found = run(2, |worker| worker.sum(&mut vec![0; worker.rank() + 1]));
        let all = |error: &Result<(), CollectiveError>| {
            error.as_ref().unwrap_err().reason == "worker 1 makes another call than worker 0"
        };
        assert!(found.iter().all(all), "{found:?}");
    }

    #[test]
    fn strangers_are_ignored_and_workers_of_another_number_are_refused() {
        let address = free();
        let errors: Vec<Result<Sockets, CollectiveError>> = std::thread::scope(|scope| {
            let lead = scope.spawn(|| meet(&address, 0, 2, "secret"));
            // A stranger, and a worker of another run.
            let mut stranger = loop {
                if let Ok(stream) = TcpStream::connect(&address) {
                    break stream;
                }
            };
            let _ = stranger.write_all(b"GET / HTTP/1.1\r\n\r\n and some more of it");
            let _other = meet(&address, 1, 2, "another secret");
            let _one = meet(&address, 1, 3, "secret");
            vec![lead.join().unwrap()]
        });
        let error = errors[0].as_ref().unwrap_err().to_string();
        assert!(error.contains("worker 1 was started as one of 3 workers, worker 0 as one of 2"), "{error}");
        let none = Sockets::meet(&free(), 0, 2, "", Duration::from_millis(50)).unwrap_err().to_string();
        assert!(none.contains("the workers 1 did not come to 127.0.0.1:"), "{none}");
        assert!(Sockets::meet(&free(), 1, 2, "", Duration::from_millis(50)).is_err());
        assert!(Sockets::meet(&free(), 2, 2, "", Duration::ZERO).is_err());
    }
}
