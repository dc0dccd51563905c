-- ?1 as in succeed_tasks  ?2 now
UPDATE task_attempt SET ended_at = ?2, outcome = 'succeeded', charged = 1, finish_token = s.value ->> 6
FROM json_each(?1) AS s
WHERE task_attempt.task_id = s.value ->> 0 AND task_attempt.epoch = s.value ->> 1
