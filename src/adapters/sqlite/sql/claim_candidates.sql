-- ?1 task_type  ?2 now  ?3 most
-- The loops run in the order written: priorities from the highest, each one's due rows from the oldest. So the limit is
-- reached after as many rows as it says, whatever else waits.
SELECT t.id, t.task_type, t.status, t.epoch, t.attempt, t.max_attempts, t.uncharged, t.losses, t.suspect,
       t.cancel_requested_at IS NOT NULL AS cancel_requested, t.life, t.not_before, t.deadline_at, t.dead_lettered,
       t.last_seq, t.recorded, t.node_id, t.incarnation, t.claim_token, t.lease_until, t.owner, t.priority,
       t.timeout_ms, t.client_role, t.started_at, b.payload, b.model_spec, b.inference_params, b.checkpoint
FROM (VALUES (9), (8), (7), (6), (5), (4), (3), (2), (1), (0)) AS p
CROSS JOIN task AS t INDEXED BY task_queued
    ON t.status = 'queued' AND t.suspect = 0 AND t.task_type = ?1 AND t.priority = p.column1 AND t.not_before <= ?2
CROSS JOIN task_body AS b ON b.id = t.id
LIMIT ?3
