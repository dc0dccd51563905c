-- ?1 after this id  ?2 most
WITH page AS MATERIALIZED (
    SELECT id, status, epoch, life, attempt, max_attempts, last_seq, incarnation, lease_until, error, finished_at
    FROM task WHERE id > ?1 ORDER BY id LIMIT ?2
),
event AS (
    SELECT task_id, seq, e.epoch, lag(e.epoch) OVER (PARTITION BY task_id ORDER BY seq) AS epoch_before,
           iif(kind = 'state', data ->> 'status', NULL) AS state,
           iif(kind = 'state', data ->> 'reason', NULL) AS reason
    FROM page CROSS JOIN task_event AS e ON e.task_id = page.id
),
told AS (
    SELECT task_id, count(*) AS event_count, min(seq) AS first_seq, max(seq) AS max_seq,
           sum(epoch < coalesce(epoch_before, epoch)) AS epoch_regressions,
           sum(coalesce(state IN ('succeeded', 'failed', 'cancelled'), 0)) AS terminal_events,
           sum(coalesce(state = 'queued' AND reason = 'replay', 0)) AS replays,
           max(iif(state IS NULL, NULL, seq)) AS last_state_seq
    FROM event GROUP BY task_id
),
tried AS (
    SELECT task_id, sum(a.life = page.life AND (charged = 1 OR ended_at IS NULL)) AS charged_attempts,
           count(*) AS attempts, sum(ended_at IS NULL) AS open_attempts
    FROM page CROSS JOIN task_attempt AS a ON a.task_id = page.id GROUP BY task_id
)
SELECT page.id, page.status, page.epoch, page.attempt, page.max_attempts, page.last_seq,
       coalesce(event_count, 0) AS event_count, first_seq, max_seq, coalesce(epoch_regressions, 0) AS epoch_regressions,
       coalesce(terminal_events, 0) AS terminal_events, coalesce(replays, 0) AS replays,
       (SELECT data ->> 'status' FROM task_event WHERE task_id = page.id AND seq = last_state_seq) AS last_state,
       coalesce(charged_attempts, 0) AS charged_attempts, coalesce(attempts, 0) AS attempts,
       coalesce(open_attempts, 0) AS open_attempts, page.incarnation IS NOT NULL AS has_owner, page.lease_until,
       (SELECT result IS NOT NULL FROM task_body WHERE id = page.id) AS has_result,
       page.error IS NOT NULL AS has_error, page.finished_at
FROM page
LEFT JOIN told ON told.task_id = page.id
LEFT JOIN tried ON tried.task_id = page.id
ORDER BY page.id
