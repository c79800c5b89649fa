//! Which calls of a forge that failed may have had an effect, and which can succeed later.

use std::io;
use std::time::Duration;

use greenroom_outbound::OutboundError;
use greenroom_worker::forge::ForgeError;

#[test]
fn a_call_is_unclear_only_if_something_may_have_been_sent() {
    let second = Duration::from_secs(1);
    for (error, is_unclear, is_temporary) in [
        (ForgeError::Timeout, true, true),
        (ForgeError::Unexpected("no number"), true, true),
        (ForgeError::Outbound(OutboundError::Timeout(second)), true, true),
        (ForgeError::Outbound(OutboundError::TooLarge(1)), true, true),
        (ForgeError::Outbound(OutboundError::Lookup(io::Error::other("no such host"))), false, true),
        (ForgeError::RateLimited { retry_after: second }, false, true),
        (ForgeError::Outbound(OutboundError::Redirect(http::StatusCode::FOUND)), false, false),
        (ForgeError::Unauthorized, false, false),
        (ForgeError::NotFound, false, false),
        (ForgeError::Input("the branch"), false, false),
    ] {
        assert_eq!((error.is_unclear(), error.is_temporary()), (is_unclear, is_temporary), "{error:?}");
    }
}
