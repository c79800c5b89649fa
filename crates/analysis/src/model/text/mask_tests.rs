use super::*;

/// A text that looks random, made by a fixed generator.
fn random(length: usize, alphabet: &str) -> String {
    let alphabet = alphabet.as_bytes();
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(alphabet[(state >> 33) as usize % alphabet.len()])
    };
    (0..length).map(|_| next()).collect()
}

const BASE62: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

#[test]
fn tokens_are_masked_wherever_they_are() {
    let body = random(36, BASE62);
    for prefix in
        ["ghp_", "github_pat_", "glpat-", "sk-", "sk-ant-api03-", "xoxb-", "AKIA", "grn_", "grr_", "grj_"]
    {
        let token = format!("{prefix}{body}");
        for text in [
            token.clone(),
            format!("fatal: could not read with {token}"),
            format!("x={token};y"),
            format!("(\"{token}\")"),
            format!("größe{{{token}}}日本"),
            format!("a\n{token}\nb"),
        ] {
            let (masked, count) = mask(&text);
            assert!(!masked.contains(&body) && masked.contains(MASK) && count == 1, "{text} → {masked}");
        }
    }
}

#[test]
fn a_token_that_was_cut_off_is_masked() {
    let body = random(36, BASE62);
    for length in 10..36 {
        let token = format!("ghp_{}", &body[..length]);
        assert_eq!(mask(&token).0, MASK, "{token}");
    }
}

#[test]
fn every_character_around_a_token_stays() {
    let token = format!("ghp_{}", random(36, BASE62));
    assert_eq!(mask(&format!("ä{token}ö {token}")), (format!("ä{MASK}ö {MASK}"), 2));
}

#[test]
fn blocks_of_keys_are_masked() {
    let line = random(64, &format!("{BASE62}+/"));
    let block = format!("-----BEGIN RSA PRIVATE KEY-----\n{line}\n{line}\n-----END RSA PRIVATE KEY-----");
    assert_eq!(mask(&format!("before\n{block}\nafter")), (format!("before\n{MASK}\nafter"), 1));
    // On one line, as JSON has it.
    let joined = block.replace('\n', "\\n");
    assert_eq!(mask(&format!("{{\"k\":\"{joined}\"}}")), (format!("{{\"k\":\"{MASK}\"}}"), 1));
    // The end was cut off.
    let cut = format!("-----BEGIN PRIVATE KEY-----\n{line}\n{}\nerror: no key", &line[..20]);
    assert_eq!(mask(&cut).0, format!("{MASK}error: no key"));
    // The beginning was cut off.
    assert!(!mask(&format!("{line}\n-----END PRIVATE KEY-----")).0.contains(&line));
}

#[test]
fn other_forms_are_masked() {
    let value = random(40, &format!("{BASE62}+/"));
    let jwt = format!("eyJhbGciOiJIUzI1NiJ9.eyJ{}.{}", random(40, BASE62), random(43, BASE62));
    for (text, secret) in [
        (format!("jwt {jwt} rejected"), jwt.as_str()),
        (format!("AWS_SECRET_ACCESS_KEY={value}"), &value),
        (format!("found {value} in the output"), &value),
        ("postgres://app:hunter2-hunter2@db.example/app".to_owned(), "hunter2-hunter2"),
        ("git clone https://s3cr3tt0ken@git.example/x".to_owned(), "s3cr3tt0ken"),
        ("Authorization: Bearer abcdef12345".to_owned(), "abcdef12345"),
        ("authorization: basic dXNlcjpwYXNz".to_owned(), "dXNlcjpwYXNz"),
        ("DB_PASSWORD=correct-horse".to_owned(), "correct-horse"),
        ("password: \"correct horse\"".to_owned(), "correct horse"),
        ("{\"client_secret\": \"abcdefgh\"}".to_owned(), "abcdefgh"),
        ("npm_token=abcdefgh".to_owned(), "abcdefgh"),
        ("AccountKey=abc+def/ghi==;Endpoint".to_owned(), "abc+def/ghi=="),
    ] {
        let (masked, count) = mask(&text);
        assert!(!masked.contains(secret) && count > 0, "{text} → {masked}");
    }
}

#[test]
fn honest_lines_stay() {
    for text in [
        "error[E0308]: mismatched types --> crates/server/src/app/session/claim.rs:41:5",
        "commit 3f2c91e4b8a7d6c5e4f3a2b1c0d9e8f7a6b5c4d3 and 9ab01d2",
        "image sha256:1f3a77be1f3a77be1f3a77be1f3a77be1f3a77be1f3a77be1f3a77be1f3a77be",
        "id 0192f0c1-2d3e-7f4a-8b5c-6d7e8f9a0b1c",
        "task-runner-with-a-long-name failed; see sk-learn-contribution-guidelines",
        "at com.example.shop.checkout.PaymentServiceImpl$Handler.handle(PaymentServiceImpl.java:114)",
        "/usr/lib/python3.12/site-packages/sqlalchemy/engine/base.py line 1967",
        "Unexpected token: } in JSON at position 4",
        "SyntaxError: Unexpected token 'export'",
        "basic authentication failed for registry.example:5000",
        "https://registry.example/v2/app/manifests/latest: 404",
        "mail dev@example.test https://example.test/@scope/package",
        "npm_config_registry=https://registry.example",
        "FAILED tests/test_checkout.py::TestCheckout::test_total_with_discount_and_tax - assert 3 == 4",
    ] {
        assert_eq!(mask(text), (text.to_owned(), 0));
    }
}

#[test]
fn any_text_can_be_masked() {
    for text in [
        "",
        "=",
        "password=",
        "://@",
        "-----BEGIN ",
        "-----END ",
        "ä://ä@ä",
        "sk-",
        "bearer ",
        "\"password\":\"ä",
    ] {
        mask(text);
    }
    let fragments = [
        "ä",
        "ghp_",
        "-----BEGIN ",
        "-----END ",
        "://",
        "@",
        "=",
        ":",
        "password",
        "bearer ",
        "A1b",
        "\n",
        "\"",
    ];
    let mut state: usize = 7;
    for _ in 0..2_000 {
        let mut text = String::new();
        for _ in 0..12 {
            state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            text.push_str(fragments[(state >> 16) % fragments.len()]);
        }
        mask(&text);
    }
}
