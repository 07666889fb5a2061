// SPDX-License-Identifier: MIT
package org.nidus;

import java.io.IOException;
import java.lang.ref.Cleaner;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.Collection;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.locks.StampedLock;
import java.util.function.LongUnaryOperator;

/**
 * A filter: a set that forgets its keys and keeps a few bits of each. {@code contains} is true for every key that is in it,
 * and for others with the rate that was chosen.
 *
 * <p>A key is text (its UTF-8 bytes), bytes, or a long. The first two are one kind: a text and its bytes are the same key;
 * longs are another: 7 is not "7".
 *
 * <p><b>Remove only keys that were added.</b> Any other key may take the entry of one that looks the same.
 *
 * <p>Threads may use a filter at will. Lookups run at the same time. A change waits for the calls that run, unless the filter
 * was made with {@link Feature#CONCURRENT}: then changes run at the same time, too.
 *
 * <p>A filter lives in memory that the garbage collector does not see. {@link #close} gives that back at once, and every
 * later call throws IllegalStateException; a filter that is forgotten is freed some time later.
 */
public final class Filter implements AutoCloseable {
    static final Cleaner CLEANER = Cleaner.create();
    private static final int PACKED_BYTES = 1 << 16;
    private static final int PACKED_KEYS = 1 << 13;

    /** The native filter and its lock, which outlive the Filter until they are cleaned. */
    private static final class State implements Runnable {
        final StampedLock lock = new StampedLock();
        final boolean shared;
        final Buffer bytes; // kept for as long as the filter reads them
        long handle;

        State(long handle, boolean shared, Buffer bytes) {
            this.handle = handle;
            this.shared = shared;
            this.bytes = bytes;
        }

        @Override
        public void run() {
            long stamp = lock.writeLock();
            try {
                long freed = handle;
                handle = 0;
                if (freed != 0) {
                    Native.free(freed);
                }
            } finally {
                lock.unlockWrite(stamp);
            }
        }

        long open() {
            if (handle == 0) {
                throw new IllegalStateException("the filter was closed");
            }
            return handle;
        }

        /** Runs a call that other reads may run beside. */
        long read(LongUnaryOperator call) {
            long stamp = lock.readLock();
            try {
                return call.applyAsLong(open());
            } finally {
                lock.unlockRead(stamp);
            }
        }

        /** Runs a call that needs the filter for itself, unless threads share it. */
        long write(LongUnaryOperator call) {
            if (shared) {
                return read(call);
            }
            long stamp = lock.writeLock();
            try {
                return call.applyAsLong(open());
            } finally {
                lock.unlockWrite(stamp);
            }
        }
    }

    private final State state;
    private final Cleaner.Cleanable cleanable;

    private Filter(long handle, Buffer bytes) {
        long[] numbers = new long[16];
        Native.info(handle, numbers);
        state = new State(handle, numbers[11] != 0, bytes);
        cleanable = CLEANER.register(this, state);
    }

    /** A filter that a call made. */
    static Filter of(long handle) {
        return new Filter(handle, null);
    }

    // ------------------------------------------------------------------ making one

    /** How a filter is to be. What is not set is the library's default. */
    public static final class Builder {
        private Family family = Family.AUTO;
        private long capacity, seed, maxCapacity;
        private double fpr;
        private int slots, valueBits, threads = 1;
        private final Set<Feature> features = EnumSet.noneOf(Feature.class);

        private Builder() {}

        private static long notNegative(String name, long value) {
            if (value < 0) {
                throw new IllegalArgumentException(name + " must not be negative, and is " + value);
            }
            return value;
        }

        /**
         * Keys that must fit. A filter of given keys has room for those if this is not set.
         *
         * @param keys how many
         * @return this
         */
        public Builder capacity(long keys) {
            capacity = notNegative("capacity", keys);
            return this;
        }

        /**
         * The false-positive rate at the capacity; 2^-8 if it is not set.
         *
         * @param rate from 2^-32 to 2^-4; of a static filter up to 2^-1
         * @return this
         */
        public Builder fpr(double rate) {
            fpr = checkRate(rate, 0.5);
            return this;
        }

        private static double checkRate(double rate, double most) {
            if (!(rate > 0 && rate <= most)) {
                throw new IllegalArgumentException("fpr must be above 0 and at most " + most + ", not " + rate);
            }
            return rate;
        }

        /**
         * The family; {@link Family#AUTO} if it is not set.
         *
         * @param design the family
         * @return this
         */
        public Builder family(Family design) {
            family = Objects.requireNonNull(design);
            return this;
        }

