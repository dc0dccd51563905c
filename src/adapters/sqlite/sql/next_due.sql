-- ?1 task_type  ?2 now  ?3 the most suspicious that may be claimed
SELECT min(due) FROM (
    SELECT (SELECT min(not_before) FROM task INDEXED BY task_queued
            WHERE status = 'queued' AND suspect = 0 AND task_type = ?1 AND priority = p.column1 AND not_before > ?2) AS due
    FROM (VALUES (9), (8), (7), (6), (5), (4), (3), (2), (1), (0)) AS p
    UNION ALL
    SELECT min(not_before) FROM task INDEXED BY task_suspect
    WHERE status = 'queued' AND suspect > 0 AND task_type = ?1 AND suspect <= ?3 AND not_before > ?2
)
