SELECT t.id, t.task_type, t.owner, t.status, t.stage, t.progress, t.priority, t.attempt, t.max_attempts, t.epoch,
       t.node_id, t.lease_until, b.result, t.error, t.created_at, t.not_before, t.started_at, t.finished_at,
       t.deadline_at, t.timeout_ms, t.cancel_requested_at, t.cancel_reason, t.dead_lettered, t.last_seq, b.metadata,
       b.payload, b.model_spec, b.inference_params
FROM task AS t JOIN task_body AS b ON b.id = t.id
