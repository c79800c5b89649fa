//! The request for a token exchange (RFC 8693), as a form.

use crate::id::UserId;

const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";
/// What a CI system's token may be called.
const SUBJECT_TOKEN_TYPES: [&str; 2] =
    ["urn:ietf:params:oauth:token-type:jwt", "urn:ietf:params:oauth:token-type:id_token"];

/// A request with a supported form. Its tokens have not been verified.
#[derive(Clone, PartialEq, Eq)]
pub struct ExchangeRequest {
    pub subject_token: String,
    /// An earlier token of the service account, which the new one continues.
    pub actor_token: Option<String>,
    pub resource: Resource,
}

/// The service account that the request names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// The id or the slug of the organization.
    pub organization: String,
    pub service_account: UserId,
}

/// Why a request is rejected. The texts are for the client; none depends on what exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidExchange {
    #[error("`grant_type` must be `{GRANT_TYPE}`")]
    GrantType,
    #[error("`{0}` is missing or empty")]
    Missing(&'static str),
    #[error("`{0}` is given twice")]
    Duplicate(&'static str),
    #[error("`subject_token_type` must be `{}` or `{}`", SUBJECT_TOKEN_TYPES[0], SUBJECT_TOKEN_TYPES[1])]
    SubjectTokenType,
    #[error("`actor_token` and `actor_token_type`, which must be `{ACCESS_TOKEN}`, belong together")]
    ActorTokenType,
    #[error("`requested_token_type` can only be `{ACCESS_TOKEN}`")]
    RequestedTokenType,
    #[error("`resource` must be the address of a service account of this server; there is no `audience`")]
    Target,
}

impl InvalidExchange {
    /// Returns the error code of OAuth (RFC 6749, section 5.2; RFC 8693, section 2.2.2).
    pub const fn code(&self) -> &'static str {
        match self {
            Self::GrantType => "unsupported_grant_type",
            Self::Target => "invalid_target",
            _ => "invalid_request",
        }
    }
}

impl ExchangeRequest {
    /// `accounts` is the address under which organizations are found: `https://greenroom.example.com/api/v1/organizations/`.
    /// Parameters with other names are ignored (RFC 6749, section 3.2).
    pub fn parse(form: &[(String, String)], accounts: &str) -> Result<Self, InvalidExchange> {
        let field = |name: &'static str| {
            let mut values = form.iter().filter(|(key, _)| key == name).map(|(_, value)| value.as_str());
            let first = values.next().filter(|value| !value.is_empty());
            if values.next().is_some() { Err(InvalidExchange::Duplicate(name)) } else { Ok(first) }
        };
        let required = |name| field(name)?.ok_or(InvalidExchange::Missing(name));
        if required("grant_type")? != GRANT_TYPE {
            return Err(InvalidExchange::GrantType);
        }
        let subject_token = required("subject_token")?.to_owned();
        if !SUBJECT_TOKEN_TYPES.contains(&required("subject_token_type")?) {
            return Err(InvalidExchange::SubjectTokenType);
        }
        let actor_token = match (field("actor_token")?, field("actor_token_type")?) {
            (None, None) => None,
            (Some(token), Some(ACCESS_TOKEN)) => Some(token.to_owned()),
            _ => return Err(InvalidExchange::ActorTokenType),
        };
        if field("requested_token_type")?.is_some_and(|requested| requested != ACCESS_TOKEN) {
            return Err(InvalidExchange::RequestedTokenType);
        }
        if field("audience")?.is_some() {
            return Err(InvalidExchange::Target);
        }
        let resource = required("resource")?.strip_prefix(accounts).and_then(Resource::parse);
        Ok(Self { subject_token, actor_token, resource: resource.ok_or(InvalidExchange::Target)? })
    }
}

