//! Transferring a session to another member, ahead of the queue. A service account can't be given one: a session of
//! it belongs to a token, and a transfer names a user.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::environment::LockCommand;
use greenroom_domain::id::{SessionId, UserId};
use greenroom_domain::lease::LeaseTerms;
use greenroom_domain::lock::Claim;
use greenroom_domain::owner::Owner;
use greenroom_domain::policy::{Action, is_allowed};
use greenroom_domain::token::TokenKind;
use greenroom_store::Command;
use greenroom_store::lock::NewSession;
use jiff::SignedDuration;
use uuid::Uuid;

use crate::failure::Failure;
use crate::session::Place;
use crate::session::locked::{lock_held, not_active, pipeline};
use crate::session::view::{SessionView, read_view};

/// Ends the session and starts one of the other user, with a new fence, in one transaction.
#[boxed_futures]
pub async fn transfer(
    command: &mut Command,
    place: &Place,
    id: SessionId,
    user_id: &str,
) -> Result<SessionView, Failure> {
    let user: UserId =
        user_id.parse().map_err(|_| Failure::field("/userId", "must be a user's id, `usr_…`"))?;
    pipeline(command, &place.pipeline).await?;
    // The member's row is locked before the environment's, as in all other transactions, so that they can't
    // deadlock.
    let member = command.member_for_update(user).await?;
    let mut locked = lock_held(command, place, id).await?;
    if user == command.principal().user_id {
        return Err(Failure::field("/userId", "is yourself: you hold it already"));
    }
    let member = member.ok_or_else(|| {
        Failure::field("/userId", "is not a member of this organization. `GET …/members` lists them")
    })?;
    let role = command.role_on_pipeline(locked.pipeline_id, (user, member.role)).await?;
    if !is_allowed(role, Action::SessionHold) {
        let least = Action::SessionHold.least_role();
        let detail =
            format!("is {}'s, whose role {role} can't hold a session here: it needs {least}", member.name);
        return Err(Failure::field("/userId", detail));
    }
    let given = command.session(locked.id, id).await?.ok_or_else(Failure::not_found)?;
    let held = locked.state.lock.held.as_ref();
    let length =
        held.map_or(SignedDuration::from_secs(locked.default_lease_seconds), |held| held.lease.length);
    let longest = SignedDuration::from_secs(locked.longest_lease_seconds);
    let to = Claim {
        session: SessionId::from(Uuid::now_v7()),
        owner: Owner::person(user),
        lineage: &[],
        kind: TokenKind::User,
        terms: LeaseTerms { length: length.min(longest), max_length: longest },
        max_stay: locked.max_stay,
        can_force: false,
        places: 0,
        is_at_session_limit: false,
    };
    let new = NewSession {
        user_name: member.name,
        user_kind: TokenKind::User.to_string(),
        context: given.context,
        commit_id: None,
        // The new holder has sent no request.
        credential: None,
        token_name: None,
    };
    match command.apply(&mut locked, LockCommand::Transfer { from: id, to }, &new).await? {
        Ok(_) => read_view(command, &locked, to.session).await,
        // The settling has ended the session, because a request for hand-over was not answered in time.
        Err(_) => Err(not_active(command, &locked, id).await?),
    }
}
