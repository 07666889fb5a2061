/* SPDX-License-Identifier: MIT
 *
 * Keys of the PostgreSQL extension: which types there are, and what is hashed of each.
 *
 *     smallint, integer, bigint      the number, as the library's 64-bit integer
 *     date, timestamp, timestamptz   the same, with the server's count of days or microseconds
 *     text, varchar, char            the bytes, in the encoding of the database
 *     bytea, uuid                    the bytes
 *     numeric                        its shortest text: 1.0 and 1.00 are one key
 *     inet, cidr                     4 or 6, the length of the mask, the address
 */
#include "nidus_pg.h"

#include <sys/socket.h> /* AF_INET, which utils/inet.h counts from */

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/inet.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

static const struct {
	const char *name;
	Oid type; /* whose input function reads a text */
} kinds[KINDS] = {
	[KIND_ANY] = { "any", InvalidOid },
	[KIND_BIGINT] = { "bigint", INT8OID },
	[KIND_TEXT] = { "text", TEXTOID },
	[KIND_BYTEA] = { "bytea", BYTEAOID },
	[KIND_UUID] = { "uuid", UUIDOID },
	[KIND_NUMERIC] = { "numeric", NUMERICOID },
	[KIND_DATE] = { "date", DATEOID },
	[KIND_TIMESTAMP] = { "timestamp", TIMESTAMPOID },
	[KIND_TIMESTAMPTZ] = { "timestamptz", TIMESTAMPTZOID },
	[KIND_INET] = { "inet", INETOID },
};

const char *kind_name(enum key_kind kind)
{
	return kinds[kind].name;
}

enum key_kind kind_by_name(const char *name, size_t len)
{
	int kind = 0;
	while (kind < KINDS &&
	       (strlen(kinds[kind].name) != len || memcmp(kinds[kind].name, name, len) != 0))
		kind++;
	return (enum key_kind)kind;
}

enum key_kind find_kind(Oid type)
{
	if (!SearchSysCacheExists1(TYPEOID, ObjectIdGetDatum(type)))
		return KINDS; /* any number can be cast to regtype */
	switch (getBaseType(type)) {
	case INT2OID:
	case INT4OID:
	case INT8OID:
		return KIND_BIGINT;
	case TEXTOID:
	case VARCHAROID:
		return KIND_TEXT;
	case BYTEAOID:
		return KIND_BYTEA;
	case UUIDOID:
		return KIND_UUID;
	case NUMERICOID:
		return KIND_NUMERIC;
	case DATEOID:
		return KIND_DATE;
	case TIMESTAMPOID:
		return KIND_TIMESTAMP;
	case TIMESTAMPTZOID:
		return KIND_TIMESTAMPTZ;
	case INETOID:
	case CIDROID:
		return KIND_INET;
	default:
		return KINDS;
	}
}

enum key_kind kind_of_type(Oid type)
{
	enum key_kind kind = find_kind(type);
	if (kind == KINDS)
		ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
		        errmsg("nidus: values of type %s cannot be keys",
		               format_type_extended(type, -1, FORMAT_TYPE_ALLOW_INVALID)),
		        errhint("Keys are integers, numeric, text, bytea, uuid, date, timestamp, "
		                "timestamptz or inet. Cast others to text."));
	return kind;
}

/* ------------------------------------------------------------------ hashing -- */

static uint64_t hash_varlena(const nidus_filter *filter, Datum key)
{
	const struct varlena *bytes = PG_DETOAST_DATUM_PACKED(key);
	uint64_t hash = nidus_hash(filter, VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes));
	if (DatumGetPointer(key) != (Pointer)bytes)
		pfree((void *)bytes);
	return hash;
}

static uint64_t hash_numeric_key(const nidus_filter *filter, Datum key)
{
	char *text = numeric_normalize(DatumGetNumeric(key));
	uint64_t hash = nidus_hash(filter, text, strlen(text));
	pfree(text);
	return hash;
}

/* What inet's = compares: a cidr equals the inet with its address and mask. */
static uint64_t hash_inet_key(const nidus_filter *filter, Datum key)
{
	inet *address = DatumGetInetPP(key);
	unsigned char bytes[2 + 16];
	size_t size = (size_t)ip_addrsize(address);
	bytes[0] = ip_family(address) == PGSQL_AF_INET ? 4 : 6;
	bytes[1] = ip_bits(address);
	memcpy(bytes + 2, ip_addr(address), size);
	return nidus_hash(filter, bytes, 2 + size);
}

