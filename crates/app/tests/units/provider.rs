//! The operator's settings of OpenID providers.

use greenroom_app::sign_in::provider::{Provider, ProviderSettings, check, without_domains};
use greenroom_domain::text::Email;
use greenroom_outbound::{AllowList, OutboundClient};

fn provider(id: &str, issuer: &str) -> ProviderSettings {
    ProviderSettings {
        id: id.to_owned(),
        name: "Example".to_owned(),
        issuer: issuer.to_owned(),
        client_id: "greenroom".to_owned(),
        client_secret: Some("secret".to_owned()),
        domains: Vec::new(),
    }
}

fn with_domains(id: &str, domains: &[&str]) -> ProviderSettings {
    let domains = domains.iter().map(|domain| (*domain).to_owned()).collect();
    ProviderSettings { domains, ..provider(id, "https://a.example") }
}

#[test]
fn settings_are_checked() {
    assert!(check(&[provider("a", "https://a.example"), provider("b-2", "http://127.0.0.1:1")]).is_ok());
    for (id, issuer) in [
        ("", "https://a.example"),
        ("A", "https://a.example"),
        ("a/b", "https://a.example"),
        ("a", "http://a.example"),
        ("a", "http://127.0.0.1.evil.example"),
        ("a", "http://localhost.evil.example"),
    ] {
        assert!(check(&[provider(id, issuer)]).is_err(), "{id} {issuer}");
    }
    let twice = [provider("a", "https://a.example"), provider("a", "https://b.example")];
    assert!(check(&twice).is_err());
    assert!(check(&[with_domains("a", &["acme.example", "ACME-2.example"])]).is_ok());
    for domain in ["", "example", "@acme.example", "*.acme.example", "acme.example.", "https://acme.example"]
    {
        assert!(check(&[with_domains("a", &[domain])]).is_err(), "{domain}");
    }
}

#[test]
fn one_of_several_providers_vouches_for_its_own_domains_only() {
    let vouches = |domains: &[&str], is_only_one: bool, email: &str| {
        let outbound = OutboundClient::new(AllowList::default());
        let provider = Provider::new(with_domains("a", domains), is_only_one, String::new(), outbound);
        provider.vouches_for(&Email::new(email).unwrap())
    };
    let own = ["acme.example", "acme.test"].as_slice();
    for (domains, is_only_one, email, expected) in [
        ([].as_slice(), true, "ada@acme.example", true),
        (&[], false, "ada@acme.example", false),
        (own, true, "ada@acme.example", true),
        (own, false, "ada@ACME.test", true),
        (own, true, "ada@other.example", false),
        (own, false, "ada@sub.acme.example", false),
        (own, false, "ada@evilacme.example", false),
        (own, false, "ada@acme.example.evil.example", false),
    ] {
        assert_eq!(vouches(domains, is_only_one, email), expected, "{domains:?} {is_only_one} {email}");
    }
    let (named, unnamed) = (with_domains("a", own), with_domains("b", &[]));
    assert_eq!(without_domains(std::slice::from_ref(&unnamed)).count(), 0);
    assert_eq!(without_domains(&[named, unnamed]).collect::<Vec<_>>(), ["b"]);
}

#[tokio::test]
async fn a_provider_on_this_machine_needs_the_operators_setting() {
    for issuer in ["http://127.0.0.1:1", "https://127.0.0.1:1", "http://localhost:1", "https://10.0.0.1"] {
        let outbound = OutboundClient::new(AllowList::default());
        let provider = Provider::new(provider("a", issuer), true, "https://b.example".to_owned(), outbound);
        let error = provider.start().await.unwrap_err().to_string();
        assert!(error.contains("--outbound-allow"), "{issuer}: {error}");
    }
}

#[test]
fn debug_hides_the_client_secret() {
    assert!(!format!("{:?}", provider("a", "https://a.example")).contains("secret"));
}
