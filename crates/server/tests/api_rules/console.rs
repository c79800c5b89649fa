//! What `greenroomd` prints when a command fails.

use std::process::Command;

use sqlx::ConnectOptions;

use crate::support::database::TestDatabase;

fn errors_of(arguments: &[&str], database_url: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_greenroomd"));
    command.args(arguments).env("GREENROOM_DATABASE_URL", database_url).env("RUST_BACKTRACE", "1");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn an_unreachable_database_is_reported_with_the_reason() {
    let printed = errors_of(&["migrate", "up"], "postgres://nobody:secret@127.0.0.1:1/none");
    assert!(printed.contains("can't connect to the database of GREENROOM_DATABASE_URL"), "{printed}");
    assert!(printed.contains("refused"), "{printed}");
    assert!(!printed.contains("pool timed out") && !printed.contains("secret"), "{printed}");
}

#[tokio::test]
async fn a_wrong_option_is_named_in_one_line() {
    let (_database, pool) = TestDatabase::create().await;
    let url = pool.connect_options().to_url_lossy().to_string();
    let arguments =
        ["admin", "bootstrap", "--slug", "Acme!", "--owner-email", "owner@example.test", "--owner-name", "O"];
    let printed = tokio::task::spawn_blocking(move || errors_of(&arguments, &url)).await.unwrap();
    assert!(printed.contains("Error: --slug must be"), "{printed}");
    assert!(!printed.contains("Caused by") && !printed.contains("backtrace"), "{printed}");
}
