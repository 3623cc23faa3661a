//! The models of a server, each under a name, and which of them answers.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use toprank::core::catalog;
use toprank::train::rank::json_list::ListReader;
use toprank::train::{Embedder, Model, Recommender, TrainError, WalkFile};

use crate::ServeError;

/// What a model does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It scores rows of features.
    Ranker,
    /// It ranks all items for a user.
    Recommender,
    /// It gives vectors of rows.
    Embedding,
}

impl Kind {
    /// Its name in answers.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Ranker => "ranker",
            Kind::Recommender => "recommender",
            Kind::Embedding => "embedding",
        }
    }
}

/// A model in memory, its self-test passed, with what reads its requests.
pub enum Loaded {
    /// A ranker.
    Ranker(Box<Model>, ListReader),
    /// A recommender.
    Recommender(Box<Recommender>),
    /// An embedding.
    Embedding(Box<Embedder>, ListReader),
}

impl Loaded {
    /// Loads a file, which runs its self-test; lists and answers hold at most `most` numbers.
    ///
    /// # Errors
    /// If the file is damaged, fails its self-test, or is no model that answers requests.
    pub fn load(path: &Path, most: usize) -> Result<Loaded, TrainError> {
        let other = |found: &str| TrainError::Format {
            file: path.display().to_string(),
            found: found.into(),
            expected: "a model that scores rows of features, a recommender or an embedding".into(),
        };
        if Recommender::is_one(path) {
            // Not memory-mapped: the file may be written over while requests are answered.
            return Ok(Loaded::Recommender(Box::new(Recommender::load(path)?)));
        }
        if Embedder::is_one(path) {
            let embedder = Embedder::load(path)?;
            let header = embedder.header();
            let reader = ListReader::new(&header.features, header.width).at_most(most);
            return Ok(Loaded::Embedding(Box::new(embedder), reader));
        }
        if WalkFile::is_one(path) {
            return Err(other("a learned random walk"));
        }
        let model = Model::load(path)?;
        let header = model.header();
        if header.graphs.is_some() {
            return Err(other("a model of graphs"));
        }
        let reader = ListReader::new(&header.features, header.width).at_most(most);
        Ok(Loaded::Ranker(Box::new(model), reader))
    }

    /// What it does.
    pub fn kind(&self) -> Kind {
        match self {
            Loaded::Ranker(..) => Kind::Ranker,
            Loaded::Recommender(_) => Kind::Recommender,
            Loaded::Embedding(..) => Kind::Embedding,
        }
    }

    /// Features of a row; `None`: it takes no rows.
    pub fn width(&self) -> Option<usize> {
        match self {
            Loaded::Ranker(_, reader) | Loaded::Embedding(_, reader) => Some(reader.width()),
            Loaded::Recommender(_) => None,
        }
    }

    /// True if it can say what each feature adds to a score.
    pub fn explains(&self) -> bool {
        matches!(self, Loaded::Ranker(model, _) if model.scoring().trees().is_some())
    }
}

/// A model under a name, and how often its file was loaded again.
pub(crate) struct Slot {
    pub name: String,
    pub path: PathBuf,
    current: RwLock<Arc<Loaded>>,
    pub reloads: AtomicU64,
    pub refused: AtomicU64,
}

impl Slot {
    /// The model that answers now. A request that has it keeps it, whatever the file becomes.
    pub fn current(&self) -> Arc<Loaded> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Loads the file again. The model that answers stays if that fails, or if the new one does something else.
    pub fn reload(&self, most: usize) -> Result<(), TrainError> {
        let loaded = Loaded::load(&self.path, most).and_then(|loaded| {
            let (found, expected) = (loaded.kind().name(), self.current().kind().name());
            match found == expected {
                true => Ok(loaded),
                false => Err(TrainError::Format {
                    file: self.path.display().to_string(),
                    found: format!("now of the kind {found}"),
                    expected: format!("{expected}, as before"),
                }),
            }
        });
        match loaded {
            Ok(loaded) => {
                *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(loaded);
                self.reloads.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            Err(error) => {
                self.refused.fetch_add(1, Ordering::Relaxed);
                Err(error)
            }
        }
    }
}

/// The models of a server.
pub struct Models {
    pub(crate) slots: Vec<Slot>,
    /// Numbers that one list and one answer may have.
    pub(crate) most: usize,
}

impl Models {
    /// Loads models, each with its name; `max_body`: bytes of a request, of which the numbers that a list may have follow.
    ///
    /// # Errors
    /// If a file is no model that answers requests, or two have the same name.
    pub fn load(files: &[(String, PathBuf)], max_body: usize) -> Result<Models, ServeError> {
        // A number takes a digit and a comma.
        let most = max_body / 2;
        let mut slots: Vec<Slot> = Vec::new();
        for (name, path) in files {
            if slots.iter().any(|slot| slot.name == *name) {
                let found = format!("two models of the name {name:?}");
                return Err(ServeError::Settings(format!(
                    "{found}; expected NAME=FILE with a name for each"
                )));
            }
            slots.push(Slot {
                name: name.clone(),
                path: path.clone(),
                current: RwLock::new(Arc::new(Loaded::load(path, most)?)),
                reloads: AtomicU64::new(0),
                refused: AtomicU64::new(0),
            });
        }
        Ok(Models { slots, most })
    }

    /// Names and kinds.
    pub fn names(&self) -> Vec<(&str, Kind)> {
        self.slots.iter().map(|slot| (slot.name.as_str(), slot.current().kind())).collect()
    }

    /// The model of a name, or without a name the only one that fits.
    pub(crate) fn find(
        &self,
        name: Option<&str>,
        fits: fn(&Loaded) -> bool,
    ) -> Result<Arc<Loaded>, (bool, String)> {
        let fitting = || self.slots.iter().filter(|slot| fits(&slot.current()));
        let names = || fitting().map(|slot| slot.name.as_str()).collect::<Vec<_>>();
        match name {
            Some(name) => match self.slots.iter().find(|slot| slot.name == name) {
                None => {
                    let known = self.slots.iter().map(|slot| slot.name.as_str());
                    Err((false, catalog::unknown("model", name, known).to_string()))
                }
                Some(slot) => {
                    let current = slot.current();
                    if fits(&current) {
                        return Ok(current);
                    }
                    let expected = match names().as_slice() {
                        [] => "a server of such a model".to_string(),
                        names => names.join(" or "),
                    };
                    let kind = current.kind().name();
                    Err((true, format!("model={name}: a {kind} does not answer this; expected {expected}")))
                }
            },
            None => match names().as_slice() {
                [_] => Ok(fitting().next().map(Slot::current).ok_or((true, String::new()))?),
                [] => Err((false, "no model of this server answers this".into())),
                names => {
                    let names = names.join(", ");
                    Err((true, format!("several models; expected ?model=NAME with one of {names}")))
                }
            },
        }
    }
}
