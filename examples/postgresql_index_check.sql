-- SPDX-License-Identifier: MIT
--
-- Filters instead of an index: an archive in segments, and for each a filter of its devices. A query
-- reads only the segments whose filter says yes. All filters together take a few bytes per device and
-- segment; an index would take an entry per row, and be written to with each of them.
--
--     psql -f examples/postgresql_index_check.sql
--
CREATE EXTENSION IF NOT EXISTS nidus;

CREATE TEMPORARY TABLE archive (segment integer, device uuid, reading integer) PARTITION BY LIST (segment);
SELECT format('CREATE TEMPORARY TABLE archive_%1$s PARTITION OF archive FOR VALUES IN (%1$s)', g)
  FROM generate_series(1, 20) g \gexec
-- A device reports for a while and is never seen again.
INSERT INTO archive
  SELECT g / 5000 + 1, md5((g / 50)::text)::uuid, g FROM generate_series(0, 99999) g;

CREATE TEMPORARY TABLE segments AS
  SELECT segment, nidus_agg(device, 0.001, 200) AS devices FROM archive GROUP BY segment;

-- Where was this device? The parameter has no type, as from a driver; the filters know theirs.
PREPARE segments_of AS SELECT segment FROM segments WHERE devices @> $1;
EXECUTE segments_of('cfcd208495d565ef66e7dff9f98764da');

-- One query for both: only the partitions that may have the device are read.
CREATE FUNCTION pg_temp.readings_of(wanted uuid) RETURNS SETOF archive LANGUAGE plpgsql AS $$
DECLARE candidate integer;
BEGIN
  FOR candidate IN SELECT segment FROM segments WHERE devices @> wanted LOOP
    RETURN QUERY SELECT * FROM archive WHERE segment = candidate AND device = wanted;
  END LOOP;
END $$;
SELECT segment, count(*), min(reading), max(reading)
  FROM pg_temp.readings_of(md5('777')::uuid) GROUP BY segment;

-- Of the segments that are asked, nearly all have the device; one that was never seen costs nothing.
SELECT count(*) FILTER (WHERE devices @> md5(d::text)::uuid) <= 1050 AS few_segments_asked
  FROM segments, generate_series(0, 1999, 2) d;
SELECT count(*) FROM pg_temp.readings_of(md5('nobody')::uuid);
