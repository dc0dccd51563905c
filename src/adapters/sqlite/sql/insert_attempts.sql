-- ?1 ids of tasks just claimed  ?2 whether they count towards starts_per_minute  ?3 plugin_sha256
INSERT INTO task_attempt (task_id, epoch, task_type, life, node_id, started_at, rated, plugin_sha256)
SELECT task.id, epoch, task_type, life, node_id, started_at, ?2, ?3
FROM json_each(?1) AS wanted CROSS JOIN task ON task.id = wanted.value
