//! What can go wrong in the store, told apart by what the caller can do about it.

/// An error of the database. Its text is for the log, never for a client.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Not reachable, not ready, or out of connections: trying again is right.
    #[error("the database is unavailable")]
    Unavailable(#[source] sqlx::Error),
    /// Others were in the way for too long; nothing was changed.
    #[error("gave up waiting for others")]
    Busy(#[source] sqlx::Error),
    /// A lease ran out each time it was read, and was renewed each time before that could be recorded; nothing was changed.
    #[error("the lease changed each time it was read")]
    Unsettled,
    /// A unique constraint said no.
    #[error("the constraint {constraint} was violated")]
    Taken { constraint: String },
    #[error("a query failed")]
    Query(#[source] sqlx::Error),
    /// A row that the domain can't read: a defect, or a hand in the database.
    #[error("unreadable value in {column}: {value}")]
    Unreadable { column: &'static str, value: String },
    #[error("migrations failed")]
    Migrate(#[source] sqlx::migrate::MigrateError),
    /// Others held a lock for too long. Migrations that were applied before stay applied.
    #[error(
        "{what} did not get a lock that another transaction holds, and was given up after {seconds} s. Nothing of it was applied. \
         Find that transaction in pg_stat_activity, and run this again"
    )]
    MigrationLocked { what: String, seconds: u64 },
}

impl StoreError {
    pub fn is_taken(&self, name: &str) -> bool {
        matches!(self, Self::Taken { constraint } if constraint == name)
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        use sqlx::Error as E;
        match error {
            // A connection that breaks off in the middle of an answer, or of the greeting, shows as a breach of protocol.
            E::Io(_) | E::Tls(_) | E::Protocol(_) | E::PoolTimedOut | E::PoolClosed | E::WorkerCrashed => {
                Self::Unavailable(error)
            }
            E::Database(ref database) => match database.code().as_deref() {
                Some("23505") => {
                    Self::Taken { constraint: database.constraint().unwrap_or_default().to_owned() }
                }
                // Statement and lock time-outs, deadlocks.
                Some("57014" | "55P03" | "40001" | "40P01") => Self::Busy(error),
                // Shutting down, starting up, out of connections; no such database, no such user; not migrated.
                Some(code)
                    if ["08", "28", "3D", "57P"].iter().any(|class| code.starts_with(class))
                        || matches!(code, "53300" | "42P01") =>
                {
                    Self::Unavailable(error)
                }
                _ => Self::Query(error),
            },
            _ => Self::Query(error),
        }
    }
}

/// Reads a word that a check constraint keeps in the domain's vocabulary.
pub(crate) fn word<T: std::str::FromStr>(column: &'static str, value: &str) -> Result<T, StoreError> {
    value.parse().map_err(|_| StoreError::Unreadable { column, value: value.to_owned() })
}
