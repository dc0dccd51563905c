-- ?1 ended before  ?2 most
SELECT id FROM task WHERE finished_at < ?1 AND finished_at IS NOT NULL AND dead_lettered = 0
ORDER BY finished_at LIMIT ?2
