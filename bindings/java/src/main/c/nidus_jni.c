/* SPDX-License-Identifier: MIT
 *
 * nidus_jni: what org.nidus.Native calls.
 *
 * A filter is a pointer in a long. Filter.java holds a lock for every call, so that no filter is freed
 * or changed under another one, and has checked what the arrays have room for. Arrays of keys are
 * pinned only while they are hashed, a block at a time: no call of the library, which may wait
 * or take memory, runs while the garbage collector has to wait.
 */
#include <jni.h>
#include <nidus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALL(type, name) JNIEXPORT type JNICALL Java_org_nidus_Native_##name

enum {
	BLOCK = 1024,   /* keys that are hashed, then used */
	SHORT_KEY = 256 /* bytes of a key that are copied to the stack */
};

static nidus_filter *filter_of(jlong handle)
{
	return (nidus_filter *)(intptr_t)handle;
}

/* ----------------------------------------------------------------------- errors -- */

/* Throws what the status says; `done` keys of a batch were dealt with. */
static void throw_status(JNIEnv *env, nidus_status status, jlong done)
{
	bool plain = status == NIDUS_NOT_FOUND || status == NIDUS_PRESENT;
	const char *text = plain ? nidus_status_text(status) : nidus_reason();
	jsize size = (jsize)strlen(text);
	jclass native = (*env)->FindClass(env, "org/nidus/Native");
	jmethodID make = native == NULL ? NULL
	                                : (*env)->GetStaticMethodID(env, native, "failure",
	                                                            "(I[BJ)Ljava/lang/Throwable;");
	jbyteArray reason = make == NULL ? NULL : (*env)->NewByteArray(env, size);
	if (reason == NULL)
		return; /* an error is pending */
	(*env)->SetByteArrayRegion(env, reason, 0, size, (const jbyte *)text);
	jthrowable made =
		(*env)->CallStaticObjectMethod(env, native, make, (jint)status, reason, done);
	if (!(*env)->ExceptionCheck(env) && made != NULL)
		(*env)->Throw(env, made);
}

static void throw_memory(JNIEnv *env)
{
	jclass class = (*env)->FindClass(env, "java/lang/OutOfMemoryError");
	if (class != NULL)
		(*env)->ThrowNew(env, class, "no native memory");
}

/* What a call put into *filter; by address, as it may be evaluated before the call. */
static jlong made(JNIEnv *env, nidus_status status, nidus_filter *const *filter)
{
	if (status != NIDUS_OK)
		throw_status(env, status, 0);
	return (jlong)(intptr_t)*filter;
}

static void check(JNIEnv *env, nidus_status status)
{
	if (status != NIDUS_OK)
		throw_status(env, status, 0);
}

/* The bytes of a Java array, in memory of their own; NULL with an exception. */
static void *copy_of(JNIEnv *env, jbyteArray array, jsize from, jsize n)
{
	void *copy = malloc(n > 0 ? (size_t)n : 1);
	if (copy == NULL)
		throw_memory(env);
	else
		(*env)->GetByteArrayRegion(env, array, from, n, copy);
	return copy;
}

/* ------------------------------------------------------------- life of a filter -- */

/* numbers: family, capacity, seed, maxCapacity, slots, features, valueBits, threads. */
static nidus_options options_of(JNIEnv *env, jlongArray numbers, jdouble fpr, unsigned *threads)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	jlong all[8] = { 0 };
	(*env)->GetLongArrayRegion(env, numbers, 0, 8, all);
	options.family = (nidus_family)all[0];
	options.capacity = (uint64_t)all[1];
	options.seed = (uint64_t)all[2];
	options.max_capacity = (uint64_t)all[3];
	options.slots = (unsigned)all[4];
	options.features = (uint32_t)all[5];
	options.value_bits = (unsigned)all[6];
	options.fpr = fpr;
	*threads = (unsigned)all[7];
	return options;
}