        /**
         * What the hashing is keyed with: random if it is not set, or 0. Filters can be merged if they have the same.
         *
         * @param number any
         * @return this
         */
        public Builder seed(long number) {
            seed = number;
            return this;
        }

        /**
         * Lets the filter grow by itself.
         *
         * @param keys up to so many
         * @return this
         */
        public Builder maxCapacity(long keys) {
            maxCapacity = notNegative("maxCapacity", keys);
            return this;
        }

        /**
         * Slots per bucket or window; the family's best if it is not set.
         *
         * @param number how many
         * @return this
         */
        public Builder slots(int number) {
            slots = (int) notNegative("slots", number);
            return this;
        }

        /**
         * What the filter must be able to do.
         *
         * @param wanted features, added to those that were asked for before
         * @return this
         */
        public Builder features(Feature... wanted) {
            features.addAll(List.of(wanted));
            return this;
        }

        /**
         * Keeps a value beside each key.
         *
         * @param bits of a value, up to 32
         * @return this
         */
        public Builder valueBits(int bits) {
            valueBits = (int) notNegative("valueBits", bits);
            return this;
        }

        /**
         * How many threads may work on a filter of given keys; one if it is not set.
         *
         * @param number how many
         * @return this
         */
        public Builder threads(int number) {
            threads = (int) notNegative("threads", number);
            return this;
        }

        private long[] options(long withSeed) {
            return options(withSeed, features);
        }

        private long[] options(long withSeed, Set<Feature> wanted) {
            if (fpr != 0 && family != Family.RIBBON && !wanted.contains(Feature.STATIC)) {
                checkRate(fpr, 0.0625);
            }
            return new long[] {family.ordinal(), capacity, withSeed, maxCapacity, slots, Feature.bits(wanted), valueBits, threads};
        }

        /**
         * Makes an empty filter.
         *
         * @return the filter
         */
        public Filter build() {
            return new Filter(Native.create(options(seed), fpr), null);
        }

        /**
         * Makes a filter of all these keys. Equal keys are stored once, unless {@link Feature#MULTISET} is asked for.
         *
         * @param keys the keys
         * @return the filter
         */
        public Filter of(long... keys) {
            return new Filter(Native.build(options(seed), fpr, keys, keys.length, false), null);
        }

        /**
         * Makes a filter of all these keys. Equal keys are stored once, unless {@link Feature#MULTISET} is asked for.
         *
         * @param keys the keys
         * @return the filter
         */
        public Filter of(Collection<String> keys) {
            long known = knownSeed();
            long[] hashes = hashes(known, keys);
            return new Filter(Native.build(options(known), fpr, hashes, hashes.length, true), null);
        }

        private long knownSeed() {
            return seed != 0 ? seed : new SecureRandom().nextLong() | 1;
        }

        private static long[] hashes(long seed, Collection<String> keys) {
            List<String> all = List.copyOf(keys);
            long[] hashes = new long[all.size()];
            try (Filter hasher = builder().capacity(1).seed(seed).build()) {
                hasher.state.read(filter -> {
                    pack(all, (bytes, ends, n, first) -> Native.packed(filter, Native.HASH, bytes, ends, n, hashes, first));
                    return 0;
                });
            }
            return hashes;
        }

        private static long[] hashes(long seed, long[] keys) {
            long[] hashes = new long[keys.length];
            try (Filter hasher = builder().capacity(1).seed(seed).build()) {
                hasher.state.read(filter -> {
                    Native.hashLongs(filter, keys, keys.length, hashes);
                    return 0;
                });
            }
            return hashes;
        }

        private Filter ofPairs(long known, long[] hashes, long[] values) {
            same(hashes.length, values.length);
            return new Filter(Native.buildTwo(options(known), fpr, hashes, values, true), null);
        }

        /**
         * Makes a filter of all these keys with a value each, of {@link #valueBits}. Pairs that are equal in both are stored once,
         * unless {@link Feature#MULTISET} is asked for. A static filter has one value per key.
         *
         * @param keys the keys
         * @param values as many
         * @return the filter
         */
        public Filter ofValues(long[] keys, long[] values) {
            long known = knownSeed();
            return ofPairs(known, hashes(known, keys), values);
        }

        /**
         * As {@link #ofValues(long[], long[])}.
         *
         * @param keys the keys
         * @param values as many
         * @return the filter
         */
        public Filter ofValues(List<String> keys, long[] values) {
            long known = knownSeed();
            return ofPairs(known, hashes(known, keys), values);
        }

