-- Values: text and files, capacity, equality, errors and their codes.
\set VERBOSITY default

-- As text: the type of the keys and the file.
SELECT left(nidus_agg(42)::text, 22);
SELECT f::text::nidus = f, nidus(f::bytea, 'integer') = f, octet_length(f::bytea) >= 256
  FROM (SELECT nidus_agg(g) AS f FROM generate_series(1, 1000) g) t;
SELECT nidus(nidus_agg('heron'::text)::bytea, 'uuid') = nidus_agg('heron'::text);
SELECT 'heron'::nidus;
SELECT 'heron:\x00'::nidus;
SELECT 'bigint:\x0'::nidus;
SELECT 'bigint:\xzz'::nidus;
SELECT 'bigint:\x00'::nidus;
SELECT nidus('\x00', 'bigint');
SELECT nidus(f::bytea, 'box') FROM (SELECT nidus_agg(1) AS f) t;

-- A capacity: no larger than it must be, and no room to grow.
SELECT f @> 1000, nidus_info(f) ->> 'capacity', octet_length(f::bytea) < 1600
  FROM (SELECT nidus_agg(g, 0.01, 1000) AS f FROM generate_series(1, 1000) g) t;
SELECT nidus_agg(1, 0.01, 0);
SELECT nidus_agg(1, 0.01, -5);
SELECT nidus_agg(1, 0.01, 9223372036854775807);
SELECT nidus_agg(1, NULL, NULL) = nidus_agg(1);
SELECT nidus_count(a | b) FROM (SELECT nidus_agg(g, 0.001, 500) AS a FROM generate_series(1, 200) g) t,
       (SELECT nidus_agg(g, 0.001, 500) AS b FROM generate_series(101, 300) g) u;

-- Equal is what has the same keys, however it came about.
CREATE TABLE parts AS SELECT g % 3 AS part, nidus_agg(g) AS filter FROM generate_series(1, 3000) g GROUP BY 1;
SELECT a.filter | b.filter = b.filter | a.filter FROM parts a, parts b WHERE a.part = 1 AND b.part = 2;
SELECT (a.filter | b.filter) = (b.filter | a.filter), a.filter <> b.filter, a.filter = b.filter
  FROM parts a, parts b WHERE a.part = 1 AND b.part = 2;
SELECT nidus_union_agg(filter) = (SELECT nidus_agg(g) FROM generate_series(1, 3000) g),
       nidus_union_agg(filter) = (SELECT nidus_agg(g ORDER BY g DESC) FROM generate_series(1, 3000) g),
       nidus_union_agg(filter) = (SELECT nidus_agg(g) FROM generate_series(1, 3001) g)
  FROM parts;
SELECT nidus_remove(nidus_add(filter, 99999), 99999) = filter FROM parts;
SELECT nidus_agg(1, 0.01) = nidus_agg(1, 0.001), nidus_agg(1, 0.01, 10) = nidus_agg(1, 0.01, 9999),
       nidus_agg(1) = nidus_agg(date '2000-01-02');
SELECT nidus_hash(a.filter | b.filter) = nidus_hash(b.filter | a.filter),
       nidus_hash_extended(a.filter, 0) & 4294967295 = nidus_hash(a.filter)::bigint & 4294967295,
       nidus_hash_extended(a.filter, 1) <> nidus_hash_extended(a.filter, 2)
  FROM parts a, parts b WHERE a.part = 1 AND b.part = 2;
SELECT count(*) FROM (SELECT DISTINCT filter FROM (SELECT * FROM parts UNION ALL SELECT * FROM parts) t) u;
SELECT count(*) FROM parts a JOIN parts b USING (filter);
CREATE INDEX ON parts USING hash (filter);
SET enable_seqscan = off;
SELECT part FROM parts WHERE filter = (SELECT filter FROM parts WHERE part = 2);
RESET enable_seqscan;
ANALYZE parts;

-- Codes.
CREATE FUNCTION code_of(query text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN EXECUTE query; RETURN 'none'; EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE; END $$;
SELECT code_of('SELECT nidus_agg(1) @> uuid ''550e8400-e29b-41d4-a716-446655440000''') AS mismatch,
       code_of('SELECT nidus_agg(1) @> ''x''') AS unreadable,
       code_of('SELECT nidus_agg(1, 7)') AS rate,
       code_of('SELECT ''x''::nidus') AS syntax,
       code_of('SELECT nidus(''\x00'', ''text'')') AS no_filter,
       code_of('SELECT nidus_agg(g, 0.01, 10) FROM generate_series(1, 1000) g') AS full,
       code_of('SELECT nidus_agg(1) | nidus_agg(1, 0.001)') AS rates,
       code_of('SELECT nidus_agg(1, 0.01, 100) | nidus_agg(1, 0.01, 9999)') AS capacities,
       code_of('SELECT nidus_agg(1, 0.01, 100) | nidus_agg(1)') AS capacity_and_none;
