//! The lines of the noise. See `Noise::fill` for what is replaced.

pub(super) const CRATES: &str = "adler ahash aho-corasick anyhow arrayvec async-trait atoi autocfg axum base64 bitflags \
    block-buffer bumpalo bytes cfg-if chrono clap colored cpufeatures crc32fast crossbeam crypto-common dashmap digest \
    displaydoc either encoding errno error-chain fastrand filetime flate2 fnv form_urlencoded futures-core futures-util \
    generic-array getrandom globset hashbrown heck hex hmac http httparse hyper iana-time-zone idna indexmap itertools itoa \
    js-sys lazy_static libc linux-raw-sys lock_api log matchers memchr mime miniz_oxide mio native-tls num-traits \
    once_cell openssl-probe parking_lot percent-encoding pin-project pkg-config ppv-lite86 proc-macro2 \
    proc-macro-error quote rand regex ring rustix rustls ryu schannel scopeguard semver serde serde_json sha2 slab smallvec \
    socket2 spin sqlx stable_deref_trait strsim subtle syn tempfile thiserror time tinyvec tokio tower tracing try-lock \
    typenum unicode-ident url utf8parse uuid version_check walkdir want webpki zeroize";

pub(super) const WORDS: &[&str] = &[
    "orders", "billing", "search", "gateway", "catalog", "stock", "shipping", "users", "mailer", "reports",
    "sessions", "vouchers", "ratings", "images", "exports", "audit",
];

/// Those of lines that every run has.
pub(super) const FEW_WORDS: &[&str] = &["orders", "billing", "search", "gateway"];

pub(super) const LINES: &[&str] = &[
    "[{t}] INFO  {w}: request {i} finished in {n} ms",
    "[{t}] INFO  {w}: connected to replica {s}",
    "[{t}] DEBUG {w}: cache hit {h}",
    "[{t}] DEBUG {w}: flushed {n} records",
    "{t} pulling layer sha256:{h}: {n} kB",
    "{t} layer sha256:{h} exists already",
    "Step {s}/64 : COPY {w} /srv/app",
    " ---> {i}",
    "Removing intermediate container {i}",
    "npm http fetch GET 200 https://packages.example.test/{w} {n}ms (cache hit)",
    "added {n} packages in {d}",
    "  CC      build/{w}/main.o",
    "  AR      build/lib{w}.a",
    "  LD      build/{w}",
    "[{s}%] Building CXX object src/CMakeFiles/shop.dir/{w}.cpp.o",
    "test {w}::tests::creates ... ok",
    "test {w}::tests::lists ... ok",
    "test {w}::tests::rejects_text ... ok",
    "ok {n} - {w} are paged",
    "--- PASS: Test{w} ({d})",
    "ok  \texample.test/{w}\t{d}",
    "tests/test_{w}.py::test_pages PASSED",
    "uploaded {w}-{n}.tgz ({n} bytes, sha256 {h})",
    "deployment {i}: {s} of 64 replicas are ready",
    "applying migration {n}_{w}.sql",
    "INSERT 0 {n}",
    "waiting for {w} ({d})",
    "{w}: image digest sha256:{h}",
    "Get:{s} http://packages.example.test/debian stable/main {w} [{n} kB]",
    "Unpacking {w} ({n}.{s}) ...",
    "Setting up {w} ({n}.{s}) ...",
    "> Task :{w}:compileJava UP-TO-DATE",
    "> Task :{w}:processResources",
];

/// Lines that look like failures, and are none.
pub(super) const HARMLESS: &[&str] = &[
    "test {v}::tests::an_error_is_reported ... ok",
    "test {v}::tests::failed_payment_is_refunded ... ok",
    "--- PASS: Test{v}Failure ({d})",
    "tests/test_{v}.py::test_exception_is_logged PASSED",
    "[{t}] WARN  {v}: retrying after error: connection reset (attempt 1 of 5)",
    "[{t}] WARN  {v}: deprecated option `fail_fast` is ignored",
    "[{t}] INFO  {v}: 0 errors, 0 warnings",
    "[{t}] INFO  {v}: error budget {s} % used",
    "[{t}] ERROR {v}: probe failed, replica {s} is still starting",
    "  CC      build/{v}/error.o",
    "  CC      build/{v}/exception_handler.o",
    "warning: unused import: `{v}::Error`",
    "npm warn deprecated {v}@{n}.0.0: this version is no longer supported",
    "copied {v}/errors/404.html",
    "{v}: panic handler installed",
    "ok {n} - a fatal error in {v} is shown",
    "[{t}] INFO  {v}: failover is disabled",
];

/// Lines with random letters, which no mask of digits covers.
pub(super) const RARE: &[&str] =
    &["pod/{w}-{i}-{x} condition met", "created temporary folder /tmp/build-{x}", "trace {x}-{x} sampled"];

pub(super) const CLEAN_UP: &[&str] = &[
    "[{t}] INFO  clean-up: stopping {v}",
    "[{t}] INFO  clean-up: {v} stopped after {d}",
    "[{t}] INFO  clean-up: removed volume {h}",
    "[{t}] INFO  clean-up: removed network {i}",
    "[{t}] WARN  clean-up: error while closing {v} is ignored: already closed",
    "[{t}] INFO  clean-up: uploaded {n} bytes of {v}.log",
    "Removing {v} ... done",
    "Stopping {v} ... done",
    "cache {v}: saved {n} files in {d}",
    "report {v}: {n} passed, 0 failed",
    "no exception was recorded for {v}",
    "deleted pod {v}-{i}",
];

pub(super) const DRIFT_HEADS: &[&str] = &[
    "   Compiling",
    "Downloading",
    "[{t}] INFO  loaded",
    "generated",
    "  CC      build/",
    "Unpacking",
    "registered",
    "[{t}] DEBUG resolved",
    "warning: deprecated",
    "test errors::",
    "copied",
    "linked",
];

pub(super) const DRIFT_TAILS: &[&str] = &[
    "v{s}.{s}.{s}",
    "({n} kB)",
    "in {d}",
    "from the cache",
    "{i}",
    "... ok",
    "with 0 errors",
    "for {w}",
    "as {w} handler",
];