CALL(jlong, create)(JNIEnv *env, jclass class, jlongArray numbers, jdouble fpr)
{
	unsigned threads;
	nidus_options options = options_of(env, numbers, fpr, &threads);
	nidus_filter *filter = NULL;
	(void)class;
	return made(env, nidus_create(&options, &filter), &filter);
}

CALL(void, free)(JNIEnv *env, jclass class, jlong handle)
{
	(void)env;
	(void)class;
	nidus_free(filter_of(handle));
}

CALL(jlong, copy)(JNIEnv *env, jclass class, jlong handle)
{
	nidus_filter *filter = NULL;
	(void)class;
	return made(env, nidus_clone(filter_of(handle), &filter), &filter);
}

CALL(jlong, merge)(JNIEnv *env, jclass class, jlongArray handles, jint how)
{
	jsize n = (*env)->GetArrayLength(env, handles);
	const nidus_filter **filters = malloc((size_t)(n + 1) * sizeof *filters);
	nidus_filter *filter = NULL;
	nidus_status status = NIDUS_E_NOMEM;
	(void)class;
	if (filters == NULL) {
		throw_memory(env);
		return 0;
	}
	for (jsize i = 0; i < n; i++) {
		jlong handle;
		(*env)->GetLongArrayRegion(env, handles, i, 1, &handle);
		filters[i] = filter_of(handle);
	}
	status = nidus_merge_many(filters, (size_t)n, (nidus_merge_how)how, &filter);
	free(filters);
	return made(env, status, &filter);
}

CALL(void, change)(JNIEnv *env, jclass class, jlong handle, jint what, jlong capacity)
{
	nidus_filter *filter = filter_of(handle);
	(void)class;
	check(env, what == 0   ? nidus_clear(filter)
	           : what == 1 ? nidus_grow(filter, (uint64_t)capacity)
	           : what == 2 ? nidus_shrink(filter, (uint64_t)capacity)
	           : what == 4 ? nidus_pack(filter)
	                       : nidus_verify(filter, NULL));
}

CALL(jlong, size)(JNIEnv *env, jclass class, jlong handle)
{
	(void)env;
	(void)class;
	return (jlong)nidus_size(filter_of(handle));
}

/* count, capacity, maxCapacity, bytes, seed, features, slots, fingerprintBits, valueBits, family,
   readonly, concurrent; then load, bitsPerKey, fprTarget and fprNow as the bits of doubles. */
CALL(void, info)(JNIEnv *env, jclass class, jlong handle, jlongArray numbers)
{
	nidus_info info = NIDUS_INFO_INIT;
	(void)class;
	check(env, nidus_get_info(filter_of(handle), &info));
	double rates[4] = { info.load, info.bits_per_key, info.fpr_target, info.fpr_now };
	jlong all[16] = { (jlong)info.count,  (jlong)info.capacity,  (jlong)info.max_capacity,
		          (jlong)info.bytes,  (jlong)info.seed,      info.features,
		          info.slots,         info.fingerprint_bits, info.value_bits,
		          (jlong)info.family, info.readonly,         info.concurrent };
	memcpy(all + 12, rates, sizeof rates);
	if (!(*env)->ExceptionCheck(env))
		(*env)->SetLongArrayRegion(env, numbers, 0, 16, all);
}

CALL(jstring, familyName)(JNIEnv *env, jclass class, jint family)
{
	const char *name = nidus_family_name((nidus_family)family);
	(void)class;
	return name == NULL ? NULL : (*env)->NewStringUTF(env, name);
}

CALL(jstring, version)(JNIEnv *env, jclass class)
{
	(void)class;
	return (*env)->NewStringUTF(env, nidus_version());
}

/* ------------------------------------------------------------------------ files -- */

/* Paths are bytes that end in NUL. */
CALL(void, save)(JNIEnv *env, jclass class, jlong handle, jbyteArray path)
{
	char *name = copy_of(env, path, 0, (*env)->GetArrayLength(env, path));
	(void)class;
	if (name == NULL)
		return;
	nidus_status status = nidus_save(filter_of(handle), name);
	free(name);
	check(env, status);
}

