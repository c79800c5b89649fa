//! The connection settings of the engine.

use greenroom_engine::EngineConfig;

fn config(address: &str) -> EngineConfig {
    EngineConfig { address: address.to_owned(), namespace: "default".to_owned(), ..EngineConfig::default() }
}

#[test]
fn an_address_is_host_and_port() {
    assert_eq!(
        config("127.0.0.1:7233").connection("test").unwrap().target.as_str(),
        "http://127.0.0.1:7233/"
    );
    assert!(config("not an address").connection("test").is_err());
}

#[test]
fn an_api_key_is_never_sent_unencrypted() {
    let config = EngineConfig { api_key: Some("secret".to_owned()), ..config("engine.example:7233") };
    let options = config.connection("test").unwrap();
    assert!(options.tls_options.is_some());
    assert_eq!(options.target.scheme(), "https");
    assert!(!format!("{config:?}").contains("secret"));
}
