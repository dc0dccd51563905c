-- ?1 as in succeed_tasks
UPDATE task_body SET result = s.value ->> 5 FROM json_each(?1) AS s WHERE task_body.id = s.value ->> 0