CALL(jlong, load)(JNIEnv *env, jclass class, jbyteArray path, jboolean map)
{
	char *name = copy_of(env, path, 0, (*env)->GetArrayLength(env, path));
	nidus_filter *filter = NULL;
	(void)class;
	if (name == NULL)
		return 0;
	nidus_status status = map ? nidus_open(name, 0, &filter) : nidus_load(name, &filter);
	free(name);
	return made(env, status, &filter);
}

CALL(jlong, loadBytes)(JNIEnv *env, jclass class, jbyteArray bytes)
{
	jsize n = (*env)->GetArrayLength(env, bytes);
	void *copy = copy_of(env, bytes, 0, n);
	nidus_filter *filter = NULL;
	(void)class;
	if (copy == NULL)
		return 0;
	nidus_status status = nidus_load_buffer(copy, (size_t)n, NULL, &filter);
	free(copy);
	return made(env, status, &filter);
}

CALL(jlong, openBuffer)(JNIEnv *env, jclass class, jobject buffer, jlong from, jlong size)
{
	const char *bytes = (*env)->GetDirectBufferAddress(env, buffer);
	nidus_filter *filter = NULL;
	(void)class;
	return made(env,
	            nidus_open_buffer(bytes == NULL ? NULL : bytes + from, (size_t)size, 0,
	                              &filter),
	            &filter);
}

CALL(jbyteArray, bytes)(JNIEnv *env, jclass class, jlong handle)
{
	size_t size = nidus_saved_size(filter_of(handle)), written = 0;
	(void)class;
	if (size > INT32_MAX - 8) {
		throw_memory(env); /* no array is that long */
		return NULL;
	}
	void *copy = malloc(size);
	jbyteArray array = NULL;
	if (copy == NULL) {
		throw_memory(env);
		return NULL;
	}
	nidus_status status = nidus_save_buffer(filter_of(handle), copy, size, &written);
	if (status == NIDUS_OK)
		array = (*env)->NewByteArray(env, (jsize)written);
	else
		throw_status(env, status, 0);
	if (array != NULL)
		(*env)->SetByteArrayRegion(env, array, 0, (jsize)written, copy);
	free(copy);
	return array;
}

/* ----------------------------------------------------------------- single keys -- */

/* As Native.java numbers them. */
enum act {
	CONTAINS,
	ADD,
	ADD_NEW,
	REMOVE,
	COUNT,
	HASH,
	ADD_VALUE,
	REMOVE_VALUE,
	REPLACE_VALUE,
	ADD_COUNT,
	GET_COUNT
};

/* 1 for OK, 0 for the one status that is an ordinary answer. */
static jlong answer(JNIEnv *env, nidus_status status, nidus_status ordinary)
{
	if (status != NIDUS_OK && status != ordinary)
		throw_status(env, status, 0);
	return status == NIDUS_OK;
}

static jlong act(JNIEnv *env, nidus_filter *filter, enum act act, uint64_t hash, uint64_t a,
                 uint64_t b)
{
	switch (act) {
	case CONTAINS:
		return nidus_contains_hash(filter, hash);
	case ADD:
		return answer(env, nidus_insert_hash(filter, hash), NIDUS_OK);
	case ADD_NEW:
		return answer(env, nidus_insert_new_hash(filter, hash), NIDUS_PRESENT);
	case REMOVE:
		return answer(env, nidus_remove_hash(filter, hash), NIDUS_NOT_FOUND);
	case COUNT:
		return (jlong)nidus_count_key_hash(filter, hash);
	case ADD_VALUE:
		return answer(env, nidus_insert_value_hash(filter, hash, a), NIDUS_OK);
	case REMOVE_VALUE:
		return answer(env, nidus_remove_value_hash(filter, hash, a), NIDUS_NOT_FOUND);
	case REPLACE_VALUE:
		return answer(env, nidus_replace_value_hash(filter, hash, a, b), NIDUS_NOT_FOUND);
	case ADD_COUNT:
		return answer(env, nidus_add_count_hash(filter, hash, a), NIDUS_OK);
	case GET_COUNT:
		return (jlong)nidus_get_count_hash(filter, hash);
	case HASH:
		break;
	}
	return (jlong)hash;
}

