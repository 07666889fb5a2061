// SPDX-License-Identifier: MIT
package org.nidus;

import java.util.EnumSet;
import java.util.Set;

/** What a filter can do, or must be able to. */
public enum Feature {
    /** Keys can be removed. */
    DELETE,
    /** Entries can be walked, in languages that have a call for it. */
    ENUMERATE,
    /** Filters can be merged. */
    MERGE,
    /** A filter can grow. */
    GROW,
    /** Threads change the filter at the same time instead of one after another. */
    CONCURRENT,
    /** To ask for: the quickest family instead of the smallest. */
    FAST,
    /** To ask for: bulk builds keep copies of equal keys. */
    MULTISET,
    /** To ask for: nothing will be removed, and a breadcrumb filter is smaller. */
    NO_DELETE,
    /** To ask for: sorted, coded buckets, which are smaller and slower. */
    COMPACT,
    /** To ask for: a filter that is built once and never changed, the smallest of all. */
    STATIC;

    static long bits(Set<Feature> features) {
        long bits = 0;
        for (Feature feature : features) {
            bits |= 1L << feature.ordinal();
        }
        return bits;
    }

    static Set<Feature> of(long bits) {
        EnumSet<Feature> features = EnumSet.noneOf(Feature.class);
        for (Feature feature : values()) {
            if ((bits >> feature.ordinal() & 1) == 1) {
                features.add(feature);
            }
        }
        return features;
    }
}
