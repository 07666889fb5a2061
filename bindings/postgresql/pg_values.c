/* SPDX-License-Identifier: MIT
 *
 * Values of type nidus, from outside and from filters in memory.
 *
 *     | varlena header, 4 bytes | 'N' | 1 | kind of key | 0 | saved filter (docs/format.md) |
 *
 * As text: the type of the keys and the saved filter in hexadecimal, bigint:\x89...
 *
 * Whatever enters from outside is loaded and checked whole, checksums and every entry.
 * What lies in a table was checked then; lookups open it in place, and stay inside it even
 * if the disk changed its bits.
 */
#include "nidus_pg.h"

#include "lib/stringinfo.h"
#include "libpq/pqformat.h"
#if PG_VERSION_NUM >= 160000
#include "nodes/miscnodes.h"
#endif
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"

PG_MODULE_MAGIC;

void _PG_init(void);

#define PREFIX 4
#define LAYOUT 1
/* The least that a saved filter has: its header. */
#define HEADER 256

/* The same for all databases, so that filters unite for ever: "nidus" as a number. */
#define DEFAULT_SEED "474214593907"

static char *seed_text; /* nidus.seed */

/* ------------------------------------------------------------------- errors -- */

int sqlstate_of(nidus_status status)
{
	switch (status) {
	case NIDUS_E_NOMEM:
		return ERRCODE_OUT_OF_MEMORY;
	case NIDUS_FULL:
	case NIDUS_COPIES:
		return ERRCODE_PROGRAM_LIMIT_EXCEEDED;
	case NIDUS_E_FORMAT:
	case NIDUS_E_VERSION:
	case NIDUS_E_TRUNCATED:
	case NIDUS_E_CORRUPT:
		return ERRCODE_INVALID_BINARY_REPRESENTATION;
	case NIDUS_E_ARG:
	case NIDUS_E_RANGE:
	case NIDUS_E_MISMATCH:
		return ERRCODE_INVALID_PARAMETER_VALUE;
	case NIDUS_E_UNSUPPORTED:
		return ERRCODE_FEATURE_NOT_SUPPORTED;
	default:
		return ERRCODE_INTERNAL_ERROR;
	}
}

void check(nidus_status status)
{
	if (status != NIDUS_OK)
		ereport(ERROR, errcode(sqlstate_of(status)), errmsg("nidus: %s", nidus_reason()));
}

/* From 16 on an input function can answer an error instead of raising it. */
#if PG_VERSION_NUM >= 160000
#define REFUSE(context, ...) ereturn(context, NULL, __VA_ARGS__)
#define REFUSED(context) SOFT_ERROR_OCCURRED(context)
#else
#define REFUSE(context, ...)                 \
	do {                                 \
		(void)(context);             \
		ereport(ERROR, __VA_ARGS__); \
	} while (0)
#define REFUSED(context) false
#endif

/* ------------------------------------------------------------------- memory -- */

static void *context_alloc(void *context, size_t size)
{
	return MemoryContextAllocExtended(context, size, MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
}

static void *context_alloc_zeroed(void *context, size_t size)
{
	return MemoryContextAllocExtended(context, size,
	                                  MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM | MCXT_ALLOC_ZERO);
}

static void context_free(void *context, void *memory, size_t size)
{
	(void)context;
	(void)size;
	pfree(memory);
}

static nidus_allocator allocator_in(MemoryContext context)
{
	return (nidus_allocator){ .alloc = context_alloc,
		                  .free = context_free,
		                  .alloc_zeroed = context_alloc_zeroed,
		                  .context = context };
}

/* ---------------------------------------------------------- settings and seed -- */

static bool parse_seed(const char *text, uint64_t *seed)
{
	char *end;
	errno = 0;
	*seed = strtoull(text, &end, 10);
	/* strtoull takes blanks and a sign, too, and makes a large number of " -1". */
	return errno == 0 && *end == '\0' && text[0] >= '0' && text[0] <= '9' && *seed != 0;
}

static bool check_seed(char **text, void **extra, GucSource source)
{
	uint64_t seed;
	(void)extra;
	(void)source;
	if (parse_seed(*text, &seed))
		return true;
	GUC_check_errdetail("A seed is a whole number from 1 to 18446744073709551615.");
	return false;
}

void _PG_init(void)
{
	DefineCustomStringVariable(
		"nidus.seed",
		"Seed of new filters; filters unite only with others of the same seed.",
		"Set one of your own, and keep it secret, where keys come from people who may wish "
		"for collisions.",
		&seed_text, DEFAULT_SEED, PGC_SUSET, 0, check_seed, NULL, NULL);
#if PG_VERSION_NUM >= 150000
	MarkGUCPrefixReserved("nidus");
#endif
}

int64 capacity_argument(FunctionCallInfo fcinfo, int argument)
{
	if (PG_NARGS() <= argument || PG_ARGISNULL(argument))
		return 0;
	if (PG_GETARG_INT64(argument) < 1)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		        errmsg("nidus: the capacity must be at least 1"),
		        errhint("It is how many different keys must fit."));
	return PG_GETARG_INT64(argument);
}

