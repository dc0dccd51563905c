-- ?1 ids  ?2 node_id  ?3 incarnation  ?4 claim_token  ?5 now  ?6 lease in ms
UPDATE task
SET status = 'running', epoch = epoch + 1, attempt = attempt + 1, node_id = ?2, incarnation = ?3, claim_token = ?4,
    lease_until = ?5 + ?6, started_at = ?5, last_seq = last_seq + 1, recorded = 0, stage = NULL, progress = NULL
WHERE id IN (SELECT value FROM json_each(?1)) AND status = 'queued'
