-- SPDX-License-Identifier: MIT
--
-- A semi-join that asks a filter first, in SQLite: rows of the large table that cannot match cost a
-- few nanoseconds, and no search in the other table.
--
--     sqlite3 <examples/sqlite_semijoin.sql
--
.load build/nidus_sqlite

CREATE TABLE orders AS
  SELECT value AS id, value * 7919 % 100003 AS customer FROM generate_series(1, 200000);
CREATE TABLE members AS SELECT value * 613 % 100003 AS customer FROM generate_series(1, 1000);

-- What we want to know, without a filter.
SELECT count(*) FROM orders WHERE customer IN (SELECT customer FROM members);

-- A filter of the few, at one false positive in a thousand.
CREATE TABLE filters AS SELECT nidus_build(customer, 0.001) AS members FROM members;

-- The same answer. Conditions are tested from left to right.
SELECT count(*) FROM orders
 WHERE nidus_contains((SELECT members FROM filters), customer)
   AND customer IN (SELECT customer FROM members);

-- Of 200,000 rows about 2000 pass.
SELECT count(*) BETWEEN 2000 AND 2400 FROM orders
 WHERE nidus_contains((SELECT members FROM filters), customer);
