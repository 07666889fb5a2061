/* SPDX-License-Identifier: MIT
 *
 * status: names and words, and what the library says of itself.
 */
#include "base/reason.h"
#include "simd/isa.h"

static const struct {
	nidus_status status;
	const char *name, *text;
} statuses[] = {
	{ NIDUS_OK, "NIDUS_OK", "all went well" },
	{ NIDUS_FULL, "NIDUS_FULL", "the filter is full" },
	{ NIDUS_NOT_FOUND, "NIDUS_NOT_FOUND", "the key is not in the filter" },
	{ NIDUS_PRESENT, "NIDUS_PRESENT", "the key is in the filter already" },
	{ NIDUS_COPIES, "NIDUS_COPIES", "no more copies of this key can be counted" },
	{ NIDUS_STOPPED, "NIDUS_STOPPED", "the caller stopped the work" },
	{ NIDUS_E_ARG, "NIDUS_E_ARG", "an argument makes no sense" },
	{ NIDUS_E_RANGE, "NIDUS_E_RANGE", "a number is out of range" },
	{ NIDUS_E_UNSUPPORTED, "NIDUS_E_UNSUPPORTED", "this filter cannot do that" },
	{ NIDUS_E_READONLY, "NIDUS_E_READONLY", "the filter is read-only" },
	{ NIDUS_E_MISMATCH, "NIDUS_E_MISMATCH", "the filters do not fit together" },
	{ NIDUS_E_NOMEM, "NIDUS_E_NOMEM", "not enough memory" },
	{ NIDUS_E_BUFFER, "NIDUS_E_BUFFER", "the buffer is too small" },
	{ NIDUS_E_IO, "NIDUS_E_IO", "the system could not read or write" },
	{ NIDUS_E_FORMAT, "NIDUS_E_FORMAT", "not a nidus file" },
	{ NIDUS_E_VERSION, "NIDUS_E_VERSION", "a nidus file of another version" },
	{ NIDUS_E_TRUNCATED, "NIDUS_E_TRUNCATED", "the file is truncated" },
	{ NIDUS_E_CORRUPT, "NIDUS_E_CORRUPT", "the file or filter is damaged" },
};

#define STATUSES (sizeof statuses / sizeof *statuses)

const char *nidus_status_name(nidus_status status)
{
	for (size_t i = 0; i < STATUSES; i++) {
		if (statuses[i].status == status)
			return statuses[i].name;
	}
	return "NIDUS_UNKNOWN";
}

const char *nidus_status_text(nidus_status status)
{
	for (size_t i = 0; i < STATUSES; i++) {
		if (statuses[i].status == status)
			return statuses[i].text;
	}
	return "an unknown status";
}

const char *nidus_reason(void)
{
	return reason_text();
}

const char *nidus_isa(void)
{
	return isa_name();
}

nidus_status nidus_set_isa(const char *name)
{
	return name == NULL ? fail(NIDUS_E_ARG, "name is NULL") : isa_set(name);
}

#define TEXT_OF(number) #number
#define VERSION_OF(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *nidus_version(void)
{
	return VERSION_OF(NIDUS_VERSION_MAJOR, NIDUS_VERSION_MINOR, NIDUS_VERSION_PATCH);
}
