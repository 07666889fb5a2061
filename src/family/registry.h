/* SPDX-License-Identifier: MIT
 *
 * registry: the families by their names in the source.
 */
#ifndef NIDUS_FAMILY_REGISTRY_H
#define NIDUS_FAMILY_REGISTRY_H

struct family;

extern const struct family family_cuckoo;
extern const struct family family_semisort;
extern const struct family family_simplified;
extern const struct family family_chunked;
extern const struct family family_bucketed;
extern const struct family family_windowed;
extern const struct family family_breadcrumb;
extern const struct family family_bloom;
extern const struct family family_blocked_bloom;
extern const struct family family_ribbon;

#endif
