//! The settings of the limits. A limit of 0 is off.

use std::net::IpAddr;
use std::time::Duration;

use clap::{Args, ValueEnum};
use ipnet::IpNet;

/// How long a request may take from the end of its body until its response begins.
pub const DEADLINE: Duration = Duration::from_secs(15);

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    On,
    Off,
}

#[derive(Clone, Debug, Args)]
pub struct LimitSettings {
    /// How many database connections this server may open for requests. One organization can use half of them
    /// concurrently, and a further quarter if no other organization uses that. Its members together can use three
    /// quarters of its half, and one person half of it.
    #[arg(long, env = "GREENROOM_DATABASE_CONNECTIONS", default_value_t = DEFAULTS.database_connections)]
    pub database_connections: u32,
    /// How many requests this server handles concurrently; further requests get a 503 response.
    #[arg(long, env = "GREENROOM_MAX_IN_FLIGHT", default_value_t = DEFAULTS.max_in_flight)]
    pub max_in_flight: usize,
    /// How many heartbeats, step starts, completions, renewals and releases it handles concurrently, in
    /// addition to `--max-in-flight`.
    #[arg(long, env = "GREENROOM_RESERVED_IN_FLIGHT", default_value_t = DEFAULTS.reserved_in_flight)]
    pub reserved_in_flight: usize,
    /// How many database connections are reserved for those requests, in addition to
    /// `--database-connections`. One organization can use half of them concurrently.
    #[arg(long = "reserved-database-connections", env = "GREENROOM_RESERVED_DATABASE_CONNECTIONS", default_value_t = DEFAULTS.reserved_connections)]
    pub reserved_connections: u32,
    /// How many requests of all organizations may wait for a job or a turn concurrently.
    #[arg(long, env = "GREENROOM_MAX_WAITING", default_value_t = DEFAULTS.max_waiting)]
    pub max_waiting: usize,
    /// How many connections may be open; further connections wait to be accepted.
    #[arg(long, env = "GREENROOM_MAX_CONNECTIONS", default_value_t = DEFAULTS.max_connections)]
    pub max_connections: usize,
    /// Memory for request bodies that are being received, in MiB.
    #[arg(long, env = "GREENROOM_BODY_MEMORY_MIB", default_value_t = DEFAULTS.body_memory_mib)]
    pub body_memory_mib: usize,
    /// `off`: no limits per token, person, organization and address. For measurements.
    #[arg(long, env = "GREENROOM_LIMITS", value_enum, default_value = "on")]
    pub limits: Switch,
    /// Concurrent requests, per token.
    #[arg(long, env = "GREENROOM_TOKEN_IN_FLIGHT", default_value_t = DEFAULTS.token_in_flight)]
    pub token_in_flight: u32,
    /// Requests per second, per token.
    #[arg(long, env = "GREENROOM_TOKEN_RATE", default_value_t = DEFAULTS.token_rate)]
    pub token_rate: u32,
    /// The size of a burst of such requests.
    #[arg(long, env = "GREENROOM_TOKEN_BURST", default_value_t = DEFAULTS.token_burst)]
    pub token_burst: u32,
    /// Open event and log streams, per token.
    #[arg(long, env = "GREENROOM_TOKEN_STREAMS", default_value_t = DEFAULTS.token_streams)]
    pub token_streams: u32,
    /// Concurrent uploads of artifacts and caches, per token.
    #[arg(long, env = "GREENROOM_TOKEN_UPLOADS", default_value_t = DEFAULTS.token_uploads)]
    pub token_uploads: u32,
    /// Concurrent downloads of logs, artifacts and caches, per token.
    #[arg(long, env = "GREENROOM_TOKEN_DOWNLOADS", default_value_t = DEFAULTS.token_downloads)]
    pub token_downloads: u32,
    /// Concurrent searches of logs, per token.
    #[arg(long, env = "GREENROOM_TOKEN_SEARCHES", default_value_t = DEFAULTS.token_searches)]
    pub token_searches: u32,
    /// Concurrent requests, per person: all tokens and browser sessions together.
    #[arg(long, env = "GREENROOM_PERSON_IN_FLIGHT", default_value_t = DEFAULTS.person_in_flight)]
    pub person_in_flight: u32,
    /// Requests per second, per person.
    #[arg(long, env = "GREENROOM_PERSON_RATE", default_value_t = DEFAULTS.person_rate)]
    pub person_rate: u32,
    /// The size of a burst of such requests.
    #[arg(long, env = "GREENROOM_PERSON_BURST", default_value_t = DEFAULTS.person_burst)]
    pub person_burst: u32,
    /// Open event and log streams, per person.
    #[arg(long, env = "GREENROOM_PERSON_STREAMS", default_value_t = DEFAULTS.person_streams)]
    pub person_streams: u32,
    /// Concurrent downloads of logs, artifacts and caches, per person.
    #[arg(long, env = "GREENROOM_PERSON_DOWNLOADS", default_value_t = DEFAULTS.person_downloads)]
    pub person_downloads: u32,
    /// Concurrent searches of logs, per person.
    #[arg(long, env = "GREENROOM_PERSON_SEARCHES", default_value_t = DEFAULTS.person_searches)]
    pub person_searches: u32,
    /// How much of the logs a person can search per second, in MiB, and 16 times as much after a pause.
    #[arg(long, env = "GREENROOM_PERSON_SEARCH_MIB", default_value_t = DEFAULTS.person_search_mib)]
    pub person_search_mib: u32,
    /// Concurrent requests, per organization. This and the other limits of an organization count its runners
    /// separately from its members.
    #[arg(long, env = "GREENROOM_ORGANIZATION_IN_FLIGHT", default_value_t = DEFAULTS.organization_in_flight)]
    pub organization_in_flight: u32,
    /// Requests per second, per organization.
    #[arg(long, env = "GREENROOM_ORGANIZATION_RATE", default_value_t = DEFAULTS.organization_rate)]
    pub organization_rate: u32,
    /// The size of a burst of such requests.
    #[arg(long, env = "GREENROOM_ORGANIZATION_BURST", default_value_t = DEFAULTS.organization_burst)]
    pub organization_burst: u32,
    /// Open event and log streams, per organization.
    #[arg(long, env = "GREENROOM_ORGANIZATION_STREAMS", default_value_t = DEFAULTS.organization_streams)]
    pub organization_streams: u32,
    /// Runners' requests that wait for a job, per organization. Each runner may have one more than its
    /// concurrency.
    #[arg(long, env = "GREENROOM_ORGANIZATION_POLLS", default_value_t = DEFAULTS.organization_polls)]
    pub organization_polls: u32,
    /// Concurrent uploads of artifacts and caches, per organization.
    #[arg(long, env = "GREENROOM_ORGANIZATION_UPLOADS", default_value_t = DEFAULTS.organization_uploads)]
    pub organization_uploads: u32,
    /// Concurrent downloads of logs, artifacts and caches, per organization.
    #[arg(long, env = "GREENROOM_ORGANIZATION_DOWNLOADS", default_value_t = DEFAULTS.organization_downloads)]
    pub organization_downloads: u32,
    /// Concurrent searches of logs, per organization.
    #[arg(long, env = "GREENROOM_ORGANIZATION_SEARCHES", default_value_t = DEFAULTS.organization_searches)]
    pub organization_searches: u32,
    /// How much of its logs an organization can search per second, in MiB. After a pause it can search 16
    /// times as much.
    #[arg(long, env = "GREENROOM_ORGANIZATION_SEARCH_MIB", default_value_t = DEFAULTS.organization_search_mib)]
    pub organization_search_mib: u32,
    /// Memory for request bodies that are being received, per organization, in MiB. A person can use half of
    /// it, and all members three quarters.
    #[arg(long, env = "GREENROOM_ORGANIZATION_BODY_MEMORY_MIB", default_value_t = DEFAULTS.organization_body_memory_mib)]
    pub organization_body_memory_mib: usize,
    /// Concurrent requests without a valid token, per address.
    #[arg(long, env = "GREENROOM_ADDRESS_IN_FLIGHT", default_value_t = DEFAULTS.address_in_flight)]
    pub address_in_flight: u32,
    /// Requests without a valid token per second, per address.
    #[arg(long, env = "GREENROOM_ADDRESS_RATE", default_value_t = DEFAULTS.address_rate)]
    pub address_rate: u32,
    /// The size of a burst of such requests.
    #[arg(long, env = "GREENROOM_ADDRESS_BURST", default_value_t = DEFAULTS.address_burst)]
    pub address_burst: u32,
    /// Failed authentications per second, per address. Each costs a database query; a repeated token counts
    /// once a minute.
    #[arg(long, env = "GREENROOM_ADDRESS_FAILURES", default_value_t = DEFAULTS.address_failures)]
    pub address_failures: u32,
    /// Open connections per address that is not a trusted proxy's.
    #[arg(long, env = "GREENROOM_ADDRESS_CONNECTIONS", default_value_t = DEFAULTS.address_connections)]
    pub address_connections: u32,
    /// A proxy whose `X-Forwarded-For` is trusted, as an address or a network (`10.0.0.0/8`). Can be
    /// repeated.
    #[arg(long, env = "GREENROOM_TRUSTED_PROXY", value_name = "CIDR", value_delimiter = ',', value_parser = network)]
    pub trusted_proxy: Vec<IpNet>,
}

