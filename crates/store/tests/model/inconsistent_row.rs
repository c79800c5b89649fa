//! A row that no sequence of steps produces, and that the fast path must not handle: a free lock with a
//! queue. The machine never produces it, but a manual edit of the database can.

use proptest_state_machine::ReferenceStateMachine;

use crate::fixture::ModelFixture;
use crate::model::Model;
use crate::step::{Act, GrantPath, Step};

pub async fn a_waiter_is_not_overtaken() {
    let fixture = ModelFixture::begin().await;
    let claim = Act::Claim { user: 0, lease: None, path: GrantPath::Slow };
    let queue = Act::Queue { user: 1, lease: None, deploys: false };
    let mut model = Model::default();
    for act in [claim, queue] {
        model = Model::apply(model, &Step::At { environment: 0, act });
        fixture.execute(model.last.as_ref().unwrap()).await;
    }
    sqlx::query(
        "update environments set session_id = null, holder_id = null, expires_at = null
         where organization_id = $1 and id = $2",
    )
    .bind(fixture.organization().uuid())
    .bind(fixture.environments[0].uuid())
    .execute(&fixture.shared.pool)
    .await
    .unwrap();
    let overtake = Act::Claim { user: 2, lease: None, path: GrantPath::Fast };
    let model = Model::apply(model, &Step::At { environment: 0, act: overtake });
    let granted = fixture.fast_path(0, &model.last.as_ref().unwrap().request).await;
    assert!(granted.is_none(), "the fast path overtakes a waiter: {granted:?}");
    fixture.clear().await;
}
