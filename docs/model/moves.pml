/* SPDX-License-Identifier: MIT
 *
 * moves: the protocol of docs/concurrency.md, small enough to look at every
 * interleaving. Four groups of one slot, a stash of two, six entries with two
 * groups each. An insert that has to move what is in its way runs beside a remove
 * and two readers (-DPART=1), beside another insert and a reader (-DPART=2),
 * beside both a remove and an insert, with a stash that is empty at first
 * (-DPART=3), or beside somebody who puts a copy of the moved entry in and takes one
 * out again, and a reader of it (-DPART=4).
 *
 *     ./dev model
 *
 * What is checked:
 *  - a reader of an entry that is in from beginning to end never misses it;
 *  - at the end every entry that was put in is there exactly once, and one that
 *    was taken out is not;
 *  - at the end no stashed entry has an empty slot in its groups (a lookup in a
 *    filter without threads would not ask the stash then);
 *  - no process waits for ever (spin's check for invalid end states).
 *
 * Steps that are one atomic instruction in the code are one step here; what is
 * not, is not. Memory is sequentially consistent, which is more than the code
 * has: that acquiring loads and releasing stores are enough is argued in
 * src/base/stripes.h and watched by ThreadSanitizer.
 *
 * A model that finds nothing may be blind. -DBROKEN=1 takes the readers' second
 * look at the versions away, -DBROKEN=2 does not bring stashed entries home after
 * a chain, -DBROKEN=3 removes by the short way whatever the stash holds, and with
 * -DBROKEN=4 a remove does not change its pair's version: ./dev model checks that all
 * of them are found.
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
byte pair[6];         /* versions of pairs: odd while an entry of one leaves its place */

#define PAIR(id) pair[LOW(id) + HIGH(id)]

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
		home = stash[0]; lock(PAIR(home)); stash[0] = stash[1]; stash[1] = 0
	:: else ->
		if
		:: stash[1] != 0 && BELONGS(stash[1], group) ->
			home = stash[1]; lock(PAIR(home)); stash[1] = 0
		:: else
		fi
	fi;
	unlock(stash_version);
	if
	:: home != 0 -> slot[group] = home; unlock(PAIR(home))
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
		lock(PAIR(value));
		slot[to] = value;
		if
		:: at_once -> slot[from] = id; put[id] = true
		:: else -> slot[from] = 0; freed = from
		fi;
		unlock(PAIR(value))
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

/* An entry that is taken out of a locked group. */
inline clear(id, group)
{
#if BROKEN == 4
	slot[group] = 0
#else
	lock(PAIR(id));
	slot[group] = 0;
	unlock(PAIR(id))
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
		:: slot[group] == id -> clear(id, group); gone = true
#else
		:: slot[group] == id && stash[0] == 0 -> clear(id, group); gone = true
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
	:: stash[0] == id -> lock(stash_version); lock(PAIR(id)); stash[0] = stash[1]; stash[1] = 0;
		unlock(PAIR(id)); unlock(stash_version)
	:: stash[0] != id && stash[1] == id -> lock(stash_version); lock(PAIR(id)); stash[1] = 0;
		unlock(PAIR(id)); unlock(stash_version)
	:: else ->
		if
		:: slot[LOW(id)] == id -> clear(id, LOW(id)); bring_home(LOW(id), home)
		:: slot[LOW(id)] != id -> assert(slot[HIGH(id)] == id); clear(id, HIGH(id));
			bring_home(HIGH(id), home)
		fi
	fi;
	unlock_groups(id);
done:
	skip
}

/* Puts a copy of an entry in, if there is room, and takes one out again. */
proctype churn(byte id)
{
	byte home;
	bool gone = false;
	insert_shortly(id, LOW(id));
	if
	:: put[id]
	:: else -> insert_shortly(id, HIGH(id))
	fi;
	if
	:: put[id] -> remove_shortly(id, LOW(id), gone)
	:: else -> goto done
	fi;
	if
	:: gone -> goto done
	:: else -> remove_shortly(id, HIGH(id), gone)
	fi;
done:
	put[id] = put[id] && !gone
}

/* Looks an entry up that is in all the time. */
proctype reader(byte id)
{
	byte seen, before;
	bool found, stashed = stash[0] != 0; /* of a stash that is empty nothing need be asked */
again:
	seen = PAIR(id);
	(seen % 2 == 0) || PAIR(id) != seen;
	if
	:: seen % 2 == 1 -> stashed = true; goto again
	:: else
	fi;
	found = slot[HIGH(id)] == id;
	found = found || slot[LOW(id)] == id;
	if
	:: !found && stashed ->
stashed_again:
		before = stash_version;
		(before % 2 == 0) || stash_version != before;
		if
		:: before % 2 == 1 -> goto stashed_again
		:: else
		fi;
		found = stash[0] == id;
		found = found || stash[1] == id;
		if
		:: stash_version != before -> goto stashed_again
		:: else
		fi
	:: else
	fi;
#if BROKEN != 1
	if
	:: PAIR(id) != seen -> stashed = true; goto again
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
#if PART < 3
		stash[0] = S;
#endif
		run insert(N, at_once);
#if PART == 1 || PART == 3
		run remove(Q);
#else
		put[Q] = true;
#endif
#if PART == 1
		run reader(S);
#elif PART == 4
		run churn(E);
#else
		run insert(T, at_once);
#endif
#if PART != 3
		run reader(E)
#endif
	}
	_nr_pr == 1;
	assert(PLACES(E) == 1 + put[E] && PLACES(Z) == 1 && PLACES(S) == (PART < 3));
	assert(PLACES(Q) == put[Q] && PLACES(N) == put[N] && PLACES(T) == put[T]);
	assert(!HOMELESS(0) && !HOMELESS(1))
}