const DEFAULTS: LimitSettings = LimitSettings {
    database_connections: 16,
    max_in_flight: 512,
    reserved_in_flight: 64,
    reserved_connections: 8,
    max_waiting: 8_000,
    max_connections: 10_000,
    body_memory_mib: 64,
    limits: Switch::On,
    token_in_flight: 64,
    token_rate: 200,
    token_burst: 500,
    token_streams: 100,
    token_uploads: 8,
    token_downloads: 16,
    token_searches: 1,
    // More than one token may use, so that one program does not take its person's whole share.
    person_in_flight: 80,
    person_rate: 250,
    person_burst: 625,
    person_streams: 120,
    person_downloads: 20,
    person_searches: 2,
    person_search_mib: 32,
    organization_in_flight: 256,
    organization_rate: 1_000,
    organization_burst: 2_500,
    organization_streams: 400,
    organization_polls: 1_000,
    organization_uploads: 8,
    organization_downloads: 64,
    organization_searches: 4,
    organization_search_mib: 64,
    organization_body_memory_mib: 16,
    address_in_flight: 64,
    address_rate: 200,
    address_burst: 500,
    address_failures: 20,
    address_connections: 8_000,
    trusted_proxy: Vec::new(),
};

impl Default for LimitSettings {
    fn default() -> Self {
        DEFAULTS
    }
}

