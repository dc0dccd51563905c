-- ?1 now  ?2 most
SELECT id FROM task WHERE status = 'queued' AND deadline_at <= ?1 ORDER BY deadline_at, id LIMIT ?2
