alter table environments
    drop column handover_session_id,
    drop column handover_user_id,
    drop column handover_user_name,
    drop column handover_user_kind,
    drop column handover_context,
    drop column handover_requested_at,
    drop column handover_due_at;