impl LimitSettings {
    /// Sets the limits per token, person, organization and address to 0 if the limits are off.
    #[must_use]
    pub fn effective(self) -> Self {
        match self.limits {
            Switch::On => self,
            Switch::Off => Self {
                limits: Switch::Off,
                database_connections: self.database_connections,
                max_in_flight: self.max_in_flight,
                reserved_in_flight: self.reserved_in_flight,
                reserved_connections: self.reserved_connections,
                max_waiting: self.max_waiting,
                max_connections: self.max_connections,
                body_memory_mib: self.body_memory_mib,
                trusted_proxy: self.trusted_proxy,
                token_in_flight: 0,
                token_rate: 0,
                token_burst: 0,
                token_streams: 0,
                token_uploads: 0,
                token_downloads: 0,
                token_searches: 0,
                person_in_flight: 0,
                person_rate: 0,
                person_burst: 0,
                person_streams: 0,
                person_downloads: 0,
                person_searches: 0,
                person_search_mib: 0,
                organization_in_flight: 0,
                organization_rate: 0,
                organization_burst: 0,
                organization_streams: 0,
                organization_polls: 0,
                organization_uploads: 0,
                organization_downloads: 0,
                organization_searches: 0,
                organization_search_mib: 0,
                organization_body_memory_mib: 0,
                address_in_flight: 0,
                address_rate: 0,
                address_burst: 0,
                address_failures: 0,
                address_connections: 0,
            },
        }
    }
}

/// Parses an address or a network.
pub fn network(text: &str) -> Result<IpNet, String> {
    let address = || text.parse::<IpAddr>().map(IpNet::from).ok();
    let parsed = text.parse().ok().or_else(address);
    parsed.ok_or_else(|| "must be an address or a network, such as 10.0.0.0/8".to_owned())
}