        private Filter ofLists(long known, long[] hashes, long[] excluded) {
            Set<Feature> wanted = EnumSet.of(Feature.STATIC);
            wanted.addAll(features);
            return new Filter(Native.buildTwo(options(known, wanted), fpr, hashes, excluded, false), null);
        }

        /**
         * Makes a static filter that is right about two lists: it finds all keys and none of the excluded ones. A key of neither is
         * found with a rate of at most {@link #fpr}, or what makes the filter smallest if that is not set. A key that is in both
         * is {@link NidusException.Status#ARGUMENT}.
         *
         * @param keys that are found
         * @param excluded keys that are not
         * @return the filter
         */
        public Filter ofExcluding(long[] keys, long[] excluded) {
            long known = knownSeed();
            return ofLists(known, hashes(known, keys), hashes(known, excluded));
        }

        /**
         * As {@link #ofExcluding(long[], long[])}.
         *
         * @param keys that are found
         * @param excluded keys that are not
         * @return the filter
         */
        public Filter ofExcluding(Collection<String> keys, Collection<String> excluded) {
            long known = knownSeed();
            return ofLists(known, hashes(known, keys), hashes(known, excluded));
        }

        /**
         * Makes a builder of more keys than there is memory for. If no capacity is set it is the number of keys; where a key may
         * come several times, with {@link Feature#MULTISET} or values, it must be set. The table must consist of parts:
         * {@link Family#CUCKOO}, {@link Family#SEMISORT} and {@link Family#BLOOM} are
         * {@link NidusException.Status#UNSUPPORTED}, and so is growth. For few keys {@link Family#AUTO} may be one of those.
         *
         * @param memory bytes that it takes, 16 MiB at least
         * @param folder for temporary files; null: the one that TMPDIR names, or /var/tmp
         * @return the builder, without keys
         */
        public ExternalBuilder external(long memory, Path folder) {
            notNegative("memory", memory);
            return new ExternalBuilder(Native.builderCreate(options(seed), fpr, memory, folder == null ? null : text(folder)));
        }
    }

    /**
     * Says how a filter is to be.
     *
     * @return a builder with the library's defaults
     */
    public static Builder builder() {
        return new Builder();
    }

    /** A path as Java itself gives it to the system. */
    static byte[] text(Path path) {
        byte[] bytes = path.toString().getBytes(Charset.forName(System.getProperty("sun.jnu.encoding", "UTF-8")));
        return Arrays.copyOf(bytes, bytes.length + 1);
    }

    /**
     * Reads a filter from a file. Everything is checked before it is trusted.
     *
     * @param path a file that {@link #save}, the nidus command or another language wrote
     * @return the filter
     * @throws IOException if the system refuses
     */
    public static Filter load(Path path) throws IOException {
        return new Filter(Native.load(text(path), false), null);
    }

    /**
     * Reads a filter from the bytes of a file.
     *
     * @param bytes all of them
     * @return the filter
     */
    public static Filter load(byte[] bytes) {
        return new Filter(Native.loadBytes(Objects.requireNonNull(bytes)), null);
    }

    /**
     * Maps a file: lookups start at once, and processes share its pages. The filter cannot be changed. The header is checked
     * and the table is not read, so a damaged file may give wrong answers, but no call reads outside of it. A file that another
     * program truncates in place ends this one with SIGBUS: load files that others may truncate.
     *
     * @param path a file that {@link #save}, the nidus command or another language wrote
     * @return the filter
     * @throws IOException if the system refuses
     */
    public static Filter open(Path path) throws IOException {
        return new Filter(Native.load(text(path), true), null);
    }

    /**
     * The filter in the bytes of a direct buffer, from its position to its limit, used where they are. They must not change
     * while the filter is used, which cannot be changed either. They are checked as those of a file that is opened.
     *
     * @param bytes a direct buffer
     * @return the filter
     */
    public static Filter open(ByteBuffer bytes) {
        ByteBuffer kept = direct(bytes, "bytes").duplicate();
        return new Filter(Native.openBuffer(kept, kept.position(), kept.remaining()), kept);
    }

