/* SPDX-License-Identifier: MIT
 *
 * faults: an allocator and system calls that fail when they are told to.
 */
#ifndef NIDUS_TESTS_SUPPORT_FAULTS_H
#define NIDUS_TESTS_SUPPORT_FAULTS_H

#include "base/os.h"
#include "nidus.h"

/*
 * Keeps the books of all memory, and refuses request number `fail_at` (counted
 * from 1; 0: none). Memory is filled with rubbish, so that code that takes it for zero fails.
 */
struct ledger {
	uint64_t requests;
	uint64_t fail_at;
	uint64_t blocks; /* out now */
	uint64_t bytes;  /* out now */
	uint64_t most;   /* and at any time before; not of the system's */
};

nidus_allocator ledger_allocator(struct ledger *ledger);

/* The same for os.allocate and the os.map_ calls. Until faults_restore. */
void ledger_watch_system(struct ledger *ledger);

/*
 * Makes call number `fail_at` (from 1) of all calls through `os` that can fail
 * answer an error with this errno. Memory goes on as before.
 */
void faults_in_files(uint64_t fail_at, int error);

/* Whether the failure was reached, and which call it was. */
bool faults_happened(void);
const char *faults_name(void);

/* Whether a rename had gone well before. */
bool faults_after_rename(void);

/* Reads and writes of at most `most` bytes at a time from now on. */
void faults_short_transfers(size_t most);

/* As on a file system where every file has a name, from now on. */
void faults_only_named_files(void);

/* Puts the real calls back. */
void faults_restore(void);

#endif
