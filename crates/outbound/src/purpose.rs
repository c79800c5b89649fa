//! What requests are for.

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// An OpenID provider, at which people sign in.
    Provider,
    /// An issuer of tokens, which a trust policy names.
    Issuer,
    /// A step registry.
    Registry,
    Forge,
    Model,
}

impl Purpose {
    pub const ALL: [Self; 5] = [Self::Provider, Self::Issuer, Self::Registry, Self::Forge, Self::Model];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Provider => "provider",
            Self::Issuer => "issuer",
            Self::Registry => "registry",
            Self::Forge => "forge",
            Self::Model => "model",
        }
    }
}
