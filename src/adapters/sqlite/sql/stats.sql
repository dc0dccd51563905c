SELECT task_type, status, count(*), min(since) FROM (
    SELECT task_type, status, not_before AS since FROM task WHERE status = 'queued' AND suspect = 0
    UNION ALL
    SELECT task_type, status, not_before FROM task WHERE status = 'queued' AND suspect > 0
    UNION ALL
    SELECT task_type, status, started_at FROM task WHERE status = 'running'
)
GROUP BY task_type, status ORDER BY task_type, status
