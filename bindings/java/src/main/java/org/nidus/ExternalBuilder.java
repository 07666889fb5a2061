// SPDX-License-Identifier: MIT
package org.nidus;

import java.io.IOException;
import java.lang.ref.Cleaner;
import java.nio.LongBuffer;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.locks.StampedLock;

/**
 * Builds a filter of more keys than there is memory for, or of keys that come one after another. It takes keys in any number of
 * calls, which threads may make at the same time; beyond its memory their hashes go to a temporary file, which has no name and is
 * gone when the process is. The filter is, byte for byte, the one that {@link Filter.Builder#of(long...)} makes with the same seed.
 *
 * <p>{@link Filter.Builder#external} makes one. It keeps its keys when it has built a filter: it may take more and build again.
 * {@link #close} gives back its memory and its files at once.
 *
 * <p>When the disk is full, adding throws an IOException, and keys that were added before are still there. Some of a batch may be:
 * add it once more when there is room, as equal keys are stored once.
 */
public final class ExternalBuilder implements AutoCloseable {
    /** Watches a build. */
    @FunctionalInterface
    public interface Progress {
        /**
         * Called by the thread that builds, again and again.
         *
         * @param share of the work that is done, from 0 to 1
         * @return false to stop the build, which throws {@link NidusException.Status#STOPPED} then; the builder can only be closed
         */
        boolean goOn(double share);
    }

    /** A call of the library that may throw what the system says. */
    private interface Call<T> {
        T with(long handle) throws IOException;
    }

    /** The native builder and its lock, which outlive this one until they are cleaned. */
    private static final class State implements Runnable {
        final StampedLock lock = new StampedLock();
        long handle;

        State(long handle) {
            this.handle = handle;
        }

        @Override
        public void run() {
            long stamp = lock.writeLock();
            try {
                long freed = handle;
                handle = 0;
                if (freed != 0) {
                    Native.builderFree(freed);
                }
            } finally {
                lock.unlockWrite(stamp);
            }
        }

        long open() {
            if (handle == 0) {
                throw new IllegalStateException("the builder was closed");
            }
            return handle;
        }
    }

    private final State state;
    private final Cleaner.Cleanable cleanable;

    ExternalBuilder(long handle) {
        state = new State(handle);
        cleanable = Filter.CLEANER.register(this, state);
    }

    private void add(Call<Void> call) throws IOException {
        long stamp = state.lock.readLock();
        try {
            call.with(state.open());
        } finally {
            state.lock.unlockRead(stamp);
        }
    }

    private <T> T build(Call<T> call) throws IOException {
        long stamp = state.lock.writeLock();
        try {
            return call.with(state.open());
        } finally {
            state.lock.unlockWrite(stamp);
        }
    }

    /**
     * Adds a key. {@link #addAll(long[])} is faster.
     *
     * @param key a key
     * @throws IOException if the system refuses
     */
    public void add(long key) throws IOException {
        addAll(new long[] {key});
    }

    /**
     * Adds a key.
     *
     * @param key a key
     * @throws IOException if the system refuses
     */
    public void add(String key) throws IOException {
        add(Filter.utf8(key));
    }

    /**
     * Adds a key.
     *
     * @param key a key
     * @throws IOException if the system refuses
     */
    public void add(byte[] key) throws IOException {
        int[] ends = {key.length};
        add(builder -> {
            Native.builderPacked(builder, key, ends, 1, null, 0);
            return null;
        });
    }

    /**
     * Adds keys, up to the first that fails; the exception's {@code done} tells how many were added.
     *
     * @param keys the keys, which are not copied
     * @throws IOException if the system refuses
     */
    public void addAll(long[] keys) throws IOException {
        add(builder -> {
            Native.builderLongs(builder, keys, keys.length, null);
            return null;
        });
    }

    /**
     * As {@link #addAll(long[])}, of the keys between position and limit.
     *
     * @param keys a direct buffer in native order
     * @throws IOException if the system refuses
     */
    public void addAll(LongBuffer keys) throws IOException {
        Filter.checkKeys(keys);
        LongBuffer all = keys.duplicate();
        add(builder -> {
            Native.builderDirect(builder, all, all.position(), all.remaining());
            return null;
        });
    }

    /**
     * As {@link #addAll(long[])}.
     *
     * @param keys the keys
     * @throws IOException if the system refuses
     */
    public void addAll(Collection<String> keys) throws IOException {
        addPacked(List.copyOf(keys), null);
    }

    /**
     * Adds keys with a value each, of {@link Filter.Builder#valueBits}.
     *
     * @param keys the keys
     * @param values as many
     * @throws IOException if the system refuses
     */
    public void addValues(long[] keys, long[] values) throws IOException {
        Filter.same(keys.length, values.length);
        add(builder -> {
            Native.builderLongs(builder, keys, keys.length, values);
            return null;
        });
    }

    /**
     * As {@link #addValues(long[], long[])}.
     *
     * @param keys the keys
     * @param values as many
     * @throws IOException if the system refuses
     */
    public void addValues(List<String> keys, long[] values) throws IOException {
        List<String> all = List.copyOf(keys);
        Filter.same(all.size(), values.length);
        addPacked(all, values);
    }

    private void addPacked(List<String> keys, long[] values) throws IOException {
        Filter.pack(keys, (bytes, ends, n, first) -> {
            try {
                add(builder -> {
                    Native.builderPacked(builder, bytes, ends, n, values, first);
                    return null;
                });
            } catch (NidusException error) {
                throw new NidusException(error.status(), error.getMessage(), first + error.done());
            }
        });
    }

    /**
     * Builds the filter of all keys that were added. Its table takes memory beside the builder's.
     *
     * @return the filter
     * @throws IOException if the system refuses
     */
    public Filter finish() throws IOException {
        return finish(null);
    }

    /**
     * As {@link #finish()}, watched.
     *
     * @param progress is told how far it is; null: nobody watches
     * @return the filter
     * @throws IOException if the system refuses
     */
    public Filter finish(Progress progress) throws IOException {
        return build(builder -> Filter.of(Native.builderFinish(builder, progress)));
    }

    /**
     * Builds the filter and writes it to a file, with no more than the builder's memory. An existing file is at any moment the old
     * one or the new one.
     *
     * @param path the file
     * @throws IOException if the system refuses
     */
    public void save(Path path) throws IOException {
        save(path, null);
    }

    /**
     * As {@link #save(Path)}, watched.
     *
     * @param path the file
     * @param progress is told how far it is; null: nobody watches
     * @throws IOException if the system refuses
     */
    public void save(Path path, Progress progress) throws IOException {
        byte[] name = Filter.text(Objects.requireNonNull(path));
        build(builder -> {
            Native.builderSave(builder, name, progress);
            return null;
        });
    }

    /** Gives memory and temporary files back. Any later call but this one throws. */
    @Override
    public void close() {
        cleanable.clean();
    }
}