    /**
     * A filter with the entries of all, which were made with the same options and the same seed.
     *
     * @param filters at least one
     * @param how what becomes of equal entries
     * @return the filter
     */
    public static Filter merge(Collection<Filter> filters, Merge how) {
        Objects.requireNonNull(how);
        Filter[] all = filters.toArray(new Filter[0]);
        long[] stamps = new long[all.length];
        long[] handles = new long[all.length];
        int held = 0;
        try {
            for (; held < all.length; held++) {
                int before = List.of(all).indexOf(all[held]); // a second lock on one filter could wait for a writer that waits for us
                stamps[held] = before < held ? 0 : all[held].state.lock.readLock();
                handles[held] = all[held].state.handle;
            }
            for (Filter filter : all) {
                filter.state.open();
            }
            return new Filter(Native.merge(handles, how.ordinal()), null);
        } finally {
            while (held-- > 0) {
                if (stamps[held] != 0) {
                    all[held].state.lock.unlockRead(stamps[held]);
                }
            }
        }
    }

    /**
     * The union of two: {@link #merge} with {@link Merge#UNION}.
     *
     * @param other a filter with the same options and seed
     * @return a filter with the keys of both, which refuses removes
     */
    public Filter union(Filter other) {
        return merge(List.of(this, other), Merge.UNION);
    }

    /**
     * An independent copy, which can be changed.
     *
     * @return the copy
     */
    public Filter copy() {
        return new Filter(state.read(Native::copy), null);
    }

    /** Gives the memory back. Any later call but this one throws. */
    @Override
    public void close() {
        cleanable.clean();
    }

    // ------------------------------------------------------------------ single keys

    /** The UTF-8 of a text. Halves of surrogate pairs have none, and would all become one key. */
    static byte[] utf8(String key) {
        for (int i = 0; i < key.length(); i++) {
            char letter = key.charAt(i);
            if (!Character.isSurrogate(letter)) {
                continue;
            }
            if (Character.isLowSurrogate(letter) || i + 1 == key.length() || !Character.isLowSurrogate(key.charAt(i + 1))) {
                throw new IllegalArgumentException("the key has half of a surrogate pair at " + i + ", which has no UTF-8");
            }
            i++;
        }
        return key.getBytes(StandardCharsets.UTF_8);
    }

    private static ByteBuffer direct(ByteBuffer buffer, String what) {
        if (!buffer.isDirect()) {
            throw new IllegalArgumentException(what + " must be a direct buffer");
        }
        return buffer;
    }

    private static byte[] heap(ByteBuffer key) {
        byte[] bytes = new byte[key.remaining()];
        key.duplicate().get(bytes);
        return bytes;
    }

    private long look(int what, byte[] key) {
        Objects.requireNonNull(key);
        return state.read(filter -> Native.actBytes(filter, what, key, 0, 0));
    }

    private long look(int what, long key) {
        return state.read(filter -> Native.actLong(filter, what, key, 0, 0));
    }

    private long change(int what, byte[] key, long a, long b) {
        Objects.requireNonNull(key);
        return state.write(filter -> Native.actBytes(filter, what, key, a, b));
    }

    private long change(int what, long key, long a, long b) {
        return state.write(filter -> Native.actLong(filter, what, key, a, b));
    }

    /**
     * Whether the key is in the filter: true for every key that is, and for others with the filter's rate.
     *
     * @param key a key
     * @return false if it certainly is not
     */
    public boolean contains(String key) {
        return look(Native.CONTAINS, utf8(key)) != 0;
    }

    /**
     * As {@link #contains(String)}.
     *
     * @param key a key
     * @return false if it certainly is not
     */
    public boolean contains(byte[] key) {
        return look(Native.CONTAINS, key) != 0;
    }

    /**
     * As {@link #contains(String)}, of the bytes from a buffer's position to its limit; those of a direct buffer are used where
     * they are.
     *
     * @param key a key
     * @return false if it certainly is not
     */
    public boolean contains(ByteBuffer key) {
        if (!key.isDirect()) {
            return contains(heap(key));
        }
        ByteBuffer bytes = key.duplicate(); // with a position that nobody else moves
        return state.read(filter -> Native.actDirect(filter, Native.CONTAINS, bytes, bytes.position(), bytes.remaining())) != 0;
    }

    /**
     * As {@link #contains(String)}.
     *
     * @param key a key
     * @return false if it certainly is not
     */
    public boolean contains(long key) {
        return look(Native.CONTAINS, key) != 0;
    }

    /**
     * Puts one copy of a key in.
     *
     * @param key a key
     */
    public void add(String key) {
        change(Native.ADD, utf8(key), 0, 0);
    }

    /**
     * Puts one copy of a key in.
     *
     * @param key a key
     */
    public void add(byte[] key) {
        change(Native.ADD, key, 0, 0);
    }

