//! Texts of failures, as tools print them. Each is about other names; numbers, ids and times differ in each run.

use std::sync::atomic::{AtomicUsize, Ordering};

/// `{a}` and `{b}` are two names, `{A}` and `{B}` the same with a capital letter. The step replaces `@N@` by a number,
/// `@H@` by an id and `@T@` by the time.
const TEXTS: [&str; 12] = [
    "error[E0425]: cannot find value `{a}_{b}` in this scope\n  --> src/{a}.rs:@N@:9\n   |\n@N@ |     {a}_{b}.run()\n   |     ^^^^^^ not found in this scope\n\nFor more information about this error, try `rustc --explain E0425`.\nerror: could not compile `{a}` (bin \"{a}\") due to 1 previous error",
    "Traceback (most recent call last):\n  File \"/srv/{a}/migrate.py\", line @N@, in <module>\n    main()\n  File \"/srv/{a}/{b}.py\", line @N@, in main\n    raise ValueError(name)\nValueError: {a} has no {b}",
    "psql:db/@N@.sql:@N@: ERROR:  relation \"{a}_{b}\" does not exist\nLINE 1: select * from {a}_{b}\n                      ^",
    "--- FAIL: Test{A}{B} (0.@N@s)\n    {a}_test.go:@N@: {b}: got @N@, want 7\nFAIL\nFAIL\texample.test/{a}\t0.@N@s",
    "Exception in thread \"main\" java.lang.IllegalStateException: cannot start\n\tat com.example.Main.main(Main.java:@N@)\nCaused by: java.net.UnknownHostException: {a}-{b}.internal\n\tat java.base/java.net.InetAddress.getAllByName(InetAddress.java:@N@)\n\t... 3 more",
    "@T@ curl: (6) Could not resolve host: {a}-{b}.example.test",
    "Error from server (NotFound): deployments.apps \"{a}-{b}\" not found",
    "Error response from daemon: manifest for registry.example.test/{a}/{b}:@N@ not found: manifest unknown",
    "./deploy.sh: line @N@: {a}-{b}: command not found",
    "Error: UPGRADE FAILED: cannot patch \"{a}\" with kind Deployment: field {b} is immutable",
    "\nthread 'main' (@N@) panicked at src/main.rs:@N@:5:\ncalled `Result::unwrap()` on an `Err` value: {A}{B}Missing\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace",
    "@T@ [request @H@] FATAL {a}: required setting {b} is empty",
];
const OUTAGES: [&str; 3] = [
    "@T@ error: failed to push: Post \"https://{a}-{b}.example.test/v2/blobs/uploads/@H@\": dial tcp 10.0.0.@N@:443: connect: connection refused",
    "fatal: unable to access 'https://{a}-{b}.example.test/': The requested URL returned error: 503",
    "Traceback (most recent call last):\n  File \"/opt/client.py\", line @N@, in connect\n    raise TimeoutError(host)\nTimeoutError: {a}-{b}.example.test did not respond within @N@ s",
];
/// One line each.
const IMAGES: [&str; 2] = [
    "app: error while loading shared libraries: lib{a}-{b}.so.7: cannot open shared object file: No such file or directory",
    "fatal: {a} was built for another version of {b}",
];
const NAMES: &str = "order basket invoice ledger coupon parcel refund customer product stock price tariff voucher session profile \
                     payment gateway mailer report archive catalog search banner newsletter review rating address country currency";

/// The text of a failure.
#[derive(Clone, Debug)]
pub(super) struct Cause {
    pub(super) id: usize,
    pub(super) text: String,
}

/// Returns causes, each different from all others.
#[derive(Debug, Default)]
pub(super) struct Causes(AtomicUsize);

impl Causes {
    /// Returns a failure of a commit, a definition or an environment.
    pub(super) fn next(&self) -> Cause {
        self.make(&TEXTS)
    }

    /// Returns the failure of those who need a service that is down.
    pub(super) fn outage(&self) -> Cause {
        self.make(&OUTAGES)
    }

    /// Returns the failure of a step with a broken image.
    pub(super) fn image(&self) -> Cause {
        self.make(&IMAGES)
    }

    fn make(&self, texts: &[&str]) -> Cause {
        let id = self.0.fetch_add(1, Ordering::Relaxed);
        let names: Vec<&str> = NAMES.split_whitespace().collect();
        // No two ids have the same pair of names, and each name is in many of them.
        let pair = id * 37 % (names.len() * names.len());
        let name = |index: usize| names.get(index % names.len()).copied().unwrap_or_default();
        let (a, b) = (name(pair), name(pair / names.len()));
        let text = texts.get(id % texts.len()).copied().unwrap_or_default();
        let text = text.replace("{a}", a).replace("{b}", b);
        Cause { id, text: text.replace("{A}", &capital(a)).replace("{B}", &capital(b)) + "\n" }
    }
}

fn capital(name: &str) -> String {
    let (first, rest) = name.split_at(1);
    first.to_uppercase() + rest
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn causes_are_different() {
        let causes = Causes::default();
        let texts: HashSet<String> = (0..800).map(|_| causes.next().text).collect();
        assert_eq!(texts.len(), 800);
    }
}