CALL(jlong, actLong)
(JNIEnv *env, jclass class, jlong handle, jint what, jlong key, jlong a, jlong b)
{
	nidus_filter *filter = filter_of(handle);
	(void)class;
	return act(env, filter, (enum act)what, nidus_hash_u64(filter, (uint64_t)key), (uint64_t)a,
	           (uint64_t)b);
}

CALL(jlong, actBytes)
(JNIEnv *env, jclass class, jlong handle, jint what, jbyteArray key, jlong a, jlong b)
{
	nidus_filter *filter = filter_of(handle);
	jsize n = (*env)->GetArrayLength(env, key);
	char room[SHORT_KEY];
	uint64_t hash;
	(void)class;
	if (n <= SHORT_KEY) {
		(*env)->GetByteArrayRegion(env, key, 0, n, (jbyte *)room);
		hash = nidus_hash(filter, room, (size_t)n);
	} else {
		void *copy = copy_of(env, key, 0, n);
		if (copy == NULL)
			return 0;
		hash = nidus_hash(filter, copy, (size_t)n);
		free(copy);
	}
	return act(env, filter, (enum act)what, hash, (uint64_t)a, (uint64_t)b);
}

CALL(jlong, actDirect)
(JNIEnv *env, jclass class, jlong handle, jint what, jobject key, jint from, jint n)
{
	nidus_filter *filter = filter_of(handle);
	const char *bytes = (*env)->GetDirectBufferAddress(env, key);
	(void)class;
	return act(env, filter, (enum act)what, nidus_hash(filter, bytes + from, (size_t)n), 0, 0);
}

CALL(jlongArray, values)(JNIEnv *env, jclass class, jlong handle, jlong hash)
{
	uint64_t room[64], *values = room;
	size_t cap = 64, n = nidus_find_hash(filter_of(handle), (uint64_t)hash, values, cap);
	(void)class;
	while (n > cap) { /* more than any filter has but one that merges made */
		if (values != room)
			free(values);
		cap = n;
		values = malloc(cap * sizeof *values);
		if (values == NULL) {
			throw_memory(env);
			return NULL;
		}
		n = nidus_find_hash(filter_of(handle), (uint64_t)hash, values, cap);
	}
	jlongArray array = (*env)->NewLongArray(env, (jsize)n);
	if (array != NULL)
		(*env)->SetLongArrayRegion(env, array, 0, (jsize)n, (const jlong *)values);
	if (values != room)
		free(values);
	return array;
}

/* --------------------------------------------------------------------- batches -- */

/* Keys of one of three kinds: an array of longs, a direct buffer of them, or bytes with their ends. */
struct keys {
	jlongArray longs;
	const uint64_t *direct;
	const unsigned char *bytes;
	jint size; /* of bytes */
	const jint *ends;
	jint from;
};

static jint least(jint a, jint b)
{
	return a < b ? a : b;
}

/* Where a key ends, read once: ends in a direct buffer may change meanwhile. */
static jint end_of(const struct keys *keys, jint i)
{
	return __atomic_load_n(&keys->ends[i], __ATOMIC_RELAXED);
}

static bool throw_ends(JNIEnv *env, jint i)
{
	char text[100];
	jclass class = (*env)->FindClass(env, "java/lang/IllegalArgumentException");
	(void)snprintf(text, sizeof text,
	               "key %d must end where it begins or later, and within the buffer", (int)i);
	if (class != NULL)
		(*env)->ThrowNew(env, class, text);
	return false;
}

/* Whether all keys lie in their buffer. False with an exception. */
static bool check_ends(JNIEnv *env, const struct keys *keys, jint n)
{
	jint start = 0;
	for (jint i = 0; i < n; i++) {
		jint end = end_of(keys, i);
		if (end < start || end > keys->size)
			return throw_ends(env, i);
		start = end;
	}
	return true;
}

