-- A task after a move that leaves it without an owner, or only asks its owner to stop (?15). Guarded by where it was:
-- ?1 id, ?2 epoch, ?3 status.
UPDATE task
SET status = ?4, attempt = ?5, uncharged = ?6, losses = ?7, suspect = ?8, life = ?9, not_before = ?10,
    deadline_at = ?11, dead_lettered = ?12, last_seq = ?13, error = ?14,
    node_id = iif(?15, node_id, NULL), incarnation = iif(?15, incarnation, NULL),
    claim_token = iif(?15, claim_token, NULL), lease_until = iif(?15, lease_until, NULL),
    finished_at = iif(?4 IN ('succeeded', 'failed', 'cancelled'), ?16, NULL),
    cancel_requested_at = iif(?17, coalesce(cancel_requested_at, ?16), NULL),
    cancel_reason = iif(?17, coalesce(cancel_reason, ?18), NULL)
WHERE id = ?1 AND epoch = ?2 AND status = ?3
