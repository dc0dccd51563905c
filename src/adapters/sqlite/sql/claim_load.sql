-- ?1 ids
SELECT t.id, t.task_type, t.status, t.epoch, t.attempt, t.max_attempts, t.uncharged, t.losses, t.suspect,
       t.cancel_requested_at IS NOT NULL AS cancel_requested, t.life, t.not_before, t.deadline_at, t.dead_lettered,
       t.last_seq, t.recorded, t.node_id, t.incarnation, t.claim_token, t.lease_until, t.owner, t.priority,
       t.timeout_ms, t.client_role, t.started_at, b.payload, b.model_spec, b.inference_params, b.checkpoint
FROM json_each(?1) AS wanted
CROSS JOIN task AS t ON t.id = wanted.value
CROSS JOIN task_body AS b ON b.id = t.id
