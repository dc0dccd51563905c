-- ?1 [[owner, idempotency_key], …]
SELECT t.owner, t.idempotency_key, t.id, t.status, t.fingerprint
FROM json_each(?1) AS wanted
CROSS JOIN task AS t ON t.owner = wanted.value ->> 0 AND t.idempotency_key = wanted.value ->> 1