nidus_filter *new_filter(double fpr, int64 capacity, MemoryContext context)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	nidus_filter *filter;
	if (!(fpr > 0 && fpr < 1))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		        errmsg("nidus: the false-positive rate must be between 0 and 1"),
		        errhint("For example 0.01: one absent key of a hundred passes."));
	/* Families are named here: what auto takes may change, and old values have to unite. */
	options.family = capacity > 0 ? NIDUS_WINDOWED : NIDUS_BUCKETED;
	options.capacity = capacity > 0 ? (uint64_t)capacity : KEYS_AT_FIRST;
	options.max_capacity = capacity > 0 ? 0 : KEYS_AT_MOST;
	options.fpr = fpr;
	(void)parse_seed(seed_text, &options.seed); /* it was checked when it was set */
	options.allocator = allocator_in(context);
	check(nidus_create(&options, &filter));
	return filter;
}

/* --------------------------------------------------------- values and filters -- */

/* A value with room for a saved filter, and its first bytes. */
static bytea *new_value(size_t size, enum key_kind kind)
{
	bytea *value;
	char *prefix;
	if (size > MaxAllocSize - VARHDRSZ - PREFIX)
		ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
		        errmsg("nidus: a filter of %zu bytes is larger than a value may be", size),
		        errdetail("PostgreSQL's values end at 1 GB."),
		        errhint("Give a higher rate, or make several filters, each of a part of "
		                "the keys."));
	value = palloc(VARHDRSZ + PREFIX + size);
	SET_VARSIZE(value, VARHDRSZ + PREFIX + size);
	prefix = VARDATA(value);
	prefix[0] = 'N';
	prefix[1] = LAYOUT;
	prefix[2] = (char)kind;
	prefix[3] = 0;
	return value;
}

bytea *to_value(struct typed_filter typed)
{
	size_t size = nidus_saved_size(typed.filter);
	bytea *value = new_value(size, typed.kind);
	check(nidus_save_buffer(typed.filter, VARDATA(value) + PREFIX, size, NULL));
	return value;
}

struct value_parts parts_of(const struct varlena *value)
{
	const unsigned char *bytes = (const unsigned char *)VARDATA_ANY(value);
	size_t size = VARSIZE_ANY_EXHDR(value);
	if (size < PREFIX + HEADER || bytes[0] != 'N' || bytes[1] != LAYOUT || bytes[2] >= KINDS ||
	    bytes[3] != 0)
		ereport(ERROR, errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
		        errmsg("nidus: these bytes are no value of type nidus"),
		        errhint("A file becomes one by nidus(file, 'text'), with the type of its "
		                "keys."));
	return (struct value_parts){ bytes + PREFIX, size - PREFIX, (enum key_kind)bytes[2] };
}

struct typed_filter from_value(const struct varlena *value, MemoryContext context)
{
	nidus_allocator allocator = allocator_in(context);
	struct value_parts parts = parts_of(value);
	struct typed_filter typed = { NULL, parts.kind };
	check(nidus_load_buffer(parts.bytes, parts.size, &allocator, &typed.filter));
	return typed;
}

struct typed_filter open_plain(const struct varlena *value)
{
	struct value_parts parts = parts_of(value);
	struct typed_filter typed = { NULL, parts.kind };
	check(nidus_open_buffer(parts.bytes, parts.size, 0, &typed.filter));
	return typed;
}

/* -------------------------------------------------------------- in and out -- */

static int hex_digit(char c)
{
	const char *digits = "0123456789abcdef";
	const char *found = c == '\0' ? NULL : strchr(digits, pg_tolower((unsigned char)c));
	return found != NULL ? (int)(found - digits) : -1;
}

static bool read_hex(const char *text, size_t len, char *bytes)
{
	for (size_t i = 0; i + 1 < len; i += 2) {
		int high = hex_digit(text[i]), low = hex_digit(text[i + 1]);
		if (high < 0 || low < 0)
			return false;
		bytes[i / 2] = (char)(high << 4 | low);
	}
	return len % 2 == 0;
}

