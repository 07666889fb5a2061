/* SPDX-License-Identifier: MIT
 *
 * moves: the protocol of docs/concurrency.md, small enough to look at every
 * interleaving. Four groups of one slot, a stash of two, six entries with two
 * groups each. An insert that has to move what is in its way runs beside a remove
 * and two readers (-DPART=1), beside another insert and a reader (-DPART=2), or
 * beside both a remove and an insert, with a stash that is empty at first
 * (-DPART=3).
 *
 *     ./dev model
 *
 * What is checked:
 *  - a reader of an entry that is in from beginning to end never misses it;
 *  - at the end every entry that was put in is there exactly once, and one that
 *    was taken out is not;
 *  - at the end no stashed entry has an empty slot in its groups (a lookup in a
 *    filter without threads would not ask the stash then);
 *  - nobody waits for ever (spin's check for invalid end states).
 *
 * Steps that are one atomic instruction in the code are one step here; what is
 * not, is not. Memory is sequentially consistent, which is more than the code
 * has: that acquiring loads and releasing stores are enough is argued in
 * src/table/stripes.h and watched by ThreadSanitizer.
 *
 * A model that finds nothing may be blind. -DBROKEN=1 takes the readers' second
 * look at the versions away, -DBROKEN=2 does not bring stashed entries home after
 * a chain, -DBROKEN=3 removes by the short way whatever the stash holds: ./dev model
 * checks that all of them are found.
 */
#ifndef BROKEN
#define BROKEN 0
#endif

#ifndef PART
#define PART 1
#endif

#define GROUPS 4
#define NONE 255

/* Entries. E is moved; S begins in the stash; Q is taken out; N and T are put in. */
#define E 1 /* groups 1 and 2, at first in 1 */
#define Q 2 /* groups 0 and 3, at first in 0 */
#define Z 3 /* groups 2 and 3, at first in 3 */
#define S 4 /* groups 1 and 3 */
#define N 5 /* groups 0 and 1 */
#define T 6 /* groups 2 and 3 */

#define LOW(id) ((id) == E || (id) == S -> 1 : ((id) == Z || (id) == T -> 2 : 0))
#define HIGH(id) ((id) == N -> 1 : ((id) == E -> 2 : 3))
#define OTHER(id, group) ((group) == LOW(id) -> HIGH(id) : LOW(id))
#define BELONGS(id, group) ((group) == LOW(id) || (group) == HIGH(id))

byte slot[GROUPS];
byte version[GROUPS]; /* odd: locked */
byte stash[2];
byte stash_version;
bool put[7]; /* the insert answered OK */

inline lock(word)
{
	atomic { word % 2 == 0 -> word++ }
}

inline unlock(word)
{
	word++
}

inline lock_groups(id)
{
	lock(version[LOW(id)]);
	lock(version[HIGH(id)])
}

inline unlock_groups(id)
{
	unlock(version[HIGH(id)]);
	unlock(version[LOW(id)])
}

/* An empty slot of a locked group: a stashed entry comes home. */
inline bring_home(group, home)
{
	lock(stash_version);
	home = 0;
	if
	:: stash[0] != 0 && BELONGS(stash[0], group) ->
		home = stash[0]; stash[0] = stash[1]; stash[1] = 0
	:: else ->
		if
		:: stash[1] != 0 && BELONGS(stash[1], group) ->
			home = stash[1]; stash[1] = 0
		:: else
		fi
	fi;
	unlock(stash_version);
	if
	:: home != 0 -> slot[group] = home
	:: else
	fi
}

inline settle(group, home)
{
	if
	:: group != NONE && (stash[0] != 0 || stash[1] != 0) ->
		lock(version[group]);
		if
		:: slot[group] == 0 -> bring_home(group, home)
		:: else
		fi;
		unlock(version[group])
	:: else
	fi
}

/* The short way: into a slot that looks empty, under the lock of its group alone. */
inline insert_shortly(id, group)
{
	if
	:: slot[group] == 0 ->
		lock(version[group]);
		if
		:: slot[group] == 0 -> slot[group] = id; put[id] = true
		:: else
		fi;
		unlock(version[group])
	:: else
	fi
}

