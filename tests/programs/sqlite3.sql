-- Deterministic: all data comes from a linear congruence.
PRAGMA journal_mode = MEMORY;
PRAGMA cache_size = -20000;
BEGIN;
CREATE TABLE item (id INTEGER PRIMARY KEY, kind INTEGER, name TEXT, weight REAL, data BLOB);
WITH RECURSIVE n (i, r) AS (
  SELECT 1, 12345
  UNION ALL
  SELECT i + 1, (r * 1103515245 + 12345) % 2147483648 FROM n WHERE i < 120000
)
INSERT INTO item SELECT i, r % 97, printf('item-%08x-%d', r, i % 13), r / 7.0, zeroblob(r % 200) FROM n;
CREATE INDEX item_kind ON item (kind, weight);
CREATE INDEX item_name ON item (name);
CREATE TABLE link (a INTEGER, b INTEGER, PRIMARY KEY (a, b)) WITHOUT ROWID;
INSERT OR IGNORE INTO link SELECT id, (id * 7919) % 120000 + 1 FROM item;
INSERT OR IGNORE INTO link SELECT id, (id * 104729) % 120000 + 1 FROM item WHERE id % 3 = 0;
COMMIT;
ANALYZE;

SELECT kind, count(*), round(sum(weight), 3), max(name) FROM item GROUP BY kind ORDER BY kind LIMIT 20;
SELECT count(*), sum(length(x.name || y.name))
  FROM link JOIN item AS x ON x.id = link.a JOIN item AS y ON y.id = link.b WHERE x.kind < y.kind;
SELECT id, kind, rank FROM (
  SELECT id, kind, row_number() OVER (PARTITION BY kind ORDER BY weight DESC, id) AS rank FROM item
) WHERE rank = 3 ORDER BY kind LIMIT 10;
SELECT length(group_concat(name, '|')) FROM (SELECT name FROM item ORDER BY name);
SELECT count(*), sum(json_extract(doc, '$.k')) FROM (
  SELECT json_object('k', kind, 'n', name, 'l', json_array(id, weight)) AS doc FROM item
);
WITH RECURSIVE walk (at, step) AS (
  SELECT 1, 0 UNION SELECT link.b, step + 1 FROM walk JOIN link ON link.a = walk.at WHERE step < 12
)
SELECT count(DISTINCT at) FROM walk;

BEGIN;
UPDATE item SET name = upper(name), weight = weight + 1 WHERE kind % 2 = 0;
DELETE FROM item WHERE kind % 5 = 3;
COMMIT;
VACUUM;
PRAGMA integrity_check;
SELECT count(*), sum(id), sum(length(data)) FROM item;
