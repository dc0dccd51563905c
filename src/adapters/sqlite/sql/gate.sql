-- ?1 task_type  ?2 incarnation  ?3 claim_token  ?4 has max_running  ?5 has starts_per_minute  ?6 start of the window
SELECT
    coalesce((SELECT paused FROM task_type WHERE task_type = ?1), 0) AS paused,
    iif(?4, (SELECT count(*) FROM task WHERE status = 'running' AND task_type = ?1), 0) AS running,
    iif(?5, (SELECT count(*) FROM task_attempt WHERE rated = 1 AND task_type = ?1 AND started_at > ?6), 0) AS starts,
    iif(?5, (SELECT min(started_at) FROM task_attempt WHERE rated = 1 AND task_type = ?1 AND started_at > ?6), NULL)
        AS oldest_start,
    (SELECT count(*) FROM task
     WHERE status = 'running' AND task_type = ?1 AND incarnation = ?2 AND claim_token = ?3) AS repeated
