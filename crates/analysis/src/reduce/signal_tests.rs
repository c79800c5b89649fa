use super::*;

#[test]
fn lines_that_show_a_failure_are_strong() {
    for line in [
        "error: mismatched types",
        "error[E0308]: mismatched types",
        "2026-11-17 23:02 ERROR pool: connection lost",
        "main.c:3:5: error: expected ';' before 'return'",
        "./main.go:4:2: undefined: x",
        "src/a.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.",
        "TypeError: x is not a function",
        "java.lang.NullPointerException: null",
        "thread 'main' panicked at src/main.rs:2:5:",
        "E       assert 1 == 2",
        "E: Unable to locate package foo",
        "FAILED tests/test_a.py::test_b - assert 1 == 2",
        "--- FAIL: TestX (0.00s)",
        "npm error code ERESOLVE",
        "bash: line 1: foo: command not found",
        "curl: (7) Failed to connect to localhost port 1",
        "psql:a.sql:3: ERROR:  relation \"x\" does not exist",
        "Killed",
        "cp: error writing 'x': No space left on device",
        "3 errors, 0 warnings found in 4 files",
    ] {
        assert!(signal(line.as_bytes()).is_strong(), "{line}");
    }
}

#[test]
fn harmless_forms_are_not() {
    for line in [
        "0 errors, 0 warnings",
        "finished with no errors",
        "errors: 0",
        "\"failed\": 0,",
        "error: 0",
        "Tests run: 12, Failures: 0, Errors: 0, Skipped: 0",
        "12 passed; 0 failed; 0 ignored",
        "running cargo test --fail-fast",
        "jest --bail --no-error-on-unmatched",
        "compiling src/error.rs",
        "Compiling thiserror v2.0.21",
        "test parse_error::reports_missing_field ... ok",
        "✓ throws an error on bad input (3 ms)",
        "--- PASS: TestFailure (0.00s)",
        "stopping on error",
        "psql -v ON_ERROR_STOP=1 -f a.sql",
        "copying errors.go",
        "failureType: 'testCodeFailure'",
        "writing error log to /var/log/app",
        "gateway: panic handler installed",
        "panic hook set to abort",
        "registered exception handler for SIGTERM",
    ] {
        assert!(!signal(line.as_bytes()).is_strong(), "{line}: {:?}", signal(line.as_bytes()));
    }
}

#[test]
fn levels_weaken_and_consequences_are_known() {
    assert_eq!(signal(b"warning: unused variable, error ignored"), Signal::Weak);
    assert_eq!(signal(b"2026-11-17T23:02:02Z INFO request failed, retrying"), Signal::Weak);
    assert_eq!(signal(b"[WARN] connection refused, retry in 2 s"), Signal::Weak);
    for line in ["test adds ... FAILED", "--- FAIL: TestX (0.00s)", "not ok 1 - error path", "● sum › adds"]
    {
        assert_eq!(signal(line.as_bytes()), Signal::Title, "{line}");
    }
    for line in [
        "FAIL",
        "FAIL src/sum.test.js",
        "FAIL\texample.test/courier\t0.003s",
        "make: *** [Makefile:2: all] Error 1",
        "error: could not compile `a` (bin \"a\") due to 1 previous error",
        "Process exited with exit code 1",
        "npm error Lifecycle script `test` failed with error:",
        "collect2: error: ld returned 1 exit status",
        "test result: FAILED. 0 passed; 1 failed; 0 ignored",
    ] {
        assert_eq!(signal(line.as_bytes()), Signal::Summary, "{line}");
    }
}

#[test]
fn a_hostile_line_is_judged_in_linear_time() {
    let line = b"error ".repeat(100_000);
    assert!(signal(&line).is_strong());
}
