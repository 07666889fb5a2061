-- SPDX-License-Identifier: MIT
\echo Use "CREATE EXTENSION nidus" to load this file. \quit

-- Costs are in units of cpu_operator_cost: what copies a whole filter is dear.

-- ------------------------------------------------------------------ the type

CREATE TYPE nidus;

CREATE FUNCTION nidus_in(cstring) RETURNS nidus
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
CREATE FUNCTION nidus_out(nidus) RETURNS cstring
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
CREATE FUNCTION nidus_recv(internal) RETURNS nidus
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
CREATE FUNCTION nidus_send(nidus) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;

-- Fingerprints do not compress, so the server need not try.
CREATE TYPE nidus (
	INPUT = nidus_in, OUTPUT = nidus_out, RECEIVE = nidus_recv, SEND = nidus_send,
	STORAGE = external
);
COMMENT ON TYPE nidus IS 'an approximate set: no false negatives, false positives at a chosen rate';

-- A file is a value without the type of its keys, which it does not know.
CREATE FUNCTION nidus(file bytea, keys regtype) RETURNS nidus
	AS 'MODULE_PATHNAME', 'nidus_from_file' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
CREATE FUNCTION nidus_file(nidus) RETURNS bytea
	AS 'MODULE_PATHNAME', 'nidus_to_file' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE CAST (nidus AS bytea) WITH FUNCTION nidus_file(nidus);

-- ------------------------------------------------------------------ equality

CREATE FUNCTION nidus_eq(nidus, nidus) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
CREATE FUNCTION nidus_ne(nidus, nidus) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
CREATE FUNCTION nidus_hash(nidus) RETURNS integer
	AS 'MODULE_PATHNAME', 'nidus_hash_value' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
CREATE FUNCTION nidus_hash_extended(nidus, bigint) RETURNS bigint
	AS 'MODULE_PATHNAME', 'nidus_hash_value_extended'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
CREATE OPERATOR = (LEFTARG = nidus, RIGHTARG = nidus, FUNCTION = nidus_eq, COMMUTATOR = =,
	NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel, HASHES);
CREATE OPERATOR <> (LEFTARG = nidus, RIGHTARG = nidus, FUNCTION = nidus_ne, COMMUTATOR = <>,
	NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel);
CREATE OPERATOR CLASS nidus_ops DEFAULT FOR TYPE nidus USING hash AS
	OPERATOR 1 =,
	FUNCTION 1 nidus_hash(nidus),
	FUNCTION 2 nidus_hash_extended(nidus, bigint);

-- ------------------------------------------------------------- whole filters

CREATE FUNCTION nidus_empty(fpr double precision DEFAULT 0.01, keys regtype DEFAULT NULL,
		capacity bigint DEFAULT NULL) RETURNS nidus
	AS 'MODULE_PATHNAME', 'nidus_empty_filter' LANGUAGE C STABLE PARALLEL SAFE COST 100;
CREATE FUNCTION nidus_count(nidus) RETURNS bigint
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION nidus_pack(nidus) RETURNS nidus
	AS 'MODULE_PATHNAME', 'nidus_packed' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10000;
CREATE FUNCTION nidus_info(nidus) RETURNS json
	AS 'MODULE_PATHNAME', 'nidus_describe' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
CREATE FUNCTION nidus_union(nidus, nidus) RETURNS nidus
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10000;
CREATE OPERATOR | (LEFTARG = nidus, RIGHTARG = nidus, FUNCTION = nidus_union, COMMUTATOR = |);

-- -------------------------------------------------------------- single keys

-- What the planner asks about lookups.
CREATE FUNCTION nidus_sel(internal, oid, internal, integer) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION nidus_joinsel(internal, oid, internal, smallint, internal) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION nidus_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

-- anyelement: the types of key are checked by the function, which knows the filter's. Texts,
-- and what has no type, are read as the filter's type. Dates and times depend on settings then.

CREATE FUNCTION nidus_contains(nidus, anyelement) RETURNS boolean
	AS 'MODULE_PATHNAME', 'nidus_contains_key'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10 SUPPORT nidus_support;
CREATE FUNCTION nidus_contains(nidus, text) RETURNS boolean
	AS 'MODULE_PATHNAME', 'nidus_contains_key'
	LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10 SUPPORT nidus_support;
CREATE FUNCTION nidus_in_filter(anyelement, nidus) RETURNS boolean
	AS 'MODULE_PATHNAME', 'nidus_key_in'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10 SUPPORT nidus_support;
CREATE FUNCTION nidus_in_filter(text, nidus) RETURNS boolean
	AS 'MODULE_PATHNAME', 'nidus_key_in'
	LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10 SUPPORT nidus_support;
CREATE OPERATOR @> (LEFTARG = nidus, RIGHTARG = anyelement, FUNCTION = nidus_contains,
	COMMUTATOR = <@, RESTRICT = nidus_sel, JOIN = nidus_joinsel);