/* The hashes of n keys, BLOCK at most, from key i on. False with an exception. */
static bool hash_block(JNIEnv *env, const nidus_filter *filter, const struct keys *keys, jint i,
                       jint n, uint64_t *hashes)
{
	if (keys->longs != NULL) {
		const jlong *pinned = (*env)->GetPrimitiveArrayCritical(env, keys->longs, NULL);
		if (pinned == NULL)
			return false;
		nidus_hash_u64_batch(filter, (const uint64_t *)pinned + keys->from + i, (size_t)n,
		                     hashes);
		(*env)->ReleasePrimitiveArrayCritical(env, keys->longs, (void *)pinned, JNI_ABORT);
	} else if (keys->direct != NULL) {
		nidus_hash_u64_batch(filter, keys->direct + i, (size_t)n, hashes);
	} else {
		jint start = i == 0 ? 0 : end_of(keys, i - 1);
		for (jint k = i; k < i + n; k++) {
			jint end = end_of(keys, k);
			if (start < 0 || end < start || end > keys->size)
				return throw_ends(env, k);
			hashes[k - i] =
				nidus_hash(filter, keys->bytes + start, (size_t)(end - start));
			start = end;
		}
	}
	return true;
}

/* yes: a boolean[], or NULL for answers that go to `to`. */
static void contains(JNIEnv *env, const nidus_filter *filter, const struct keys *keys, jint n,
                     jbooleanArray yes, jint at, uint8_t *to)
{
	uint64_t hashes[BLOCK];
	uint8_t block[BLOCK];
	for (jint i = 0; i < n; i += BLOCK) {
		jint some = least(n - i, BLOCK);
		if (!hash_block(env, filter, keys, i, some, hashes))
			return;
		nidus_contains_batch(filter, hashes, (size_t)some, yes == NULL ? to + i : block);
		if (yes != NULL)
			(*env)->SetBooleanArrayRegion(env, yes, at + i, some, block);
	}
}

static void change(JNIEnv *env, nidus_filter *filter, const struct keys *keys, jint n, jint what)
{
	uint64_t hashes[BLOCK];
	for (jint i = 0; i < n; i += BLOCK) {
		jint some = least(n - i, BLOCK);
		size_t done = 0;
		nidus_status status;
		if (!hash_block(env, filter, keys, i, some, hashes))
			return;
		if (what == ADD)
			status = nidus_insert_batch(filter, hashes, (size_t)some, &done);
		else if (what == REMOVE)
			status = nidus_remove_batch(filter, hashes, (size_t)some, &done);
		else
			status = nidus_add_count_batch(filter, hashes, NULL, (size_t)some, &done);
		if (status != NIDUS_OK) {
			throw_status(env, status, i + (jlong)done);
			return;
		}
	}
}

CALL(void, containsLongs)
(JNIEnv *env, jclass class, jlong handle, jlongArray array, jint from, jint n, jbooleanArray yes)
{
	struct keys keys = { .longs = array, .from = from };
	(void)class;
	contains(env, filter_of(handle), &keys, n, yes, 0, NULL);
}

CALL(void, containsDirect)
(JNIEnv *env, jclass class, jlong handle, jobject buffer, jint from, jint n, jobject yes, jint at)
{
	const uint64_t *longs = (*env)->GetDirectBufferAddress(env, buffer);
	uint8_t *to = (*env)->GetDirectBufferAddress(env, yes);
	struct keys keys = { .direct = longs + from };
	(void)class;
	contains(env, filter_of(handle), &keys, n, NULL, 0, to + at);
}

CALL(void, changeLongs)
(JNIEnv *env, jclass class, jlong handle, jint what, jlongArray array, jint from, jint n)
{
	struct keys keys = { .longs = array, .from = from };
	(void)class;
	change(env, filter_of(handle), &keys, n, what);
}

CALL(void, changeDirect)
(JNIEnv *env, jclass class, jlong handle, jint what, jobject buffer, jint from, jint n)
{
	const uint64_t *longs = (*env)->GetDirectBufferAddress(env, buffer);
	struct keys keys = { .direct = longs + from };
	(void)class;
	change(env, filter_of(handle), &keys, n, what);
}