    /**
     * Puts one copy of a key in: the bytes from a buffer's position to its limit.
     *
     * @param key a key
     */
    public void add(ByteBuffer key) {
        if (!key.isDirect()) {
            add(heap(key));
            return;
        }
        ByteBuffer bytes = key.duplicate();
        state.write(filter -> Native.actDirect(filter, Native.ADD, bytes, bytes.position(), bytes.remaining()));
    }

    /**
     * Puts one copy of a key in.
     *
     * @param key a key
     */
    public void add(long key) {
        change(Native.ADD, key, 0, 0);
    }

    /**
     * Puts a key in unless the filter contains it. Then false: the entry may be that of a key that looks the same, and you
     * must not remove it.
     *
     * @param key a key
     * @return whether it was put in
     */
    public boolean addNew(String key) {
        return change(Native.ADD_NEW, utf8(key), 0, 0) != 0;
    }

    /**
     * As {@link #addNew(String)}.
     *
     * @param key a key
     * @return whether it was put in
     */
    public boolean addNew(byte[] key) {
        return change(Native.ADD_NEW, key, 0, 0) != 0;
    }

    /**
     * As {@link #addNew(String)}.
     *
     * @param key a key
     * @return whether it was put in
     */
    public boolean addNew(long key) {
        return change(Native.ADD_NEW, key, 0, 0) != 0;
    }

    /**
     * Takes one copy of a key out. <b>Only for keys that were added</b>: any other key may take the entry of one that looks
     * the same.
     *
     * @param key a key
     * @return false if there is none
     */
    public boolean remove(String key) {
        return change(Native.REMOVE, utf8(key), 0, 0) != 0;
    }

    /**
     * As {@link #remove(String)}.
     *
     * @param key a key
     * @return false if there is none
     */
    public boolean remove(byte[] key) {
        return change(Native.REMOVE, key, 0, 0) != 0;
    }

    /**
     * As {@link #remove(String)}.
     *
     * @param key a key
     * @return false if there is none
     */
    public boolean remove(long key) {
        return change(Native.REMOVE, key, 0, 0) != 0;
    }

    /**
     * Copies of a key, those of keys that look the same included.
     *
     * @param key a key
     * @return how many
     */
    public long count(String key) {
        return look(Native.COUNT, utf8(key));
    }

    /**
     * As {@link #count(String)}.
     *
     * @param key a key
     * @return how many
     */
    public long count(byte[] key) {
        return look(Native.COUNT, key);
    }

    /**
     * As {@link #count(String)}.
     *
     * @param key a key
     * @return how many
     */
    public long count(long key) {
        return look(Native.COUNT, key);
    }

    // ------------------------------------------------------------------ values and counts

    /**
     * Puts a key in with a value, in a filter with valueBits. A key may have several.
     *
     * @param key a key
     * @param value of so many bits
     */
    public void addValue(String key, long value) {
        change(Native.ADD_VALUE, utf8(key), value, 0);
    }

    /**
     * As {@link #addValue(String, long)}.
     *
     * @param key a key
     * @param value of so many bits
     */
    public void addValue(long key, long value) {
        change(Native.ADD_VALUE, key, value, 0);
    }

    /**
     * The values of all entries that look like the key; its own are among them.
     *
     * @param key a key
     * @return the values, in no order
     */
    public long[] values(String key) {
        return valuesOf(filter -> Native.actBytes(filter, Native.HASH, utf8(key), 0, 0));
    }

    /**
     * As {@link #values(String)}.
     *
     * @param key a key
     * @return the values, in no order
     */
    public long[] values(long key) {
        return valuesOf(filter -> Native.actLong(filter, Native.HASH, key, 0, 0));
    }

    private long[] valuesOf(LongUnaryOperator hash) {
        long[][] values = {null};
        state.read(filter -> {
            values[0] = Native.values(filter, hash.applyAsLong(filter));
            return 0;
        });
        return values[0];
    }

    /**
     * Takes out one entry of the key that has this value.
     *
     * @param key a key
     * @param value its value
     * @return false if there is none
     */
    public boolean removeValue(String key, long value) {
        return change(Native.REMOVE_VALUE, utf8(key), value, 0) != 0;
    }

    /**
     * As {@link #removeValue(String, long)}.
     *
     * @param key a key
     * @param value its value
     * @return false if there is none
     */
    public boolean removeValue(long key, long value) {
        return change(Native.REMOVE_VALUE, key, value, 0) != 0;
    }

    /**
     * Gives one entry of the key that has the value {@code old} another one.
     *
     * @param key a key
     * @param old its value
     * @param fresh the new one
     * @return false if there is none
     */
    public boolean replaceValue(String key, long old, long fresh) {
        return change(Native.REPLACE_VALUE, utf8(key), old, fresh) != 0;
    }