CREATE OPERATOR @> (LEFTARG = nidus, RIGHTARG = text, FUNCTION = nidus_contains,
	COMMUTATOR = <@, RESTRICT = nidus_sel, JOIN = nidus_joinsel);
CREATE OPERATOR <@ (LEFTARG = anyelement, RIGHTARG = nidus, FUNCTION = nidus_in_filter,
	COMMUTATOR = @>, RESTRICT = nidus_sel, JOIN = nidus_joinsel);
CREATE OPERATOR <@ (LEFTARG = text, RIGHTARG = nidus, FUNCTION = nidus_in_filter,
	COMMUTATOR = @>, RESTRICT = nidus_sel, JOIN = nidus_joinsel);

CREATE FUNCTION nidus_add(nidus, anyelement) RETURNS nidus
	AS 'MODULE_PATHNAME', 'nidus_add_key' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5000;
CREATE FUNCTION nidus_add(nidus, text) RETURNS nidus
	AS 'MODULE_PATHNAME', 'nidus_add_key' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 5000;
CREATE FUNCTION nidus_remove(nidus, anyelement) RETURNS nidus
	AS 'MODULE_PATHNAME', 'nidus_remove_key' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5000;
CREATE FUNCTION nidus_remove(nidus, text) RETURNS nidus
	AS 'MODULE_PATHNAME', 'nidus_remove_key' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 5000;

-- --------------------------------------------------------------- aggregates

CREATE FUNCTION nidus_agg_combine(internal, internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10000;
CREATE FUNCTION nidus_agg_serialize(internal) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5000;
CREATE FUNCTION nidus_agg_deserialize(bytea, internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5000;
CREATE FUNCTION nidus_agg_final(internal) RETURNS nidus
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 5000;

CREATE FUNCTION nidus_union_step(internal, nidus) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10000;
CREATE AGGREGATE nidus_union_agg(nidus) (
	SFUNC = nidus_union_step, STYPE = internal, FINALFUNC = nidus_agg_final,
	COMBINEFUNC = nidus_agg_combine, SERIALFUNC = nidus_agg_serialize,
	DESERIALFUNC = nidus_agg_deserialize, PARALLEL = SAFE
);

CREATE FUNCTION nidus_agg_step(internal, anyelement) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE COST 20;
CREATE FUNCTION nidus_agg_step(internal, anyelement, double precision) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE COST 20;
CREATE FUNCTION nidus_agg_step(internal, anyelement, double precision, bigint) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE COST 20;
CREATE FUNCTION nidus_agg_step(internal, text) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE COST 20;
CREATE FUNCTION nidus_agg_step(internal, text, double precision) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE COST 20;
CREATE FUNCTION nidus_agg_step(internal, text, double precision, bigint) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE COST 20;

CREATE AGGREGATE nidus_agg(key anyelement) (
	SFUNC = nidus_agg_step, STYPE = internal, FINALFUNC = nidus_agg_final,
	COMBINEFUNC = nidus_agg_combine, SERIALFUNC = nidus_agg_serialize,
	DESERIALFUNC = nidus_agg_deserialize, PARALLEL = SAFE
);
CREATE AGGREGATE nidus_agg(key anyelement, fpr double precision) (
	SFUNC = nidus_agg_step, STYPE = internal, FINALFUNC = nidus_agg_final,
	COMBINEFUNC = nidus_agg_combine, SERIALFUNC = nidus_agg_serialize,
	DESERIALFUNC = nidus_agg_deserialize, PARALLEL = SAFE
);
CREATE AGGREGATE nidus_agg(key anyelement, fpr double precision, capacity bigint) (
	SFUNC = nidus_agg_step, STYPE = internal, FINALFUNC = nidus_agg_final,
	COMBINEFUNC = nidus_agg_combine, SERIALFUNC = nidus_agg_serialize,
	DESERIALFUNC = nidus_agg_deserialize, PARALLEL = SAFE
);
CREATE AGGREGATE nidus_agg(key text) (
	SFUNC = nidus_agg_step, STYPE = internal, FINALFUNC = nidus_agg_final,
	COMBINEFUNC = nidus_agg_combine, SERIALFUNC = nidus_agg_serialize,
	DESERIALFUNC = nidus_agg_deserialize, PARALLEL = SAFE
);
CREATE AGGREGATE nidus_agg(key text, fpr double precision) (
	SFUNC = nidus_agg_step, STYPE = internal, FINALFUNC = nidus_agg_final,
	COMBINEFUNC = nidus_agg_combine, SERIALFUNC = nidus_agg_serialize,
	DESERIALFUNC = nidus_agg_deserialize, PARALLEL = SAFE
);
CREATE AGGREGATE nidus_agg(key text, fpr double precision, capacity bigint) (
	SFUNC = nidus_agg_step, STYPE = internal, FINALFUNC = nidus_agg_final,
	COMBINEFUNC = nidus_agg_combine, SERIALFUNC = nidus_agg_serialize,
	DESERIALFUNC = nidus_agg_deserialize, PARALLEL = SAFE
);
