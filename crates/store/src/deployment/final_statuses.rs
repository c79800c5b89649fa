//! The final statuses of deployments in SQL. They are literals, because PostgreSQL uses the partial indexes of live
//! deployments only for a condition with constants. A test compares them with the domain's list.

/// Calls a macro of sqlx with a statement. Its parts are joined by the list of the final statuses, in parentheses.
macro_rules! query_with_final_statuses {
    ($($query:ident)::+, [$first:literal $(, $rest:literal)+ $(,)?] $(, $argument:expr)* $(,)?) => {
        $($query)::+!(
            $first $(+ "('succeeded', 'failed', 'errored', 'canceled', 'superseded')" + $rest)+,
            $($argument),*
        )
    };
}

pub(crate) use query_with_final_statuses;
