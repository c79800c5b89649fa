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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use greenroom_domain::deployment::DeploymentStatus;

    #[test]
    fn the_list_is_that_of_the_domain() {
        let ends: Vec<String> = DeploymentStatus::FINAL.iter().map(|status| format!("'{status}'")).collect();
        let list = format!("\"({})\"", ends.join(", "));
        assert!(include_str!("final_statuses.rs").contains(&list), "{list}");
    }

    #[test]
    fn no_other_file_lists_the_final_statuses() {
        let (mut folders, mut files) = (vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")], Vec::new());
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { folders.push(path) } else { files.push(path) }
            }
        }
        let lists = |path: &&std::path::PathBuf| {
            let text = std::fs::read_to_string(path).unwrap();
            text.contains("in ('succeeded'") || text.contains("'superseded')")
        };
        let others: Vec<_> =
            files.iter().filter(lists).filter(|path| !path.ends_with("final_statuses.rs")).collect();
        assert!(others.is_empty(), "use query_with_final_statuses! in {others:?}");
    }
}
