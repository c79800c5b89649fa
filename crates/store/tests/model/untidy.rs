//! A row that no step leads to, and that the one statement has to leave alone all the same: a lock that is free while
//! somebody waits for it. The machine never leaves one behind; a hand in the database can.

use proptest_state_machine::ReferenceStateMachine;

use crate::case::Case;
use crate::model::Model;
use crate::step::{Act, Step, Way};

pub async fn who_waits_is_not_overtaken() {
    let case = Case::begin().await;
    let claim = Act::Claim { user: 0, lease: None, way: Way::Long };
    let queue = Act::Queue { user: 1, lease: None, deploys: false };
    let mut model = Model::default();
    for act in [claim, queue] {
        model = Model::apply(model, &Step::At { environment: 0, act });
        case.carry_out(model.last.as_ref().unwrap()).await;
    }
    sqlx::query(
        "update environments set session_id = null, holder_id = null, expires_at = null
         where organization_id = $1 and id = $2",
    )
    .bind(case.organization().uuid())
    .bind(case.environments[0].uuid())
    .execute(&case.ground.pool)
    .await
    .unwrap();
    let overtake = Act::Claim { user: 2, lease: None, way: Way::AtOnce };
    let model = Model::apply(model, &Step::At { environment: 0, act: overtake });
    let granted = case.at_once(0, &model.last.as_ref().unwrap().ask).await;
    assert!(granted.is_none(), "the one statement overtakes who waits: {granted:?}");
    case.clear().await;
}
