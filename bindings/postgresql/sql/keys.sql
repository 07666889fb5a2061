-- Types of keys: what is equal to its type's = is one key, and no other type is taken for it.
CREATE EXTENSION nidus;

-- Integers of all sizes are one type, without casts.
CREATE TABLE numbers (small smallint, medium integer, large bigint);
INSERT INTO numbers SELECT g, g, g FROM generate_series(-100, 100) g;
SELECT bool_and(f @> small), bool_and(f @> medium), bool_and(f @> large), bool_and(small <@ f)
  FROM numbers, (SELECT nidus_agg(medium, 1e-6) AS f FROM numbers) t;
SELECT nidus_agg(small) = nidus_agg(medium), nidus_agg(medium) = nidus_agg(large) FROM numbers;
SELECT nidus_agg(large, 1e-6) @> 100, nidus_agg(large, 1e-6) @> 101 FROM numbers;

-- Equal values that are written in different ways.
SELECT nidus_agg(1.50) @> 1.5, nidus_agg(100::numeric) @> 100.000, nidus_agg('NaN'::numeric) @> 'NaN'::numeric,
       nidus_agg(0.0) @> 0::numeric, nidus_agg('-Infinity'::numeric) @> '-Infinity'::numeric,
       nidus_agg(1.5, 1e-6) @> 15::numeric, nidus_agg(1e-6::numeric, 1e-6) @> 1e6::numeric;
SELECT nidus_agg(inet '10.1.2.3') @> inet '10.1.2.3/32', nidus_agg(cidr '10.0.0.0/8') @> inet '10.0.0.0/8',
       nidus_agg(inet '::1', 1e-6) @> inet '::2', nidus_agg(inet '10.0.0.1/8', 1e-6) @> inet '10.0.0.1/9',
       nidus_agg(inet '::ffff:1.2.3.4', 1e-6) @> inet '1.2.3.4';
SELECT nidus_agg(timestamptz '2026-11-17 20:00+02') @> timestamptz '2026-11-17 18:00Z',
       nidus_agg(date 'infinity') @> date 'infinity', nidus_agg(date '-infinity', 1e-6) @> date 'infinity',
       nidus_agg(timestamp '2000-01-01') @> timestamp '2000-01-01 00:00:00.000000';
SELECT nidus_agg('a'::varchar) @> 'a'::text, nidus_agg('a'::char(5)) @> 'a'::text,
       nidus_agg('a'::name) @> 'a', nidus_agg(''::text) @> '', nidus_agg(''::bytea) @> ''::bytea;

-- A domain is what it is made of.
CREATE DOMAIN price AS numeric CHECK (VALUE > 0);
CREATE DOMAIN code AS varchar(8);
SELECT nidus_agg(9.90::price) @> 9.9, nidus_agg(9.9) @> 9.90::price, nidus_agg('x'::code) @> 'x',
       nidus_agg('x') @> 'x'::code;

-- What has no type is read as the filter's type; so is text.
SELECT nidus_agg(uuid '550e8400-e29b-41d4-a716-446655440000') @> '550E8400E29B41D4A716446655440000';
SELECT nidus_agg('ab'::bytea) @> '\x6162', nidus_agg('ab'::bytea) @> 'ab', nidus_agg('ab'::bytea) @> 'ab'::text;
SELECT nidus_agg(42) @> ' 42 ', nidus_agg(date '2026-11-17') @> 'November 17, 2026';
SELECT nidus_agg(42) @> 'heron';
SELECT nidus_agg(uuid '550e8400-e29b-41d4-a716-446655440000') @> '550e8400';
SELECT nidus_agg(42) @> '99999999999999999999';

-- Every other difference is an error that names both.
SELECT nidus_agg(42) @> uuid '550e8400-e29b-41d4-a716-446655440000';
SELECT nidus_agg('42'::text) @> 42;
SELECT nidus_agg('a'::text) @> 'a'::bytea;
SELECT nidus_agg(42) @> 42.0;
SELECT nidus_agg(date '2026-11-17') @> timestamp '2026-11-17';
SELECT timestamptz '2026-11-17' <@ nidus_agg(timestamp '2026-11-17');
SELECT nidus_add(nidus_agg(42), 42.5);
SELECT nidus_remove(nidus_agg(42), inet '::1');
SELECT nidus_agg(42) | nidus_agg('42'::text);
SELECT nidus_union_agg(f) FROM (SELECT nidus_agg(42) AS f UNION ALL SELECT nidus_agg(date '2026-11-17')) t;

-- Types that are no keys.
SELECT nidus_agg(0.5::float8);
SELECT nidus_agg(42) @> true;
SELECT nidus_agg(NULL::json);
SELECT nidus_empty(0.01, 'point');
SELECT nidus_empty(0.01, 0::oid::regtype);
SELECT nidus_agg(ARRAY[1, 2]);

-- An empty filter has any type until its first key, unless it is told.
SELECT nidus_empty() @> 1, nidus_empty() @> 'x', nidus_info(nidus_empty()) ->> 'keys';
SELECT nidus_info(nidus_add(nidus_empty(), date '2026-11-17')) ->> 'keys';
SELECT nidus_info(nidus_empty(0.01, 'varchar')) ->> 'keys', nidus_info(nidus_empty(keys => 'int')) ->> 'keys';
SELECT nidus_add(nidus_empty(0.01, 'uuid'), '550e8400-e29b-41d4-a716-446655440000')
       @> uuid '550e8400-e29b-41d4-a716-446655440000';
SELECT nidus_add(nidus_empty(0.01, 'uuid'), 'heron');
SELECT nidus_info(nidus_empty() | nidus_agg(1)) ->> 'keys', nidus_info(nidus_agg('a') | nidus_empty()) ->> 'keys';

-- Collations that are not deterministic call different bytes equal.
CREATE COLLATION ignore_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
SELECT nidus_agg(word COLLATE ignore_case) FROM (VALUES ('Heron')) t(word);
SELECT nidus_agg('heron'::text) @> ('HERON' COLLATE ignore_case);
SELECT ('HERON' COLLATE ignore_case) <@ nidus_agg('heron'::text);
SELECT nidus_agg(lower(word COLLATE ignore_case) COLLATE "C") @> 'heron' FROM (VALUES ('Heron')) t(word);
CREATE TABLE birds (a text COLLATE "C", b text COLLATE "POSIX");
INSERT INTO birds VALUES ('her', 'on');
SELECT nidus_agg(a || b) FROM birds;
SELECT nidus_agg((a || b) COLLATE "C") @> 'heron' FROM birds;

-- Arrays of keys.
SELECT nidus_agg(g) @> ALL (ARRAY[1, 2, 3]), nidus_agg(g, 1e-6) @> ANY (ARRAY[11, 12]),
       nidus_agg(g) @> ALL ('{1,2}'::bigint[])
  FROM generate_series(1, 10) g;
