-- ?1 leases that ended by then  ?2 most
SELECT id FROM task WHERE status = 'running' AND lease_until <= ?1 ORDER BY lease_until, id LIMIT ?2
