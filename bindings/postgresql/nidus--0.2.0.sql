-- SPDX-License-Identifier: MIT
\echo Use "CREATE EXTENSION nidus" to load this file. \quit

-- ------------------------------------------------------------------ the type

CREATE TYPE nidus;

CREATE FUNCTION nidus_in(cstring) RETURNS nidus
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION nidus_out(nidus) RETURNS cstring
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION nidus_recv(internal) RETURNS nidus
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION nidus_send(nidus) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

-- Fingerprints do not compress, so the server need not try.
CREATE TYPE nidus (
	INPUT = nidus_in, OUTPUT = nidus_out, RECEIVE = nidus_recv, SEND = nidus_send,
	STORAGE = external
);
COMMENT ON TYPE nidus IS 'an approximate set: no false negatives, false positives at a chosen rate';

CREATE FUNCTION nidus(bytea) RETURNS nidus
	AS 'MODULE_PATHNAME', 'nidus_from_bytea' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE CAST (bytea AS nidus) WITH FUNCTION nidus(bytea);
CREATE CAST (nidus AS bytea) WITHOUT FUNCTION;

-- ------------------------------------------------------------- whole filters

CREATE FUNCTION nidus_empty(fpr double precision DEFAULT 0.01) RETURNS nidus
	AS 'MODULE_PATHNAME', 'nidus_make' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION nidus_count(nidus) RETURNS bigint
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION nidus_info(nidus) RETURNS json
	AS 'MODULE_PATHNAME', 'nidus_describe' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION nidus_union(nidus, nidus) RETURNS nidus
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR | (LEFTARG = nidus, RIGHTARG = nidus, FUNCTION = nidus_union, COMMUTATOR = |);

-- -------------------------------------------------------------- single keys

CREATE FUNCTION nidus_contains(nidus, bigint) RETURNS boolean
	AS 'MODULE_PATHNAME', 'nidus_contains_bigint' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION nidus_in_filter(bigint, nidus) RETURNS boolean
	AS 'MODULE_PATHNAME', 'nidus_in_filter_bigint' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR @> (LEFTARG = nidus, RIGHTARG = bigint, FUNCTION = nidus_contains, COMMUTATOR = <@,
	RESTRICT = contsel, JOIN = contjoinsel);
CREATE OPERATOR <@ (LEFTARG = bigint, RIGHTARG = nidus, FUNCTION = nidus_in_filter, COMMUTATOR = @>,
	RESTRICT = contsel, JOIN = contjoinsel);
CREATE FUNCTION nidus_add(nidus, bigint) RETURNS nidus
	AS 'MODULE_PATHNAME', 'nidus_add_bigint' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION nidus_remove(nidus, bigint) RETURNS nidus
	AS 'MODULE_PATHNAME', 'nidus_remove_bigint' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION nidus_contains(nidus, text) RETURNS boolean
	AS 'MODULE_PATHNAME', 'nidus_contains_bytes' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION nidus_in_filter(text, nidus) RETURNS boolean
	AS 'MODULE_PATHNAME', 'nidus_in_filter_bytes' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR @> (LEFTARG = nidus, RIGHTARG = text, FUNCTION = nidus_contains, COMMUTATOR = <@,
	RESTRICT = contsel, JOIN = contjoinsel);
CREATE OPERATOR <@ (LEFTARG = text, RIGHTARG = nidus, FUNCTION = nidus_in_filter, COMMUTATOR = @>,
	RESTRICT = contsel, JOIN = contjoinsel);
CREATE FUNCTION nidus_add(nidus, text) RETURNS nidus
	AS 'MODULE_PATHNAME', 'nidus_add_bytes' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION nidus_remove(nidus, text) RETURNS nidus
	AS 'MODULE_PATHNAME', 'nidus_remove_bytes' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION nidus_contains(nidus, bytea) RETURNS boolean
	AS 'MODULE_PATHNAME', 'nidus_contains_bytes' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION nidus_in_filter(bytea, nidus) RETURNS boolean
	AS 'MODULE_PATHNAME', 'nidus_in_filter_bytes' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR @> (LEFTARG = nidus, RIGHTARG = bytea, FUNCTION = nidus_contains, COMMUTATOR = <@,
	RESTRICT = contsel, JOIN = contjoinsel);
CREATE OPERATOR <@ (LEFTARG = bytea, RIGHTARG = nidus, FUNCTION = nidus_in_filter, COMMUTATOR = @>,
	RESTRICT = contsel, JOIN = contjoinsel);
CREATE FUNCTION nidus_add(nidus, bytea) RETURNS nidus
	AS 'MODULE_PATHNAME', 'nidus_add_bytes' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION nidus_remove(nidus, bytea) RETURNS nidus
	AS 'MODULE_PATHNAME', 'nidus_remove_bytes' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION nidus_contains(nidus, uuid) RETURNS boolean
	AS 'MODULE_PATHNAME', 'nidus_contains_uuid' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION nidus_in_filter(uuid, nidus) RETURNS boolean
	AS 'MODULE_PATHNAME', 'nidus_in_filter_uuid' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR @> (LEFTARG = nidus, RIGHTARG = uuid, FUNCTION = nidus_contains, COMMUTATOR = <@,
	RESTRICT = contsel, JOIN = contjoinsel);
CREATE OPERATOR <@ (LEFTARG = uuid, RIGHTARG = nidus, FUNCTION = nidus_in_filter, COMMUTATOR = @>,
	RESTRICT = contsel, JOIN = contjoinsel);