/* `at_once`: the key goes to the slot that a chain frees with the chain's last move. */
proctype insert(byte id; bool at_once)
{
	byte freed = NONE, from, to, value, home, tries = 0;
	bool to_stash = false;
	insert_shortly(id, LOW(id));
	if
	:: put[id] -> goto done
	:: else -> insert_shortly(id, HIGH(id))
	fi;
	if
	:: put[id] -> goto done
	:: else
	fi;
again:
	lock_groups(id);
	if
	:: slot[LOW(id)] == 0 -> slot[LOW(id)] = id; put[id] = true
	:: slot[LOW(id)] != 0 && slot[HIGH(id)] == 0 -> slot[HIGH(id)] = id; put[id] = true
	:: slot[LOW(id)] != 0 && slot[HIGH(id)] != 0 && to_stash ->
		lock(stash_version);
		if
		:: stash[0] == 0 -> stash[0] = id; put[id] = true
		:: stash[0] != 0 && stash[1] == 0 -> stash[1] = id; put[id] = true
		:: else
		fi;
		unlock(stash_version)
	:: else
	fi;
	unlock_groups(id);
	if
	:: put[id] || to_stash -> goto done
	:: else
	fi;
	/* Two chains are enough here: without a limit there is no end of versions. */
	if
	:: tries == 2 -> to_stash = true; goto again
	:: else -> tries++
	fi;
	/* The search: some entry in the way, and its other group, looked at without locks. */
	if
	:: from = LOW(id)
	:: from = HIGH(id)
	:: to_stash = true; goto again /* or it finds no chain */
	fi;
	value = slot[from];
	if
	:: value == 0 -> goto again
	:: else
	fi;
	to = OTHER(value, from);
	if
	:: slot[to] != 0 -> to_stash = true; goto again
	:: else
	fi;
	/* The move, under the locks of both slots: here these are groups, too. */
	lock_groups(value);
	if
	:: slot[from] == value && slot[to] == 0 ->
		slot[to] = value;
		if
		:: at_once -> slot[from] = id; put[id] = true
		:: else -> slot[from] = 0; freed = from
		fi
	:: else
	fi;
	unlock_groups(value);
	if
	:: put[id] -> goto done
	:: else -> goto again
	fi;
done:
#if BROKEN != 2
	settle(freed, home)
#endif
}

/* The short way: out of the slot where it was seen, unless something is stashed. */
inline remove_shortly(id, group, gone)
{
	if
	:: slot[group] == id ->
		lock(version[group]);
		if
#if BROKEN == 3
		:: slot[group] == id -> slot[group] = 0; gone = true
#else
		:: slot[group] == id && stash[0] == 0 -> slot[group] = 0; gone = true
#endif
		:: else
		fi;
		unlock(version[group])
	:: else
	fi
}

proctype remove(byte id)
{
	byte home;
	bool gone = false;
	remove_shortly(id, LOW(id), gone);
	if
	:: gone -> goto done
	:: else -> remove_shortly(id, HIGH(id), gone)
	fi;
	if
	:: gone -> goto done
	:: else
	fi;
	lock_groups(id);
	if
	:: stash[0] == id -> lock(stash_version); stash[0] = stash[1]; stash[1] = 0; unlock(stash_version)
	:: stash[0] != id && stash[1] == id -> lock(stash_version); stash[1] = 0; unlock(stash_version)
	:: else ->
		if
		:: slot[LOW(id)] == id -> slot[LOW(id)] = 0; bring_home(LOW(id), home)
		:: slot[LOW(id)] != id -> assert(slot[HIGH(id)] == id); slot[HIGH(id)] = 0;
			bring_home(HIGH(id), home)
		fi
	fi;
	unlock_groups(id);
done:
	skip
}

/* Looks an entry up that is in all the time. */
proctype reader(byte id)
{
	byte low, high, before;
	bool found;
again:
	low = version[LOW(id)];
	high = version[HIGH(id)];
	(low % 2 == 0 && high % 2 == 0) || version[LOW(id)] != low || version[HIGH(id)] != high;
	if
	:: low % 2 == 1 || high % 2 == 1 -> goto again
	:: else
	fi;
	found = slot[HIGH(id)] == id;
	found = found || slot[LOW(id)] == id;
	if
	:: !found ->
stashed:
		before = stash_version;
		(before % 2 == 0) || stash_version != before;
		if
		:: before % 2 == 1 -> goto stashed
		:: else
		fi;
		found = stash[0] == id;
		found = found || stash[1] == id;
		if
		:: stash_version != before -> goto stashed
		:: else
		fi
	:: else
	fi;
#if BROKEN != 1
	if
	:: version[LOW(id)] != low -> goto again
	:: else
	fi;
	if
	:: version[HIGH(id)] != high -> goto again
	:: else
	fi;
#endif
	assert(found)
}

#define PLACES(id) \
	((slot[0] == id) + (slot[1] == id) + (slot[2] == id) + (slot[3] == id) + \
	 (stash[0] == id) + (stash[1] == id))
#define HOMELESS(at) (stash[at] != 0 && (slot[LOW(stash[at])] == 0 || slot[HIGH(stash[at])] == 0))

init {
	bool at_once;
	atomic {
		if
		:: at_once = true
		:: at_once = false
		fi;
		slot[0] = Q;
		slot[1] = E;
		slot[3] = Z;
#if PART != 3
		stash[0] = S;
#endif
		run insert(N, at_once);
#if PART != 2
		run remove(Q);
#else
		put[Q] = true;
#endif
#if PART == 1
		run reader(S);
#else
		run insert(T, at_once);
#endif
#if PART != 3
		run reader(E)
#endif
	}
	_nr_pr == 1;
	assert(PLACES(E) == 1 && PLACES(Z) == 1 && PLACES(S) == (PART != 3));
	assert(PLACES(Q) == put[Q] && PLACES(N) == put[N] && PLACES(T) == put[T]);
	assert(!HOMELESS(0) && !HOMELESS(1))
}
