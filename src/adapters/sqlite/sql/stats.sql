SELECT task_type, status, count(*), min(since) FROM (
    SELECT task_type, 'queued' AS status, not_before AS since FROM task WHERE status = 'queued' AND suspect = 0
    UNION ALL
    SELECT task_type, 'queued', not_before FROM task WHERE status = 'queued' AND suspect > 0
    UNION ALL
    SELECT task_type, 'running', started_at FROM task WHERE status = 'running'
)
GROUP BY task_type, status ORDER BY task_type, status