impl Resource {
    fn parse(path: &str) -> Option<Self> {
        let (organization, account) = path.split_once("/service-accounts/")?;
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let is_organization = !organization.is_empty() && organization.bytes().all(is_name);
        let service_account = account.parse().ok()?;
        is_organization.then(|| Self { organization: organization.to_owned(), service_account })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCOUNTS: &str = "https://greenroom.example/api/v1/organizations/";
    const ACCOUNT: &str = "usr_01900000-0000-7000-8000-000000000001";

    fn parse(change: impl FnOnce(&mut Vec<(String, String)>)) -> Result<ExchangeRequest, InvalidExchange> {
        let resource = format!("{ACCOUNTS}acme/service-accounts/{ACCOUNT}");
        let mut form: Vec<(String, String)> = [
            ("grant_type", GRANT_TYPE),
            ("subject_token", "a.b.c"),
            ("subject_token_type", SUBJECT_TOKEN_TYPES[0]),
            ("resource", &resource),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        change(&mut form);
        ExchangeRequest::parse(&form, ACCOUNTS)
    }

    fn with(name: &str, value: &str) -> Result<ExchangeRequest, InvalidExchange> {
        parse(|form| {
            form.retain(|(key, _)| key != name);
            form.push((name.to_owned(), value.to_owned()));
        })
    }

    #[test]
    fn a_correct_request_is_parsed() {
        let request = parse(|_| ()).unwrap();
        assert_eq!((request.subject_token.as_str(), request.actor_token), ("a.b.c", None));
        let expected =
            Resource { organization: "acme".to_owned(), service_account: ACCOUNT.parse().unwrap() };
        assert_eq!(request.resource, expected);
        let with_actor = parse(|form| {
            form.push(("actor_token".to_owned(), "grn_a".to_owned()));
            form.push(("actor_token_type".to_owned(), ACCESS_TOKEN.to_owned()));
            form.push(("more".to_owned(), "ignored".to_owned()));
        });
        assert_eq!(with_actor.unwrap().actor_token.as_deref(), Some("grn_a"));
        assert!(with("subject_token_type", SUBJECT_TOKEN_TYPES[1]).is_ok());
        assert!(with("requested_token_type", ACCESS_TOKEN).is_ok());
    }

    #[test]
    fn other_requests_are_rejected() {
        use InvalidExchange::*;
        for (name, value, reason, code) in [
            ("grant_type", "client_credentials", GrantType, "unsupported_grant_type"),
            ("grant_type", "", Missing("grant_type"), "invalid_request"),
            ("subject_token", "", Missing("subject_token"), "invalid_request"),
            ("subject_token_type", ACCESS_TOKEN, SubjectTokenType, "invalid_request"),
            ("subject_token_type", "", Missing("subject_token_type"), "invalid_request"),
            ("actor_token", "grn_a", ActorTokenType, "invalid_request"),
            ("actor_token_type", ACCESS_TOKEN, ActorTokenType, "invalid_request"),
            ("requested_token_type", SUBJECT_TOKEN_TYPES[0], RequestedTokenType, "invalid_request"),
            ("audience", "https://greenroom.example", Target, "invalid_target"),
            ("resource", "", Missing("resource"), "invalid_request"),
        ] {
            let result = with(name, value).err();
            assert_eq!(result, Some(reason), "{name}: {value}");
            assert_eq!(result.map(|error| error.code()), Some(code), "{name}: {value}");
        }
        let twice = parse(|form| form.push(("subject_token".to_owned(), "d.e.f".to_owned())));
        assert_eq!(twice.err(), Some(Duplicate("subject_token")));
        for resource in [
            format!("https://evil.example/api/v1/organizations/acme/service-accounts/{ACCOUNT}"),
            format!("{ACCOUNTS}acme/service-accounts/{ACCOUNT}/"),
            format!("{ACCOUNTS}acme/service-accounts/{ACCOUNT}?a"),
            format!("{ACCOUNTS}acme/members/{ACCOUNT}"),
            format!("{ACCOUNTS}acme/x/service-accounts/{ACCOUNT}"),
            format!("{ACCOUNTS}../acme/service-accounts/{ACCOUNT}"),
            format!("{ACCOUNTS}/service-accounts/{ACCOUNT}"),
            format!("{ACCOUNTS}acme/service-accounts/tok_01900000-0000-7000-8000-000000000001"),
            format!("{ACCOUNTS}acme/service-accounts/"),
        ] {
            assert_eq!(with("resource", &resource).err(), Some(Target), "{resource}");
        }
    }
}
