//! The link with which the first owner creates the first organization in a browser: printed when a server starts on a
//! database without any.

use std::io::Write;
use std::time::Duration;

use greenroom_app::public_url::PublicUrl;
use greenroom_app::sign_in::setup;
use greenroom_store::Store;
use tokio_util::sync::CancellationToken;

const RETRY_DELAY: Duration = Duration::from_secs(5);

/// Makes the link and prints it, in the log and on standard output. Does nothing if an organization exists.
pub(super) async fn print(store: Store, public_url: PublicUrl, stop: CancellationToken) {
    loop {
        match setup::create_link(&store).await {
            Ok(None) => return,
            Ok(Some(link)) => {
                let url = setup::url(&public_url, &link.secret);
                tracing::info!(
                    expires_at = %link.expires_at,
                    "there is no organization yet; create the first one within 15 minutes: {url}"
                );
                // Nothing can be done if standard output is closed: the log has the link too.
                let _ = writeln!(std::io::stdout(), "Create the first organization within 15 minutes: {url}");
                return;
            }
            Err(error) => tracing::warn!(
                error = &error as &dyn std::error::Error,
                "could not make the link for the first owner; retrying"
            ),
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(RETRY_DELAY) => {}
        }
    }
}