    /**
     * As {@link #replaceValue(String, long, long)}.
     *
     * @param key a key
     * @param old its value
     * @param fresh the new one
     * @return false if there is none
     */
    public boolean replaceValue(long key, long old, long fresh) {
        return change(Native.REPLACE_VALUE, key, old, fresh) != 0;
    }

    private static long delta(long delta) {
        return Builder.notNegative("a delta", delta);
    }

    /**
     * Counts: adds to the value of the key, or puts it in with that value. The highest value means "or more".
     *
     * @param key a key
     * @param delta how much
     */
    public void addCount(String key, long delta) {
        change(Native.ADD_COUNT, utf8(key), delta(delta), 0);
    }

    /**
     * As {@link #addCount(String, long)}.
     *
     * @param key a key
     * @param delta how much
     */
    public void addCount(long key, long delta) {
        change(Native.ADD_COUNT, key, delta(delta), 0);
    }

    /**
     * The count of a key: never too low, but for the highest value, which means "or more".
     *
     * @param key a key
     * @return its count
     */
    public long getCount(String key) {
        return look(Native.GET_COUNT, utf8(key));
    }

    /**
     * As {@link #getCount(String)}.
     *
     * @param key a key
     * @return its count
     */
    public long getCount(long key) {
        return look(Native.GET_COUNT, key);
    }

    // ------------------------------------------------------------------ batches

    /** Takes keys packed one after another; the first of them is number `first`. */
    interface Packed<E extends Exception> {
        void take(byte[] bytes, int[] ends, int n, int first) throws E;
    }

    static void same(int keys, int values) {
        if (keys != values) {
            throw new IllegalArgumentException("there are " + keys + " keys and " + values + " values");
        }
    }

    /** Packs texts, some at a time. */
    static <E extends Exception> void pack(Collection<String> keys, Packed<E> to) throws E {
        byte[] bytes = new byte[PACKED_BYTES];
        int[] ends = new int[PACKED_KEYS];
        int n = 0, first = 0, end = 0;
        for (String key : keys) {
            byte[] one = utf8(key);
            if (n == PACKED_KEYS || n > 0 && end + one.length > bytes.length) {
                to.take(bytes, ends, n, first);
                first += n;
                n = end = 0;
            }
            if (one.length > bytes.length) {
                bytes = Arrays.copyOf(bytes, one.length);
            }
            System.arraycopy(one, 0, bytes, end, one.length);
            end += one.length;
            ends[n++] = end;
        }
        to.take(bytes, ends, n, first);
    }

    /**
     * {@link #contains(long)} of each key.
     *
     * @param keys the keys, which are not copied
     * @return an answer for each
     */
    public boolean[] containsAll(long[] keys) {
        boolean[] yes = new boolean[keys.length];
        containsAll(keys, yes);
        return yes;
    }

    /**
     * {@link #contains(long)} of each key, in room of the caller's, which can be used again.
     *
     * @param keys the keys, which are not copied
     * @param yes room for as many answers or more
     */
    public void containsAll(long[] keys, boolean[] yes) {
        if (yes.length < keys.length) {
            throw new IllegalArgumentException("yes must have room for " + keys.length + " answers");
        }
        state.read(filter -> {
            Native.containsLongs(filter, keys, 0, keys.length, yes);
            return 0;
        });
    }

    /**
     * {@link #contains(String)} of each key.
     *
     * @param keys the keys
     * @return an answer for each, in the order of the collection
     */
    public boolean[] containsAll(Collection<String> keys) {
        List<String> all = List.copyOf(keys); // as many as there are answers, whatever other threads do
        boolean[] yes = new boolean[all.size()];
        pack(all, (bytes, ends, n, first) -> state.read(filter -> {
            Native.packed(filter, Native.CONTAINS, bytes, ends, n, yes, first);
            return 0;
        }));
        return yes;
    }

    /**
     * {@link #contains(long)} of each key, without copies: 1 or 0 for each goes to {@code yes}. The keys are those between
     * position and limit, in this machine's byte order, and the answers follow the position of {@code yes}; no position moves.
     *
     * @param keys a direct buffer in native order
     * @param yes a direct buffer with room for as many bytes
     */
    public void containsAll(LongBuffer keys, ByteBuffer yes) {
        checkKeys(keys);
        LongBuffer asked = keys.duplicate();
        ByteBuffer answers = direct(yes, "yes").duplicate();
        if (answers.isReadOnly() || answers.remaining() < asked.remaining()) {
            throw new IllegalArgumentException("yes must have room for " + asked.remaining() + " answers");
        }
        state.read(filter -> {
            Native.containsDirect(filter, asked, asked.position(), asked.remaining(), answers, answers.position());
            return 0;
        });
    }

