use super::*;

fn category(decisive: &str) -> Category {
    categorize(&Clues { reason: Some(Reason::StepFailed), exit_code: Some(1), decisive, block: decisive })
}

#[test]
fn lines_of_real_failures_have_their_category() {
    use Category::{
        Compile, Configuration, Database, Dependency, Gate, Network, Resource, Test, Timeout, Unknown,
    };
    for (expected, line) in [
        (Compile, "error[E0308]: mismatched types"),
        (Compile, "main.c:3:5: error: expected ';' before 'return'"),
        (Compile, "main.c:1:10: fatal error: missing.h: No such file or directory"),
        (Compile, "./main.go:4:2: undefined: x"),
        (Compile, "src/a.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'."),
        (Compile, "Main.java:3: error: ';' expected"),
        (Compile, "SyntaxError: invalid syntax"),
        (Compile, "/usr/bin/ld: main.c:(.text+0x9): undefined reference to `f'"),
        (Test, "E       assert 1 == 2"),
        (Test, "AssertionError: 1 != 2"),
        (Test, "--- FAIL: TestX (0.00s)"),
        (Test, "assertion `left == right` failed"),
        (Test, "FAILED tests/test_a.py::test_b - assert 1 == 2"),
        (Test, "org.opentest4j.AssertionFailedError: expected: <1> but was: <2>"),
        (Dependency, "error: no matching package named `serd` found"),
        (Dependency, "npm error code ERESOLVE"),
        (Dependency, "npm error 404 Not Found - GET https://registry.npmjs.org/x - Not found"),
        (Dependency, "ERROR: No matching distribution found for x==99"),
        (Dependency, "E: Unable to locate package foo"),
        (Dependency, "ModuleNotFoundError: No module named 'requests'"),
        (Dependency, "Error response from daemon: manifest unknown"),
        (Configuration, "bash: line 1: foo: command not found"),
        (Configuration, "sh: 1: foo: not found"),
        (Configuration, "deploy.sh: line 3: TOKEN: unbound variable"),
        (Configuration, "cat: config.yml: No such file or directory"),
        (Configuration, "error: unknown flag: --fo"),
        (Configuration, "Error from server (NotFound): deployments.apps \"x\" not found"),
        (Network, "curl: (7) Failed to connect to localhost port 1: Connection refused"),
        (Network, "curl: (6) Could not resolve host: nowhere.invalid"),
        (Network, "ssl.SSLCertVerificationError: certificate verify failed"),
        (Network, "dial tcp 10.0.0.1:443: i/o timeout"),
        (Database, "psql:a.sql:3: ERROR:  relation \"x\" does not exist"),
        (Database, "ERROR:  duplicate key value violates unique constraint \"a_pkey\""),
        (Database, "sqlite3.OperationalError: no such table: x"),
        (Database, "ERROR 1054 (42S22) at line 1: Unknown column 'x' in 'field list'"),
        (Resource, "cp: error writing 'x': No space left on device"),
        (Resource, "Killed"),
        (Resource, "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory"),
        (Timeout, "error: timed out waiting for the condition"),
        (Timeout, "error: deployment \"x\" exceeded its progress deadline"),
        (Gate, "Coverage failure: total of 61 is less than fail-under=80"),
        (Gate, "would reformat a.py"),
        (Gate, "a.py:1:1: F401 'os' imported but unused"),
        (Gate, "Diff in /work/src/main.rs:1:"),
        (Gate, "In a.sh line 2: ^-- SC2086 (warning): Double quote"),
        (Gate, "error: 3 vulnerabilities found!"),
        (Unknown, "something went wrong"),
    ] {
        assert_eq!(category(line), expected, "{line}");
    }
}

#[test]
fn reasons_come_first_and_exit_codes_after_the_decisive_line() {
    let of = |reason, exit_code, decisive| {
        categorize(&Clues { reason: Some(reason), exit_code, decisive, block: "AssertionError" })
    };
    assert_eq!(of(Reason::TimedOut, None, "error[E0308]: x"), Category::Timeout);
    assert_eq!(of(Reason::RunnerLost, None, ""), Category::Platform);
    assert_eq!(of(Reason::ImageNotFound, None, ""), Category::Dependency);
    assert_eq!(of(Reason::SecretMissing, None, ""), Category::Configuration);
    assert_eq!(of(Reason::ApprovalRejected, None, ""), Category::Gate);
    assert_eq!(of(Reason::StepFailed, Some(137), "step 3"), Category::Resource);
    assert_eq!(of(Reason::StepFailed, Some(124), "step 3"), Category::Timeout);
    assert_eq!(of(Reason::StepFailed, Some(127), "step 3"), Category::Configuration);
    assert_eq!(of(Reason::StepFailed, Some(1), "step 3"), Category::Test);
    assert_eq!(of(Reason::StepFailed, Some(137), "error[E0308]: x"), Category::Compile);
}
