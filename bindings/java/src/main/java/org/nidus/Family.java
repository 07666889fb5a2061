// SPDX-License-Identifier: MIT
package org.nidus;

/** The filter designs. The choice is one of space and speed. */
public enum Family {
    /** The smallest that has the features asked for, or one that is clearly faster and hardly larger. */
    AUTO,
    /** Two buckets, power-of-two sizes. */
    CUCKOO,
    /** Cuckoo with coded buckets: one bit per key less. */
    SEMISORT,
    /** Cuckoo in small subtables with a stash each. */
    SIMPLIFIED,
    /** Chunks of any number, few moves. */
    CHUNKED,
    /** Any number of buckets. */
    BUCKETED,
    /** Overlapping windows. */
    WINDOWED,
    /** About one cache line per operation. */
    BREADCRUMB,
    /** The classic, which cannot remove. */
    BLOOM,
    /** One cache line per operation; cannot remove. */
    BLOCKED_BLOOM,
    /** Built from all keys at once, never changed, and smaller than all others: {@link Filter.Builder#of} makes it. */
    RIBBON;

    @Override
    public String toString() {
        return name().toLowerCase(java.util.Locale.ROOT).replace('_', '-');
    }
}
