//! Errors of the store, classified by what the caller can do about them.

/// An error of the database. Its text is for logs, never for clients.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Not reachable, not ready, or out of connections. The caller should retry.
    #[error("the database is unavailable")]
    Unavailable(#[source] sqlx::Error),
    /// A lock timeout, a statement timeout or a deadlock with concurrent transactions. Nothing was changed.
    #[error("timed out waiting for concurrent transactions")]
    Busy(#[source] sqlx::Error),
    /// Each time the lease was read it had expired, and each time it was renewed before the expiry could be
    /// recorded. Nothing was changed.
    #[error("the lease changed each time it was read")]
    Unsettled,
    /// A unique constraint was violated.
    #[error("the constraint {constraint} was violated")]
    Taken { constraint: String },
    #[error("a query failed")]
    Query(#[source] sqlx::Error),
    /// A value that the domain can't parse: a defect, or the result of a manual edit of the database.
    #[error("unreadable value in {column}: {value}")]
    Unreadable { column: &'static str, value: String },
    /// A number that its column can't hold: a defect, because the limits of the domain are lower.
    #[error("the number {value} is out of range for {column}")]
    OutOfRange { column: &'static str, value: String },
    #[error("migrations failed")]
    Migrate(#[source] sqlx::migrate::MigrateError),
    /// Another transaction held a lock for too long. Migrations that were applied before stay applied.
    #[error(
        "{what} did not get a lock that another transaction holds, and was given up after {seconds} s. Nothing of it was applied. \
         Find that transaction in pg_stat_activity, and run this again"
    )]
    MigrationLocked { what: String, seconds: u64 },
    /// Daemons would fail on the reverted schema.
    #[error(
        "daemons that need a migration above {version} use this database ({connections} connections), and nothing was reverted. Start the \
         version that you go back to in their place first; `--even-if-used` reverts nevertheless, and they fail"
    )]
    SchemaInUse { version: i64, connections: i64 },
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
            // A connection that is lost in the middle of a response or of the handshake is reported as a
            // protocol error.
            E::Io(_) | E::Tls(_) | E::Protocol(_) | E::PoolTimedOut | E::PoolClosed | E::WorkerCrashed => {
                Self::Unavailable(error)
            }
            E::Database(ref database) => match database.code().as_deref() {
                Some("23505") => {
                    Self::Taken { constraint: database.constraint().unwrap_or_default().to_owned() }
                }
                // Statement timeouts, lock timeouts and deadlocks.
                Some("57014" | "55P03" | "40001" | "40P01") => Self::Busy(error),
                // Shutting down, starting up, out of connections; unknown database or user; not migrated.
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

/// Parses a text column whose values a check constraint restricts to those of a domain enum.
pub(crate) fn parse_column<T: std::str::FromStr>(column: &'static str, value: &str) -> Result<T, StoreError> {
    value.parse().map_err(|_| StoreError::Unreadable { column, value: value.to_owned() })
}

/// Converts the number in a column, such as a count that is never negative, into the domain's type.
pub(crate) fn from_column<N: Copy + ToString, T: TryFrom<N>>(
    column: &'static str,
    number: N,
) -> Result<T, StoreError> {
    T::try_from(number).map_err(|_| StoreError::Unreadable { column, value: number.to_string() })
}

/// Converts a number of the domain into the type of its column.
pub(crate) fn to_column<N: Copy + ToString, T: TryFrom<N>>(
    column: &'static str,
    number: N,
) -> Result<T, StoreError> {
    T::try_from(number).map_err(|_| StoreError::OutOfRange { column, value: number.to_string() })
}

/// Like [`parse_column`], for a column that may be null.
pub(crate) fn parse_nullable_column<T: std::str::FromStr>(
    column: &'static str,
    value: Option<&str>,
) -> Result<Option<T>, StoreError> {
    value.map(|value| parse_column(column, value)).transpose()
}
