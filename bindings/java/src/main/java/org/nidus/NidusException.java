// SPDX-License-Identifier: MIT
package org.nidus;

/** The library could not do what it was asked to; the message says why. The filter is as it was before the key that failed. */
public final class NidusException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** What kind of failure it is. */
    public enum Status {
        /** No place was found. */
        FULL(1),
        /** A batch of removes met a key that is not there. */
        NOT_FOUND(2),
        /** There is no room for another copy of this key. */
        COPIES(4),
        /** Whoever watched a build stopped it. */
        STOPPED(5),
        /** An argument makes no sense. */
        ARGUMENT(10),
        /** A number is out of range for the family. */
        RANGE(11),
        /** The filter does not have what the call needs, as removes from a union. */
        UNSUPPORTED(12),
        /** A change to a filter that was opened. */
        READ_ONLY(13),
        /** Two filters do not fit together. */
        MISMATCH(14),
        /** There is not enough memory. */
        MEMORY(20),
        /** It is not a nidus file, or its fields contradict each other. */
        FORMAT(31),
        /** It is a nidus file of another format version. */
        VERSION(32),
        /** The file ends too early. */
        TRUNCATED(33),
        /** A checksum or an invariant does not hold. */
        CORRUPT(34),
        /** Something that this version does not know. */
        OTHER(-1);

        private final int number;

        Status(int number) {
            this.number = number;
        }

        static Status of(int number) {
            for (Status status : values()) {
                if (status.number == number) {
                    return status;
                }
            }
            return OTHER;
        }
    }

    private final Status status;
    private final long done;

    NidusException(Status status, String reason, long done) {
        super(reason);
        this.status = status;
        this.done = done;
    }

    /**
     * What kind of failure it is.
     *
     * @return the status of the library
     */
    public Status status() {
        return status;
    }

    /**
     * Of a batch: how many keys were dealt with before the one that failed.
     *
     * @return a number of keys
     */
    public long done() {
        return done;
    }
}