static uint64_t hash_datum(const nidus_filter *filter, Datum key, Oid type)
{
	switch (type) {
	case INT2OID:
		return nidus_hash_u64(filter, (uint64_t)(int64)DatumGetInt16(key));
	case INT4OID:
		return nidus_hash_u64(filter, (uint64_t)(int64)DatumGetInt32(key));
	case INT8OID:
		return nidus_hash_u64(filter, (uint64_t)DatumGetInt64(key));
	case DATEOID:
		return nidus_hash_u64(filter, (uint64_t)(int64)DatumGetDateADT(key));
	case TIMESTAMPOID:
	case TIMESTAMPTZOID:
		return nidus_hash_u64(filter, (uint64_t)DatumGetTimestamp(key));
	case UUIDOID:
		return nidus_hash(filter, DatumGetUUIDP(key)->data, UUID_LEN);
	case NUMERICOID:
		return hash_numeric_key(filter, key);
	case INETOID:
	case CIDROID:
		return hash_inet_key(filter, key);
	default:
		return hash_varlena(filter, key);
	}
}

/* ------------------------------------------------------------------ reading -- */

/* Texts are keys by their bytes. So texts that differ in them have to be different. */
static void check_collation(Oid collation)
{
	if (collation == DEFAULT_COLLATION_OID || collation == C_COLLATION_OID)
		return;
	if (!OidIsValid(collation))
		ereport(ERROR, errcode(ERRCODE_INDETERMINATE_COLLATION),
		        errmsg("nidus: could not determine which collation the key has"),
		        errhint("Use the COLLATE clause to set the collation explicitly."));
	if (!get_collation_isdeterministic(collation))
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		        errmsg("nidus: keys with the nondeterministic collation \"%s\" are not "
		               "supported",
		               get_collation_name(collation)),
		        errhint("Say what makes two keys equal, both where the filter is made and "
		                "where it is asked: for example lower(key) COLLATE \"C\"."));
}

void prepare_reader(struct key_reader *reader, FunctionCallInfo fcinfo, int argument,
                    MemoryContext context)
{
	Oid type;
	if (OidIsValid(reader->type))
		return;
	type = get_fn_expr_argtype(fcinfo->flinfo, argument);
	if (!OidIsValid(type))
		elog(ERROR, "nidus: the type of the key is not known");
	reader->kind = kind_of_type(type);
	if (reader->kind == KIND_TEXT)
		check_collation(PG_GET_COLLATION());
	reader->context = context;
	reader->type = getBaseType(type);
}

static void mismatch(enum key_kind filter, enum key_kind key)
{
	ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
	        errmsg("nidus: this filter has keys of type %s, and the key is of type %s",
	               kind_name(filter), kind_name(key)),
	        errhint("Give it a key of type %s.", kind_name(filter)));
}

static void say_what_was_read(void *argument)
{
	errcontext("key for a nidus filter of type %s", kind_name(*(enum key_kind *)argument));
}

/* A text as a value of the filter's type, as if the query had had it without a type. */
static Datum read_text(struct key_reader *reader, enum key_kind kind, Datum key)
{
	ErrorContextCallback callback = { error_context_stack, say_what_was_read, &kind };
	char *written;
	Datum value;
	if (reader->other != kind) {
		Oid function;
		getTypeInputInfo(kinds[kind].type, &function, &reader->input_param);
		fmgr_info_cxt(function, &reader->input, reader->context);
		reader->other = kind;
	}
	written = TextDatumGetCString(key);
	error_context_stack = &callback;
	value = InputFunctionCall(&reader->input, written, reader->input_param, -1);
	error_context_stack = callback.previous;
	pfree(written);
	return value;
}

uint64_t hash_key(struct key_reader *reader, const nidus_filter *filter, enum key_kind kind,
                  Datum key)
{
	if (kind == reader->kind || kind == KIND_ANY)
		return hash_datum(filter, key, reader->type);
	if (reader->kind != KIND_TEXT)
		mismatch(kind, reader->kind);
	return hash_datum(filter, read_text(reader, kind, key), kinds[kind].type);
}

enum key_kind common_kind(enum key_kind a, enum key_kind b)
{
	if (a != b && a != KIND_ANY && b != KIND_ANY)
		ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
		        errmsg("nidus: filters of type %s and of type %s do not unite",
		               kind_name(a), kind_name(b)),
		        errhint("Unite filters of keys of one type."));
	return a != KIND_ANY ? a : b;
}