static void hash(JNIEnv *env, const nidus_filter *filter, const struct keys *keys, jint n,
                 jlongArray to, jint at)
{
	uint64_t hashes[BLOCK];
	for (jint i = 0; i < n; i += BLOCK) {
		jint some = least(n - i, BLOCK);
		if (!hash_block(env, filter, keys, i, some, hashes))
			return;
		(*env)->SetLongArrayRegion(env, to, at + i, some, (const jlong *)hashes);
	}
}

CALL(void, hashLongs)
(JNIEnv *env, jclass class, jlong handle, jlongArray array, jint n, jlongArray to)
{
	struct keys keys = { .longs = array };
	(void)class;
	hash(env, filter_of(handle), &keys, n, to, 0);
}

/* Copies of packed keys, to be freed: a change may take long. False with an exception. */
static bool unpack(JNIEnv *env, jbyteArray bytes, jintArray ends, jint n, struct keys *keys)
{
	jint last = 0;
	(*env)->GetIntArrayRegion(env, ends, n - 1, 1, &last);
	void *copy = copy_of(env, bytes, 0, last);
	jint *stops = malloc((size_t)n * sizeof *stops);
	if (copy != NULL && stops == NULL)
		throw_memory(env);
	if (copy == NULL || stops == NULL) {
		free(copy);
		free(stops);
		return false;
	}
	(*env)->GetIntArrayRegion(env, ends, 0, n, stops);
	*keys = (struct keys){ .bytes = copy, .size = last, .ends = stops };
	return true;
}

static void free_unpacked(struct keys *keys)
{
	free((void *)keys->bytes);
	free((void *)keys->ends);
}

CALL(void, packed)
(JNIEnv *env, jclass class, jlong handle, jint what, jbyteArray bytes, jintArray ends, jint n,
 jobject answers, jint at)
{
	struct keys keys;
	(void)class;
	if (n == 0 || !unpack(env, bytes, ends, n, &keys))
		return;
	if (what == CONTAINS)
		contains(env, filter_of(handle), &keys, n, answers, at, NULL);
	else if (what == HASH)
		hash(env, filter_of(handle), &keys, n, answers, at);
	else
		change(env, filter_of(handle), &keys, n, what);
	free_unpacked(&keys);
}

/* Keys that lie one after another in a direct buffer; `yes` is for CONTAINS. */
CALL(void, packedDirect)
(JNIEnv *env, jclass class, jlong handle, jint what, jobject bytes, jint from, jint size,
 jobject ends, jint first, jint n, jobject yes, jint at)
{
	const unsigned char *start = (*env)->GetDirectBufferAddress(env, bytes);
	const jint *stops = (*env)->GetDirectBufferAddress(env, ends);
	struct keys keys = { .bytes = start + from, .size = size, .ends = stops + first };
	(void)class;
	if (n == 0 || !check_ends(env, &keys, n))
		return;
	if (what == CONTAINS) {
		uint8_t *to = (*env)->GetDirectBufferAddress(env, yes);
		contains(env, filter_of(handle), &keys, n, NULL, 0, to + at);
	} else {
		change(env, filter_of(handle), &keys, n, what);
	}
}

/* ----------------------------------------------------------------- bulk builds -- */

/* Of the first n keys, or of their hashes. They are copied: a build takes long, and works in place. */
CALL(jlong, build)
(JNIEnv *env, jclass class, jlongArray numbers, jdouble fpr, jlongArray array, jint n,
 jboolean hashed)
{
	unsigned threads;
	nidus_options options = options_of(env, numbers, fpr, &threads);
	uint64_t *keys = malloc(n > 0 ? (size_t)n * sizeof *keys : 1);
	nidus_filter *filter = NULL;
	(void)class;
	if (keys == NULL) {
		throw_memory(env);
		return 0;
	}
	(*env)->GetLongArrayRegion(env, array, 0, n, (jlong *)keys);
	nidus_status status =
		hashed ? nidus_build_hashes(&options, keys, (size_t)n, threads, &filter)
		       : nidus_build_u64(&options, keys, (size_t)n, threads, &filter);
	free(keys);
	return made(env, status, &filter);
}

