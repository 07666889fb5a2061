// SPDX-License-Identifier: MIT
package org.nidus;

import java.util.Set;

/**
 * What a filter is and how full it is.
 *
 * @param family the design, as the library names it
 * @param count entries now, copies counted
 * @param capacity keys promised to fit
 * @param maxCapacity keys it may grow to by itself
 * @param bytes memory of the table
 * @param seed what the hashing is keyed with
 * @param load used slots / slots
 * @param bitsPerKey 8 * bytes / count; 0 when empty
 * @param fprTarget the rate promised at capacity
 * @param fprNow the rate expected with what is in it now
 * @param slots per bucket or window
 * @param fingerprintBits stored per key, without those that tell its place
 * @param valueBits of the value beside each key; 0: it keeps none
 * @param features what this filter can do
 * @param readOnly whether it was opened, not loaded
 * @param concurrent whether threads change it at the same time
 */
public record Info(String family, long count, long capacity, long maxCapacity, long bytes, long seed, double load,
    double bitsPerKey, double fprTarget, double fprNow, int slots, int fingerprintBits, int valueBits, Set<Feature> features,
    boolean readOnly, boolean concurrent) {}
