//! The value of a secret in a request.

use greenroom_api_types::secret::SetSecretValue;

#[test]
fn a_value_is_in_no_error_and_not_printed() {
    let wrong = serde_json::from_str::<SetSecretValue>(r#"{"value": 123456789}"#).unwrap_err();
    assert!(!wrong.to_string().contains("123456789"), "{wrong}");
    let right = serde_json::from_str::<SetSecretValue>(r#"{"value": "hunter22"}"#).unwrap();
    assert!(!format!("{right:?}").contains("hunter22"));
    assert_eq!(right.value.into_bytes(), b"hunter22");
}
