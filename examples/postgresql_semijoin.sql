-- SPDX-License-Identifier: MIT
--
-- A semi-join that asks a filter first: most rows of the large table never reach the join.
--
--     psql -f examples/postgresql_semijoin.sql
--
CREATE EXTENSION IF NOT EXISTS nidus;
SET max_parallel_workers_per_gather = 0;

CREATE TEMPORARY TABLE orders AS
  SELECT g AS id, g::bigint * 7919 % 100003 AS customer FROM generate_series(1, 200000) g;
CREATE TEMPORARY TABLE members AS
  SELECT g::bigint * 613 % 100003 AS customer FROM generate_series(1, 1000) g;
ANALYZE orders, members;

-- What we want to know, without a filter.
SELECT count(*) FROM orders WHERE customer IN (SELECT customer FROM members);

-- A filter of the few, at one false positive in a thousand.
CREATE TEMPORARY TABLE filters AS SELECT nidus_agg(customer, 0.001, 1000) AS members FROM members;
SELECT octet_length(members::bytea) < 2500 AS small FROM filters;

-- The same answer: the filter never drops a row that is in, and the join drops its false positives.
SELECT count(*) FROM orders
 WHERE (SELECT members FROM filters) @> customer
   AND customer IN (SELECT customer FROM members);

-- Of 200,000 rows about 2000 reach the join.
SELECT count(*) BETWEEN 2000 AND 2400 AS few FROM orders WHERE (SELECT members FROM filters) @> customer;

-- A filter that the planner can see tells it so: it plans for as few rows as there are.
SELECT members AS filter FROM filters \gset
CREATE FUNCTION pg_temp.rows_planned(query text) RETURNS float LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
  EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
  RETURN plan -> 0 -> 'Plan' ->> 'Plan Rows';
END $$;
SELECT pg_temp.rows_planned(format('SELECT FROM orders WHERE %L::nidus @> customer', :'filter'))
       BETWEEN 500 AND 5000 AS planned_well;
