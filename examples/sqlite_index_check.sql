-- SPDX-License-Identifier: MIT
--
-- Filters instead of an index, in SQLite: a log in segments of 1000 rows, and for each a filter of the
-- words in it. A query reads only the segments whose filter says yes. The filters of new rows are made
-- when a segment is complete, by one statement; no index has to be written to for each row.
--
--     sqlite3 <examples/sqlite_index_check.sql
--
.load build/nidus_sqlite

CREATE TABLE log(id INTEGER PRIMARY KEY, word TEXT);
INSERT INTO log SELECT value, 'word' || (value / 7) FROM generate_series(0, 99999);

CREATE TABLE segments(segment INTEGER PRIMARY KEY, words BLOB);
INSERT INTO segments SELECT id / 1000, nidus_build(word, 0.001) FROM log GROUP BY id / 1000;

-- Which segments may have it? 12345 is the 86415th row and six more.
SELECT segment FROM segments WHERE nidus_contains(words, 'word12345');

-- Read those alone, by their range of ids.
SELECT id, word FROM segments JOIN log ON id BETWEEN segment * 1000 AND segment * 1000 + 999
 WHERE nidus_contains(words, 'word12345') AND word = 'word12345' ORDER BY id LIMIT 2;

-- What is nowhere is found nowhere, mostly without reading a row.
SELECT count(*) <= 5 FROM segments WHERE nidus_contains(words, 'heron');

-- Larger segments: one filter for each ten.
SELECT segment / 10, nidus_count(nidus_merge(words)) > 1400 FROM segments GROUP BY 1 LIMIT 2;