    /**
     * Whether each key is there, by its bytes and without copies: 1 or 0 for each goes to {@code yes}. The keys lie one after
     * another from the position of {@code keys} on, as columns of texts do; {@code ends} has, between position and limit, where
     * each key ends, counted from there, and so the next begins. The answers follow the position of {@code yes}; no position
     * moves.
     *
     * @param keys a direct buffer
     * @param ends a direct buffer in native order
     * @param yes a direct buffer with room for as many bytes as there are keys
     * @throws IllegalArgumentException if a key ends before it begins or beyond the limit of {@code keys}
     */
    public void containsAll(ByteBuffer keys, IntBuffer ends, ByteBuffer yes) {
        ByteBuffer answers = direct(yes, "yes").duplicate();
        if (answers.isReadOnly() || answers.remaining() < ends.remaining()) {
            throw new IllegalArgumentException("yes must have room for " + ends.remaining() + " answers");
        }
        Bytes all = new Bytes(keys, ends);
        state.read(filter -> {
            all.pass(filter, Native.CONTAINS, answers, answers.position());
            return 0;
        });
    }

    /** Keys in direct buffers, as they were when the call began. */
    private record Bytes(ByteBuffer keys, IntBuffer ends) {
        Bytes(ByteBuffer keys, IntBuffer ends) {
            if (!ends.isDirect() || ends.order() != ByteOrder.nativeOrder()) {
                throw new IllegalArgumentException("ends must be a direct buffer in native order: "
                    + "ByteBuffer.allocateDirect(n * 4).order(ByteOrder.nativeOrder()).asIntBuffer()");
            }
            this.keys = direct(keys, "keys").duplicate();
            this.ends = ends.duplicate();
        }

        void pass(long filter, int what, ByteBuffer yes, int at) {
            Native.packedDirect(filter, what, keys, keys.position(), keys.remaining(), ends, ends.position(), ends.remaining(),
                yes, at);
        }
    }

    private void changeAll(int what, ByteBuffer keys, IntBuffer ends) {
        Bytes all = new Bytes(keys, ends);
        state.write(filter -> {
            all.pass(filter, what, null, 0);
            return 0;
        });
    }

    static void checkKeys(LongBuffer keys) {
        if (!keys.isDirect() || keys.order() != ByteOrder.nativeOrder()) {
            throw new IllegalArgumentException("keys must be a direct buffer in native order: "
                + "ByteBuffer.allocateDirect(n * 8).order(ByteOrder.nativeOrder()).asLongBuffer()");
        }
    }

    private void changeAll(int what, long[] keys) {
        state.write(filter -> {
            Native.changeLongs(filter, what, keys, 0, keys.length);
            return 0;
        });
    }

    private void changeAll(int what, Collection<String> keys) {
        pack(List.copyOf(keys), (bytes, ends, n, first) -> {
            try {
                state.write(filter -> {
                    Native.packed(filter, what, bytes, ends, n, null, 0);
                    return 0;
                });
            } catch (NidusException error) {
                throw new NidusException(error.status(), error.getMessage(), first + error.done());
            }
        });
    }

    /**
     * {@link #add(long)} of each key, up to the first that fails; the exception's {@code done} tells how many were added.
     *
     * @param keys the keys, which are not copied
     */
    public void addAll(long[] keys) {
        changeAll(Native.ADD, keys);
    }

    /**
     * As {@link #addAll(long[])}.
     *
     * @param keys the keys
     */
    public void addAll(Collection<String> keys) {
        changeAll(Native.ADD, keys);
    }

    /**
     * As {@link #addAll(long[])}, of the keys between position and limit.
     *
     * @param keys a direct buffer in native order
     */
    public void addAll(LongBuffer keys) {
        checkKeys(keys);
        LongBuffer all = keys.duplicate();
        state.write(filter -> {
            Native.changeDirect(filter, Native.ADD, all, all.position(), all.remaining());
            return 0;
        });
    }

    /**
     * As {@link #addAll(long[])}, by their bytes; the keys lie as {@link #containsAll(ByteBuffer, IntBuffer, ByteBuffer)} says.
     *
     * @param keys a direct buffer
     * @param ends a direct buffer in native order
     * @throws IllegalArgumentException if a key ends before it begins or beyond the limit of {@code keys}; none is added then
     */
    public void addAll(ByteBuffer keys, IntBuffer ends) {
        changeAll(Native.ADD, keys, ends);
    }

