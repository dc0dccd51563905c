-- ?1 [{column: value}, …]  ?2 now
INSERT INTO task (id, task_type, owner, status, priority, max_attempts, last_seq, created_at, not_before, deadline_at,
                  timeout_ms, client_role, idempotency_key, fingerprint)
SELECT value ->> 'id', value ->> 'task_type', value ->> 'owner', 'queued', value ->> 'priority',
       value ->> 'max_attempts', 1, ?2, value ->> 'not_before', value ->> 'deadline_at', value ->> 'timeout_ms',
       value ->> 'client_role', value ->> 'idempotency_key', value ->> 'fingerprint'
FROM json_each(?1)
