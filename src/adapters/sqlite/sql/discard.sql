-- ?1 ids
UPDATE task SET dead_lettered = 0
WHERE id IN (SELECT value FROM json_each(?1)) AND dead_lettered = 1
RETURNING id
