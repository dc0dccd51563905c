-- ?1 node_id  ?2 incarnation  ?3 data_uuid  ?4 lease_ms  ?5 state  ?6 slots  ?7 tree  ?8 now
INSERT INTO node (node_id, incarnation, data_uuid, lease_ms, state, slots, tree, heartbeat_at, started_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)
ON CONFLICT (node_id) DO UPDATE
SET started_at = iif(incarnation = excluded.incarnation, started_at, excluded.started_at),
    incarnation = excluded.incarnation, data_uuid = excluded.data_uuid, lease_ms = excluded.lease_ms,
    state = excluded.state, slots = excluded.slots, tree = excluded.tree, heartbeat_at = excluded.heartbeat_at
