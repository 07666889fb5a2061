/* SPDX-License-Identifier: MIT
 *
 * misses: two counters in a perf_event group, so that both count the same time.
 */
#include "misses.h"

#if defined(__linux__)

#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int references_fd = -1, misses_fd = -1;

static int open_counter(uint64_t event, int group)
{
	struct perf_event_attr attributes;
	memset(&attributes, 0, sizeof attributes);
	attributes.type = PERF_TYPE_HARDWARE;
	attributes.size = sizeof attributes;
	attributes.config = event;
	attributes.disabled = group == -1;
	attributes.exclude_kernel = 1;
	attributes.exclude_hv = 1;
	return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, group, 0);
}

static void close_counters(void)
{
	if (misses_fd >= 0)
		close(misses_fd);
	if (references_fd >= 0)
		close(references_fd);
	references_fd = misses_fd = -1;
}

bool misses_start(void)
{
	references_fd = open_counter(PERF_COUNT_HW_CACHE_REFERENCES, -1);
	if (references_fd >= 0)
		misses_fd = open_counter(PERF_COUNT_HW_CACHE_MISSES, references_fd);
	if (misses_fd < 0) {
		close_counters();
		return false;
	}
	ioctl(references_fd, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
	return true;
}

bool misses_stop(uint64_t *references, uint64_t *missed)
{
	ioctl(references_fd, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
	bool read_both = read(references_fd, references, sizeof *references) ==
	                         (ssize_t)sizeof *references &&
	                 read(misses_fd, missed, sizeof *missed) == (ssize_t)sizeof *missed;
	close_counters();
	return read_both && *references > 0;
}

#else

bool misses_start(void)
{
	return false;
}

bool misses_stop(uint64_t *references, uint64_t *missed)
{
	*references = *missed = 0;
	return false;
}

#endif
