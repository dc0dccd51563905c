-- ?1 ids
SELECT t.id, task_type, status, epoch, attempt, max_attempts, uncharged, losses, suspect,
       cancel_requested_at IS NOT NULL AS cancel_requested, life, not_before, deadline_at, dead_lettered, last_seq,
       recorded, node_id, incarnation, claim_token, lease_until
FROM json_each(?1) AS wanted CROSS JOIN task AS t ON t.id = wanted.value
