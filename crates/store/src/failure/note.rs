//! Notes of members about failures with the same fingerprint.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::event::{EventType, NewEvent};
use serde_json::json;

use super::known::FailureNote;
use crate::StoreError;
use crate::deployment::PersonColumns;
use crate::transaction::OrgTransaction;

#[boxed_futures]
impl OrgTransaction {
    /// Writes the note about a fingerprint, or deletes it if the text is empty. Returns the note, or `None` if there
    /// is no such failure.
    pub async fn write_failure_note(
        &mut self,
        fingerprint: &str,
        text: &str,
    ) -> Result<Option<Option<FailureNote>>, StoreError> {
        let organization = self.organization();
        let is_known = sqlx::query_scalar!(
            r#"select exists (select 1 from failures where organization_id = $1 and fingerprint = $2) as "is_known!""#,
            organization,
            fingerprint,
        )
        .fetch_one(self.connection())
        .await?;
        if !is_known {
            return Ok(None);
        }
        let note = match text.is_empty() {
            true => {
                self.delete_failure_note(fingerprint).await?;
                None
            }
            false => self.upsert_failure_note(fingerprint, text).await?,
        };
        let event = NewEvent {
            event_type: EventType::FailureNoteWritten,
            subject: format!("failures/{fingerprint}"),
            before: None,
            after: Some(json!({ "fingerprint": fingerprint, "text": text })),
            reason: None,
        };
        self.record_event(event).await?;
        Ok(Some(note))
    }

    async fn delete_failure_note(&mut self, fingerprint: &str) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "delete from failure_notes where organization_id = $1 and fingerprint = $2",
            organization,
            fingerprint,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    async fn upsert_failure_note(
        &mut self,
        fingerprint: &str,
        text: &str,
    ) -> Result<Option<FailureNote>, StoreError> {
        let organization = self.organization();
        let by = PersonColumns::from(self.actor());
        let row = sqlx::query!(
            "insert into failure_notes (organization_id, fingerprint, text, written_by, written_by_name, written_at)
             values ($1, $2, $3, $4, $5, clock_timestamp())
             on conflict (organization_id, fingerprint) do update
             set text = excluded.text, written_by = excluded.written_by, written_by_name = excluded.written_by_name,
                 written_at = excluded.written_at
             returning text, written_by, written_by_name, written_at",
            organization,
            fingerprint,
            text,
            by.id,
            by.name.unwrap_or_default(),
        )
        .fetch_one(self.connection())
        .await?;
        Ok(Some(FailureNote {
            text: row.text,
            written_by: row.written_by.into(),
            written_by_name: row.written_by_name,
            written_at: row.written_at.to_jiff(),
        }))
    }
}