    /**
     * {@link #remove(long)} of each key, up to the first that is not there, which is an exception here; its {@code done} tells
     * how many were removed.
     *
     * @param keys the keys, which are not copied
     */
    public void removeAll(long[] keys) {
        changeAll(Native.REMOVE, keys);
    }

    /**
     * As {@link #removeAll(long[])}.
     *
     * @param keys the keys
     */
    public void removeAll(Collection<String> keys) {
        changeAll(Native.REMOVE, keys);
    }

    /**
     * As {@link #removeAll(long[])}, by their bytes; the keys lie as {@link #containsAll(ByteBuffer, IntBuffer, ByteBuffer)} says.
     *
     * @param keys a direct buffer
     * @param ends a direct buffer in native order
     * @throws IllegalArgumentException if a key ends before it begins or beyond the limit of {@code keys}; none is removed then
     */
    public void removeAll(ByteBuffer keys, IntBuffer ends) {
        changeAll(Native.REMOVE, keys, ends);
    }

    /**
     * Adds 1 to the count of each key, up to the first that fails.
     *
     * @param keys the keys, which are not copied
     */
    public void countAll(long[] keys) {
        changeAll(Native.ADD_COUNT, keys);
    }

    /**
     * As {@link #countAll(long[])}.
     *
     * @param keys the keys
     */
    public void countAll(Collection<String> keys) {
        changeAll(Native.ADD_COUNT, keys);
    }

    // ------------------------------------------------------------------ the whole filter

    /**
     * The number of entries.
     *
     * @return how many, copies counted
     */
    public long size() {
        return state.read(Native::size);
    }

    /**
     * What the filter is and how full it is.
     *
     * @return figures of this moment
     */
    public Info info() {
        long[] n = new long[16];
        state.read(filter -> {
            Native.info(filter, n);
            return 0;
        });
        return new Info(Native.familyName((int) n[9]), n[0], n[1], n[2], n[3], n[4], Double.longBitsToDouble(n[12]),
            Double.longBitsToDouble(n[13]), Double.longBitsToDouble(n[14]), Double.longBitsToDouble(n[15]), (int) n[6], (int) n[7],
            (int) n[8], Feature.of(n[5]), n[10] != 0, n[11] != 0);
    }

    private void whole(int what, long capacity) {
        Builder.notNegative("capacity", capacity);
        state.write(filter -> {
            Native.change(filter, what, capacity);
            return 0;
        });
    }

    /** Takes everything out; size and seed stay. */
    public void clear() {
        whole(Native.CLEAR, 0);
    }

    /**
     * Makes room at the same rate, of a filter with maxCapacity.
     *
     * @param capacity for so many keys
     */
    public void grow(long capacity) {
        whole(Native.GROW, capacity);
    }

    /**
     * Gives memory back.
     *
     * @param capacity room for so many keys stays; 0: for those in it
     */
    public void shrink(long capacity) {
        whole(Native.SHRINK, capacity);
    }

    /**
     * Makes a finished filter as small as it can be: a table of fixed size for the keys in it. Merge before: a packed filter
     * fits only others that were packed to its size.
     */
    public void pack() {
        whole(Native.PACK, 0);
    }

    /** Checks every entry; throws if something is wrong. */
    public void verify() {
        whole(Native.VERIFY, 0);
    }

    /**
     * Writes the filter to a file, which is at any moment the old one or the new one.
     *
     * @param path the file
     * @throws IOException if the system refuses
     */
    public void save(Path path) throws IOException {
        byte[] name = text(path);
        long stamp = state.lock.readLock();
        try {
            Native.save(state.open(), name);
        } finally {
            state.lock.unlockRead(stamp);
        }
    }

    /**
     * The bytes of a file.
     *
     * @return all of them
     */
    public byte[] toBytes() {
        byte[][] bytes = {null};
        state.read(filter -> {
            bytes[0] = Native.bytes(filter);
            return 0;
        });
        return bytes[0];
    }

    /**
     * The version of the library.
     *
     * @return "major.minor.patch"
     */
    public static String version() {
        return Native.version();
    }

    @Override
    public String toString() {
        Info info;
        try {
            info = info();
        } catch (IllegalStateException closed) {
            return "Filter(closed)";
        }
        return "Filter(" + info.family() + ", " + info.count() + " of " + info.capacity() + " keys, fpr " + info.fprTarget() + ")";
    }
}
