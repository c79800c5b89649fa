//! What the settings of a server are warned of.

use clap::Parser;
use greenroom_server::config::ListenConfig;

#[derive(Parser)]
struct Serve {
    #[command(flatten)]
    listen: ListenConfig,
}

fn serve(arguments: &[&str]) -> Result<ListenConfig, String> {
    let arguments = ["serve"].iter().chain(arguments);
    Serve::try_parse_from(arguments).map(|serve| serve.listen).map_err(|error| error.to_string())
}

#[test]
fn a_server_that_others_reach_without_tls_is_refused_or_warned_of() {
    let (https, http) = ("https://a.example", "http://a.example");
    for (listen, public_url, is_refused, is_warned) in [
        ("127.0.0.1:7420", None, false, false),
        ("[::1]:7420", Some(http), false, false),
        ("0.0.0.0:7420", Some(https), true, false),
        ("0.0.0.0:7420", Some(http), true, true),
        ("0.0.0.0:7420", None, true, true),
        ("[::]:7420", None, true, true),
        ("10.1.2.3:7420", None, true, true),
    ] {
        let mut arguments = vec!["--listen", listen];
        if let Some(public_url) = public_url {
            arguments.extend(["--public-url", public_url]);
        }
        let refusal = serve(&arguments).unwrap().tls().err().map(|error| error.to_string());
        assert_eq!(refusal.is_some(), is_refused, "{listen} {public_url:?}: {refusal:?}");
        assert!(refusal.is_none_or(|text| text.contains("--tls-cert") && text.contains("--plain-http")));
        arguments.push("--plain-http");
        let config = serve(&arguments).unwrap();
        assert!(config.tls().is_ok_and(|tls| tls.is_none()), "{listen}");
        let warnings: Vec<_> = config.warnings(config.listen, None).collect();
        assert_eq!(warnings.len(), usize::from(is_warned), "{listen} {public_url:?}: {warnings:?}");
        assert!(warnings.iter().all(|warning| warning.contains(listen) && warning.contains("https")));
    }
}

#[test]
fn certificate_and_key_are_set_together() {
    assert!(serve(&["--tls-cert", "a"]).unwrap_err().contains("--tls-key"));
    assert!(serve(&["--tls-key", "a"]).unwrap_err().contains("--tls-cert"));
}

#[test]
fn an_entry_for_every_purpose_is_warned_of() {
    let allow = "forge=10.1.2.3/32:443@acme,10.1.0.0/16,10.2.0.0/16:443";
    let config = serve(&["--outbound-allow", allow, "--outbound-allow", "model=10.3.0.0/16"]).unwrap();
    let warnings: Vec<_> = config.warnings(config.listen, None).collect();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("10.1.0.0/16") && warnings[1].contains("10.2.0.0/16:443"), "{warnings:?}");
    assert!(warnings.iter().all(|warning| warning.contains("forge=10.1.2.3/32:443@acme")));
    let error = serve(&["--outbound-allow", "forges=10.1.2.3/32"]).unwrap_err();
    assert!(error.contains("forge=10.1.2.3/32:443@acme") && error.contains("registry"), "{error}");
}