/* The value of a text, not yet checked beyond its digits. */
static bytea *read_value(const char *text, Node *context)
{
	const char *colon = strchr(text, ':');
	enum key_kind kind = colon != NULL ? kind_by_name(text, (size_t)(colon - text)) : KINDS;
	bytea *value;
	size_t digits;
	if (kind == KINDS || colon[1] != '\\' || colon[2] != 'x')
		REFUSE(context,
		       (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
		        errmsg("invalid input syntax for type nidus: \"%.40s\"", text),
		        errdetail("A filter is the type of its keys and a file in hexadecimal, as "
		                  "in bigint:\\x896e69....")));
	digits = strlen(colon + 3);
	value = new_value(digits / 2, kind);
	if (!read_hex(colon + 3, digits, VARDATA(value) + PREFIX))
		REFUSE(context, (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
		                 errmsg("invalid input syntax for type nidus: a character that is "
		                        "no hexadecimal digit, or an odd number of them")));
	return value;
}

/* Whether the saved filter in a value is whole, checksums and every entry. */
static bytea *checked(bytea *value, Node *context)
{
	nidus_allocator allocator = allocator_in(CurrentMemoryContext);
	nidus_filter *filter;
	nidus_status status = nidus_load_buffer(
		VARDATA(value) + PREFIX, VARSIZE(value) - VARHDRSZ - PREFIX, &allocator, &filter);
	if (status == NIDUS_E_NOMEM)
		check(status);
	if (status != NIDUS_OK)
		REFUSE(context,
		       (errcode(sqlstate_of(status)), errmsg("nidus: %s", nidus_reason())));
	nidus_free(filter);
	return value;
}

PG_FUNCTION_INFO_V1(nidus_in);
Datum nidus_in(PG_FUNCTION_ARGS)
{
	Node *context = (Node *)fcinfo->context;
	bytea *value = read_value(PG_GETARG_CSTRING(0), context);
	if (REFUSED(context))
		PG_RETURN_NULL();
	value = checked(value, context);
	if (REFUSED(context))
		PG_RETURN_NULL();
	PG_RETURN_BYTEA_P(value);
}

PG_FUNCTION_INFO_V1(nidus_out);
Datum nidus_out(PG_FUNCTION_ARGS)
{
	struct value_parts parts = parts_of(PG_GETARG_BYTEA_PP(0));
	const char *name = kind_name(parts.kind);
	/* The server's own texts end at 1 GB, too. */
	char *text = palloc(strlen(name) + 4 + 2 * parts.size);
	char *end = text + sprintf(text, "%s:\\x", name);
	end += hex_encode(parts.bytes, parts.size, end);
	*end = '\0';
	PG_RETURN_CSTRING(text);
}

PG_FUNCTION_INFO_V1(nidus_recv);
Datum nidus_recv(PG_FUNCTION_ARGS)
{
	StringInfo message = (StringInfo)PG_GETARG_POINTER(0);
	size_t size = (size_t)(message->len - message->cursor);
	bytea *value = palloc(VARHDRSZ + size);
	SET_VARSIZE(value, VARHDRSZ + size);
	pq_copymsgbytes(message, VARDATA(value), (int)size);
	nidus_free(from_value(value, CurrentMemoryContext).filter);
	PG_RETURN_BYTEA_P(value);
}

PG_FUNCTION_INFO_V1(nidus_send);
Datum nidus_send(PG_FUNCTION_ARGS)
{
	PG_RETURN_DATUM(DirectFunctionCall1(byteasend, PG_GETARG_DATUM(0)));
}

/* A file and the type of its keys. */
PG_FUNCTION_INFO_V1(nidus_from_file);
Datum nidus_from_file(PG_FUNCTION_ARGS)
{
	const bytea *file = PG_GETARG_BYTEA_PP(0);
	size_t size = VARSIZE_ANY_EXHDR(file);
	bytea *value = new_value(size, kind_of_type(PG_GETARG_OID(1)));
	memcpy(VARDATA(value) + PREFIX, VARDATA_ANY(file), size);
	PG_RETURN_BYTEA_P(checked(value, NULL));
}

/* The file alone, which the nidus command reads. */
PG_FUNCTION_INFO_V1(nidus_to_file);
Datum nidus_to_file(PG_FUNCTION_ARGS)
{
	struct value_parts parts = parts_of(PG_GETARG_BYTEA_PP(0));
	bytea *file = palloc(VARHDRSZ + parts.size);
	SET_VARSIZE(file, VARHDRSZ + parts.size);
	memcpy(VARDATA(file), parts.bytes, parts.size);
	PG_RETURN_BYTEA_P(file);
}
