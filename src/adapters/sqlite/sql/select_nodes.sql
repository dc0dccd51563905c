SELECT node_id, incarnation, data_uuid, lease_ms, state, slots, tree, heartbeat_at, started_at,
       (SELECT json_group_array(task_type ORDER BY task_type) FROM capability AS c WHERE c.node_id = node.node_id) AS types
FROM node ORDER BY node_id
