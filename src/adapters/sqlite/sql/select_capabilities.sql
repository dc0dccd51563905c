-- ?1 heard since
SELECT task_type, metadata, paused,
       (SELECT count(*) FROM capability AS c JOIN node USING (node_id)
        WHERE c.task_type = t.task_type AND node.state = 'serving' AND node.heartbeat_at >= ?1)
FROM task_type AS t ORDER BY task_type