CREATE FUNCTION nidus_add(nidus, uuid) RETURNS nidus
	AS 'MODULE_PATHNAME', 'nidus_add_uuid' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION nidus_remove(nidus, uuid) RETURNS nidus
	AS 'MODULE_PATHNAME', 'nidus_remove_uuid' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

-- --------------------------------------------------------------- aggregates

CREATE FUNCTION nidus_agg_combine(internal, internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION nidus_agg_serialize(internal) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION nidus_agg_deserialize(bytea, internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION nidus_agg_final(internal) RETURNS nidus
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION nidus_union_step(internal, nidus) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE nidus_union_agg(nidus) (
	SFUNC = nidus_union_step, STYPE = internal, FINALFUNC = nidus_agg_final,
	COMBINEFUNC = nidus_agg_combine, SERIALFUNC = nidus_agg_serialize,
	DESERIALFUNC = nidus_agg_deserialize, PARALLEL = SAFE
);

CREATE FUNCTION nidus_agg_step(internal, bigint) RETURNS internal
	AS 'MODULE_PATHNAME', 'nidus_agg_bigint' LANGUAGE C STABLE PARALLEL SAFE;
CREATE FUNCTION nidus_agg_step(internal, bigint, double precision) RETURNS internal
	AS 'MODULE_PATHNAME', 'nidus_agg_bigint' LANGUAGE C STABLE PARALLEL SAFE;
CREATE AGGREGATE nidus_agg(bigint) (
	SFUNC = nidus_agg_step, STYPE = internal, FINALFUNC = nidus_agg_final,
	COMBINEFUNC = nidus_agg_combine, SERIALFUNC = nidus_agg_serialize,
	DESERIALFUNC = nidus_agg_deserialize, PARALLEL = SAFE
);
CREATE AGGREGATE nidus_agg(bigint, double precision) (
	SFUNC = nidus_agg_step, STYPE = internal, FINALFUNC = nidus_agg_final,
	COMBINEFUNC = nidus_agg_combine, SERIALFUNC = nidus_agg_serialize,
	DESERIALFUNC = nidus_agg_deserialize, PARALLEL = SAFE
);

CREATE FUNCTION nidus_agg_step(internal, text) RETURNS internal
	AS 'MODULE_PATHNAME', 'nidus_agg_bytes' LANGUAGE C STABLE PARALLEL SAFE;
CREATE FUNCTION nidus_agg_step(internal, text, double precision) RETURNS internal
	AS 'MODULE_PATHNAME', 'nidus_agg_bytes' LANGUAGE C STABLE PARALLEL SAFE;
CREATE AGGREGATE nidus_agg(text) (
	SFUNC = nidus_agg_step, STYPE = internal, FINALFUNC = nidus_agg_final,
	COMBINEFUNC = nidus_agg_combine, SERIALFUNC = nidus_agg_serialize,
	DESERIALFUNC = nidus_agg_deserialize, PARALLEL = SAFE
);
CREATE AGGREGATE nidus_agg(text, double precision) (
	SFUNC = nidus_agg_step, STYPE = internal, FINALFUNC = nidus_agg_final,
	COMBINEFUNC = nidus_agg_combine, SERIALFUNC = nidus_agg_serialize,
	DESERIALFUNC = nidus_agg_deserialize, PARALLEL = SAFE
);

CREATE FUNCTION nidus_agg_step(internal, bytea) RETURNS internal
	AS 'MODULE_PATHNAME', 'nidus_agg_bytes' LANGUAGE C STABLE PARALLEL SAFE;
CREATE FUNCTION nidus_agg_step(internal, bytea, double precision) RETURNS internal
	AS 'MODULE_PATHNAME', 'nidus_agg_bytes' LANGUAGE C STABLE PARALLEL SAFE;
CREATE AGGREGATE nidus_agg(bytea) (
	SFUNC = nidus_agg_step, STYPE = internal, FINALFUNC = nidus_agg_final,
	COMBINEFUNC = nidus_agg_combine, SERIALFUNC = nidus_agg_serialize,
	DESERIALFUNC = nidus_agg_deserialize, PARALLEL = SAFE
);
CREATE AGGREGATE nidus_agg(bytea, double precision) (
	SFUNC = nidus_agg_step, STYPE = internal, FINALFUNC = nidus_agg_final,
	COMBINEFUNC = nidus_agg_combine, SERIALFUNC = nidus_agg_serialize,
	DESERIALFUNC = nidus_agg_deserialize, PARALLEL = SAFE
);

CREATE FUNCTION nidus_agg_step(internal, uuid) RETURNS internal
	AS 'MODULE_PATHNAME', 'nidus_agg_uuid' LANGUAGE C STABLE PARALLEL SAFE;
CREATE FUNCTION nidus_agg_step(internal, uuid, double precision) RETURNS internal
	AS 'MODULE_PATHNAME', 'nidus_agg_uuid' LANGUAGE C STABLE PARALLEL SAFE;
CREATE AGGREGATE nidus_agg(uuid) (
	SFUNC = nidus_agg_step, STYPE = internal, FINALFUNC = nidus_agg_final,
	COMBINEFUNC = nidus_agg_combine, SERIALFUNC = nidus_agg_serialize,
	DESERIALFUNC = nidus_agg_deserialize, PARALLEL = SAFE
);
CREATE AGGREGATE nidus_agg(uuid, double precision) (
	SFUNC = nidus_agg_step, STYPE = internal, FINALFUNC = nidus_agg_final,
	COMBINEFUNC = nidus_agg_combine, SERIALFUNC = nidus_agg_serialize,
	DESERIALFUNC = nidus_agg_deserialize, PARALLEL = SAFE
);