/* A copy of an array of longs; NULL with an exception. */
static uint64_t *numbers_of(JNIEnv *env, jlongArray array, jsize *n)
{
	*n = (*env)->GetArrayLength(env, array);
	uint64_t *numbers = malloc(*n > 0 ? (size_t)*n * sizeof *numbers : 1);
	if (numbers == NULL)
		throw_memory(env);
	else
		(*env)->GetLongArrayRegion(env, array, 0, *n, (jlong *)numbers);
	return numbers;
}

CALL(jlong, buildTwo)
(JNIEnv *env, jclass class, jlongArray numbers, jdouble fpr, jlongArray array, jlongArray second,
 jboolean values)
{
	unsigned threads;
	nidus_options options = options_of(env, numbers, fpr, &threads);
	jsize n, m = 0;
	uint64_t *hashes = numbers_of(env, array, &n);
	uint64_t *others = hashes == NULL ? NULL : numbers_of(env, second, &m);
	nidus_filter *filter = NULL;
	jlong handle = 0;
	(void)class;
	if (others != NULL) {
		nidus_status status =
			values ? nidus_build_values(&options, hashes, others, (size_t)n, threads,
		                                    &filter)
			       : nidus_build_exclude(&options, hashes, (size_t)n, others, (size_t)m,
		                                     threads, &filter);
		handle = made(env, status, &filter);
	}
	free(hashes);
	free(others);
	return handle;
}

/* ------------------------------------------------- builds of more keys than memory -- */

/* A builder in a long. The progress is set only while one thread builds, which is the one asked. */
struct builder {
	nidus_builder *builder;
	nidus_filter *hasher; /* empty, with the builder's seed */
	JNIEnv *env;
	jobject progress;
	jmethodID go_on;
};

static struct builder *builder_of(jlong handle)
{
	return (struct builder *)(intptr_t)handle;
}

/* Stops when Java says so or throws. */
static bool stop(void *context, double share)
{
	struct builder *builder = context;
	JNIEnv *env = builder->env;
	if (builder->progress == NULL)
		return false;
	jboolean go_on = (*env)->CallBooleanMethod(env, builder->progress, builder->go_on, share);
	return (*env)->ExceptionCheck(env) || !go_on;
}

static void free_builder(struct builder *builder)
{
	nidus_builder_free(builder->builder);
	nidus_free(builder->hasher);
	free(builder);
}

/* The seed is drawn by the filter that hashes, if there is none. */
static nidus_status fill_builder(struct builder *builder, nidus_options *options, uint64_t memory,
                                 const char *folder, unsigned threads)
{
	nidus_options small = NIDUS_OPTIONS_INIT;
	nidus_info info = NIDUS_INFO_INIT;
	small.capacity = 1;
	small.seed = options->seed;
	nidus_status status = nidus_create(&small, &builder->hasher);
	if (status == NIDUS_OK)
		status = nidus_get_info(builder->hasher, &info);
	options->seed = info.seed;
	options->progress = (nidus_progress){ stop, builder };
	if (status == NIDUS_OK)
		status = nidus_builder_create(options, memory, folder, threads, &builder->builder);
	return status;
}

CALL(jlong, builderCreate)
(JNIEnv *env, jclass class, jlongArray numbers, jdouble fpr, jlong memory, jbyteArray folder)
{
	unsigned threads;
	nidus_options options = options_of(env, numbers, fpr, &threads);
	struct builder *builder = calloc(1, sizeof *builder);
	char *name = NULL;
	(void)class;
	if (builder == NULL) {
		throw_memory(env);
		return 0;
	}
	if (folder != NULL)
		name = copy_of(env, folder, 0, (*env)->GetArrayLength(env, folder));
	if (!(*env)->ExceptionCheck(env))
		check(env, fill_builder(builder, &options, (uint64_t)memory, name, threads));
	free(name);
	if ((*env)->ExceptionCheck(env)) {
		free_builder(builder);
		return 0;
	}
	return (jlong)(intptr_t)builder;
}

