// SPDX-License-Identifier: MIT
package org.nidus;

/** What a merge does with equal entries. */
public enum Merge {
    /** Keeps all of them, so that what was added can be removed. */
    COPIES,
    /** Keeps them once. Keys that look the same then share an entry, so the result refuses removes. */
    UNION,
    /** Keeps one, whose value is the sum of theirs: for counts. The result refuses removes. */
    SUM,
    /** Keeps one, with the highest value. The result refuses removes. */
    MAX,
    /** Keeps one, whose value has all bits of theirs. The result refuses removes. */
    OR
}