CALL(void, builderFree)(JNIEnv *env, jclass class, jlong handle)
{
	(void)env;
	(void)class;
	free_builder(builder_of(handle));
}

/* Values from place `at` on, unless there are none. */
static void add(JNIEnv *env, struct builder *builder, const struct keys *keys, jint n,
                jlongArray values, jint at)
{
	uint64_t hashes[BLOCK], block[BLOCK];
	for (jint i = 0; i < n; i += BLOCK) {
		jint some = least(n - i, BLOCK);
		size_t done = 0;
		nidus_status status;
		if (!hash_block(env, builder->hasher, keys, i, some, hashes))
			return;
		if (values != NULL) {
			(*env)->GetLongArrayRegion(env, values, at + i, some, (jlong *)block);
			status = nidus_builder_add_value_batch(builder->builder, hashes, block,
			                                       (size_t)some, &done);
		} else {
			status = nidus_builder_add_batch(builder->builder, hashes, (size_t)some,
			                                 &done);
		}
		if (status != NIDUS_OK) {
			throw_status(env, status, i + (jlong)done);
			return;
		}
	}
}

CALL(void, builderLongs)
(JNIEnv *env, jclass class, jlong handle, jlongArray array, jint n, jlongArray values)
{
	struct keys keys = { .longs = array };
	(void)class;
	add(env, builder_of(handle), &keys, n, values, 0);
}

CALL(void, builderDirect)
(JNIEnv *env, jclass class, jlong handle, jobject buffer, jint from, jint n)
{
	const uint64_t *longs = (*env)->GetDirectBufferAddress(env, buffer);
	struct keys keys = { .direct = longs + from };
	(void)class;
	add(env, builder_of(handle), &keys, n, NULL, 0);
}

CALL(void, builderPacked)
(JNIEnv *env, jclass class, jlong handle, jbyteArray bytes, jintArray ends, jint n,
 jlongArray values, jint at)
{
	struct keys keys;
	(void)class;
	if (n == 0 || !unpack(env, bytes, ends, n, &keys))
		return;
	add(env, builder_of(handle), &keys, n, values, at);
	free_unpacked(&keys);
}

/* Whether the build may begin. False with an exception. */
static bool watch(JNIEnv *env, struct builder *builder, jobject progress)
{
	builder->env = env;
	builder->progress = progress;
	if (progress != NULL)
		builder->go_on = (*env)->GetMethodID(env, (*env)->GetObjectClass(env, progress),
		                                     "goOn", "(D)Z");
	return progress == NULL || builder->go_on != NULL;
}

/* What Java threw while it watched comes before what the library says of it. */
static void unwatch(JNIEnv *env, struct builder *builder, nidus_status status)
{
	builder->progress = NULL;
	if (!(*env)->ExceptionCheck(env))
		check(env, status);
}

CALL(jlong, builderFinish)(JNIEnv *env, jclass class, jlong handle, jobject progress)
{
	struct builder *builder = builder_of(handle);
	nidus_filter *filter = NULL;
	(void)class;
	if (watch(env, builder, progress))
		unwatch(env, builder, nidus_builder_finish(builder->builder, &filter));
	if ((*env)->ExceptionCheck(env)) {
		nidus_free(filter);
		filter = NULL;
	}
	return (jlong)(intptr_t)filter;
}

CALL(void, builderSave)
(JNIEnv *env, jclass class, jlong handle, jbyteArray path, jobject progress)
{
	struct builder *builder = builder_of(handle);
	char *name = copy_of(env, path, 0, (*env)->GetArrayLength(env, path));
	(void)class;
	if (name != NULL && watch(env, builder, progress))
		unwatch(env, builder, nidus_builder_save(builder->builder, name));
	free(name);
}
