// SPDX-License-Identifier: MIT
package org.nidus;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

class FilterTest {
    private static Filter small() {
        return Filter.builder().capacity(1000).fpr(1e-6).seed(7).build();
    }

    private static NidusException refused(NidusException.Status status, Executable call) {
        NidusException error = assertThrows(NidusException.class, call);
        assertEquals(status, error.status(), error.getMessage());
        assertTrue(error.getMessage().length() > 5);
        return error;
    }

    private static List<String> words(int n) {
        return IntStream.range(0, n).mapToObj(i -> "word " + i).toList();
    }

    private static boolean all(boolean[] yes) {
        for (boolean one : yes) {
            if (!one) {
                return false;
            }
        }
        return true;
    }

    private static LongBuffer longs(long... keys) {
        LongBuffer buffer = ByteBuffer.allocateDirect(keys.length * 8).order(ByteOrder.nativeOrder()).asLongBuffer();
        return buffer.put(keys).flip();
    }

    private static IntBuffer ints(int... numbers) {
        IntBuffer buffer = ByteBuffer.allocateDirect(numbers.length * 4).order(ByteOrder.nativeOrder()).asIntBuffer();
        return buffer.put(numbers).flip();
    }

    @Test
    void keysInDirectBuffersAreThoseOfTheirBytes() {
        int n = 3000; // more than one block
        ByteBuffer bytes = ByteBuffer.allocateDirect(20 * n).put(new byte[5]);
        int[] ends = new int[n];
        for (int i = 0; i < n; i++) { // the first is empty
            ends[i] = bytes.put("k".repeat(i % 10).concat(i > 0 ? "" + i : "").getBytes(StandardCharsets.UTF_8)).position() - 5;
        }
        bytes.flip().position(5);
        IntBuffer all = ints(ends), odd = ints(ends).position(1);
        ByteBuffer yes = ByteBuffer.allocateDirect(n + 1).position(1);
        try (Filter filter = Filter.builder().capacity(n).fpr(1e-6).seed(7).build()) {
            filter.addAll(bytes, all);
            assertEquals(n, filter.size());
            assertTrue(filter.contains("") && filter.contains("k1") && filter.contains("kkkkkkkkk2999"));
            filter.containsAll(bytes, all, yes);
            for (int i = 0; i < n; i++) {
                assertEquals(1, yes.get(1 + i));
            }
            assertTrue(bytes.position() == 5 && all.position() == 0 && yes.position() == 1);
            filter.containsAll(bytes, odd, yes); // what stands before the position does not count: key 1 begins at 0 again
            assertEquals(1, yes.get(1));
            filter.removeAll(bytes, all);
            assertEquals(0, filter.size());
        }
    }

    @Test
    void keysThatLieOutsideOfTheirBufferAreRefused() {
        ByteBuffer bytes = ByteBuffer.allocateDirect(10), yes = ByteBuffer.allocateDirect(10);
        try (Filter filter = small()) {
            for (int[] ends : new int[][] {{11}, {-1}, {3, 2}, {1, 2, Integer.MAX_VALUE}, {Integer.MIN_VALUE}}) {
                assertThrows(IllegalArgumentException.class, () -> filter.addAll(bytes, ints(ends)));
                assertThrows(IllegalArgumentException.class, () -> filter.containsAll(bytes, ints(ends), yes));
                assertThrows(IllegalArgumentException.class, () -> filter.removeAll(bytes, ints(ends)));
            }
            assertEquals(0, filter.size());
            assertThrows(IllegalArgumentException.class, () -> filter.addAll(ByteBuffer.allocate(10), ints(1)));
            assertThrows(IllegalArgumentException.class, () -> filter.addAll(bytes, IntBuffer.allocate(1)));
            assertThrows(IllegalArgumentException.class, () -> filter.containsAll(bytes, ints(1, 2), ByteBuffer.allocateDirect(1)));
            filter.addAll(bytes, ints());
            filter.addAll(ByteBuffer.allocateDirect(0), ints(0, 0));
            assertEquals(2, filter.count(""));
        }
    }

    @Test
    void textBytesAndLongsAreKeys() {
        try (Filter filter = small()) {
            filter.add("Reiher 🪶");
            filter.add(7);
            filter.add(-1);
            filter.add("");
            byte[] bytes = "Reiher 🪶".getBytes(StandardCharsets.UTF_8);
            assertTrue(filter.contains(bytes) && filter.contains(ByteBuffer.wrap(bytes)) && filter.contains(new byte[0]));
            ByteBuffer direct = ByteBuffer.allocateDirect(100).put((byte) 'x').put(bytes);
            direct.flip().position(1);
            assertTrue(filter.contains(direct) && direct.position() == 1);
            assertTrue(filter.contains(7) && filter.contains(-1) && !filter.contains("7"));
            assertEquals(4, filter.size());
            assertTrue(filter.remove(bytes));
            assertFalse(filter.remove("Reiher 🪶"));
            assertTrue(filter.addNew(8) && !filter.addNew(8) && filter.addNew("x") && !filter.addNew("x".getBytes(StandardCharsets.UTF_8)));
            assertEquals(1, filter.count(8));
            filter.add(direct);
            filter.add(ByteBuffer.wrap(bytes));
            assertEquals(2, filter.count("Reiher 🪶"));
            String large = "y".repeat(100_000);
            filter.add(large);
            assertTrue(filter.contains(large) && !filter.contains(large + "y"));
            for (String half : List.of("\ud800", "a\udc00", "\udc00\ud800", "a\ud83d")) {
                assertThrows(IllegalArgumentException.class, () -> filter.add(half));
                assertThrows(IllegalArgumentException.class, () -> filter.containsAll(List.of("a", half)));
            }
            assertThrows(NullPointerException.class, () -> filter.add((String) null));
            assertThrows(NullPointerException.class, () -> filter.add((byte[]) null));
            assertThrows(NullPointerException.class, () -> filter.containsAll((long[]) null));
        }
    }

    @Test
    void batchesDoWhatSingleCallsDoInEveryFamily() {
        for (Family family : Family.values()) {
            assertEquals(family.toString(), Native.familyName(family.ordinal()));
            if (family == Family.RIBBON) {
                continue; // never changes: see below
            }
            for (int n : new int[] {0, 1, 1023, 1024, 1025, 5000}) {
                try (Filter filter = Filter.builder().capacity(12000).fpr(1e-4).family(family).build()) {
                    long[] keys = LongStream.range(0, n).map(i -> i * i - 3).toArray();
                    filter.addAll(keys);
                    filter.addAll(words(n));
                    assertTrue(all(filter.containsAll(keys)) && all(filter.containsAll(words(n))));
                    long[] others = LongStream.range(0, n).map(i -> i * 7919 + (1L << 40)).toArray();
                    boolean[] yes = filter.containsAll(others), room = new boolean[n + 1];
                    filter.containsAll(others, room);
                    assertArrayEquals(yes, Arrays.copyOf(room, n));
                    LongBuffer buffer = longs(others);
                    ByteBuffer answers = ByteBuffer.allocateDirect(n + 3).position(2);
                    filter.containsAll(buffer, answers);
                    for (int i = 0; i < n; i++) {
                        assertEquals(filter.contains(others[i]), yes[i]);
                        assertEquals(yes[i] ? 1 : 0, answers.get(2 + i));
                    }
                    assertEquals(2, answers.position());
                    filter.verify();
                    assertEquals(2L * n, filter.size());
                }
            }
        }
        try (Filter filter = small()) {
            filter.addAll(longs(1, 2, 3).position(1));
            assertArrayEquals(new boolean[] {false, true, true}, filter.containsAll(new long[] {1, 2, 3}));
            List<String> mixed = new ArrayList<>(words(100));
            mixed.add("z".repeat(200_000));
            mixed.addAll(List.of("", "end"));
            filter.addAll(mixed);
            assertTrue(all(filter.containsAll(mixed)));
            filter.removeAll(mixed);
            assertEquals(2, filter.size());
        }
    }

    @Test
    void buffersThatDoNotFitAreRefused() {
        try (Filter filter = small()) {
            ByteBuffer yes = ByteBuffer.allocateDirect(2);
            assertThrows(IllegalArgumentException.class, () -> filter.containsAll(longs(1, 2, 3), yes));
            assertThrows(IllegalArgumentException.class, () -> filter.containsAll(new long[3], new boolean[2]));
            assertThrows(IllegalArgumentException.class, () -> filter.containsAll(LongBuffer.wrap(new long[1]), yes));
            assertThrows(IllegalArgumentException.class, () -> filter.containsAll(longs(1), yes.asReadOnlyBuffer()));
            assertThrows(IllegalArgumentException.class, () -> filter.containsAll(longs(1), ByteBuffer.allocate(8)));
            LongBuffer foreign = ByteBuffer.allocateDirect(8).order(ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN
                ? ByteOrder.LITTLE_ENDIAN : ByteOrder.BIG_ENDIAN).asLongBuffer();
            assertThrows(IllegalArgumentException.class, () -> filter.addAll(foreign));
            assertThrows(IllegalArgumentException.class, () -> Filter.open(ByteBuffer.allocate(8)));
        }
    }

    @Test
    void aBatchThatFailsTellsHowFarItCame() {
        try (Filter filter = Filter.builder().capacity(2000).family(Family.CUCKOO).seed(3).build()) {
            long[] keys = LongStream.range(0, 100_000).toArray();
            NidusException full = refused(NidusException.Status.FULL, () -> filter.addAll(keys));
            assertEquals(filter.size(), full.done());
            long[] in = Arrays.copyOf(keys, (int) full.done());
            assertTrue(all(filter.containsAll(in)));
            filter.removeAll(in);
            assertEquals(0, filter.size());
            assertEquals(0, refused(NidusException.Status.NOT_FOUND, () -> filter.removeAll(keys)).done());
            full = refused(NidusException.Status.FULL, () -> filter.addAll(words(100_000)));
            assertEquals(filter.size(), full.done());
            refused(NidusException.Status.FULL, () -> filter.add(words(100_000).get((int) filter.size())));
        }
    }

    @Test
    void buildsTakeLongsAndText() {
        long[] keys = LongStream.range(0, 20_000).toArray();
        try (Filter filter = Filter.builder().fpr(1e-4).threads(2).of(keys); Filter text = Filter.builder().fpr(1e-6).of(words(20_000))) {
            assertTrue(filter.size() == 20_000 && all(filter.containsAll(keys)));
            assertTrue(text.size() == 20_000 && all(text.containsAll(words(20_000))));
        }
        try (Filter once = Filter.builder().of(List.of("a", "a", "b"));
            Filter copies = Filter.builder().features(Feature.MULTISET).of(List.of("a", "a", "b")); Filter none = Filter.builder().of()) {
            assertEquals(2, once.size());
            assertEquals(2, copies.count("a"));
            assertEquals(0, none.size());
        }
    }

    @Test
    void aRibbonFilterIsBuiltAndNeverChanged() {
        try (Filter ribbon = Filter.builder().family(Family.RIBBON).fpr(0x1p-12).of(words(5000))) {
            assertTrue(all(ribbon.containsAll(words(5000))));
            assertEquals("ribbon", ribbon.info().family());
            refused(NidusException.Status.UNSUPPORTED, () -> ribbon.add("x"));
        }
    }

    @Test
    void senselessOptionsAreErrors() {
        for (double rate : new double[] {0, -1, 0.9, 0.0626, 1, Double.NaN, Double.POSITIVE_INFINITY}) {
            assertThrows(IllegalArgumentException.class, () -> Filter.builder().capacity(10).fpr(rate).build());
        }
        Filter.builder().capacity(10).fpr(0.0625).build().close();
        refused(NidusException.Status.RANGE, () -> Filter.builder().capacity(10).fpr(1e-12).build());
        refused(NidusException.Status.ARGUMENT, () -> Filter.builder().build());
        refused(NidusException.Status.UNSUPPORTED, () -> Filter.builder().capacity(10).family(Family.BLOOM).features(Feature.DELETE).build());
        refused(NidusException.Status.MEMORY, () -> Filter.builder().capacity(1L << 43).build());
        assertThrows(IllegalArgumentException.class, () -> Filter.builder().capacity(-1));
        try (Filter bloom = Filter.builder().capacity(10).family(Family.BLOOM).build()) {
            refused(NidusException.Status.UNSUPPORTED, () -> bloom.remove("x"));
        }
    }

    @Test
    void valuesAndCounts() {
        try (Filter filter = Filter.builder().capacity(2000).fpr(1e-6).valueBits(8).build(); Filter plain = small()) {
            filter.addValue("heron", 3);
            filter.addValue("heron", 4);
            long[] values = filter.values("heron");
            Arrays.sort(values);
            assertArrayEquals(new long[] {3, 4}, values);
            assertTrue(filter.replaceValue("heron", 3, 5) && !filter.replaceValue("heron", 3, 5));
            assertTrue(filter.removeValue("heron", 4) && !filter.removeValue("heron", 4));
            assertArrayEquals(new long[] {5}, filter.values("heron"));
            filter.addValue(9, 200);
            assertArrayEquals(new long[] {200}, filter.values(9));
            refused(NidusException.Status.RANGE, () -> filter.addValue(9, 256));
            refused(NidusException.Status.RANGE, () -> filter.addValue(9, -1));
            refused(NidusException.Status.UNSUPPORTED, () -> plain.addValue(9, 1));
            filter.countAll(List.of("crane", "crane"));
            filter.countAll(new long[] {5, 5, 5});
            filter.addCount("crane", 400);
            assertEquals(255, filter.getCount("crane"));
            assertEquals(3, filter.getCount(5));
            assertEquals(0, filter.getCount("stork"));
            assertThrows(IllegalArgumentException.class, () -> filter.addCount(5, -1));
        }
    }

    @Test
    void aUnionHasAnEntryOnceAndRefusesRemoves() {
        try (Filter a = small(); Filter b = small(); Filter other = Filter.builder().capacity(1000).fpr(1e-6).seed(8).build()) {
            a.addAll(List.of("heron", "crane"));
            b.addAll(List.of("heron", "stork"));
            try (Filter union = a.union(b); Filter loaded = Filter.load(union.toBytes()); Filter all = Filter.merge(List.of(a, b, b), Merge.COPIES)) {
                assertEquals(3, union.size());
                refused(NidusException.Status.UNSUPPORTED, () -> union.remove("heron"));
                refused(NidusException.Status.UNSUPPORTED, () -> loaded.remove("heron"));
                assertEquals(3, all.count("heron"));
                assertTrue(all.remove("heron"));
            }
            refused(NidusException.Status.MISMATCH, () -> a.union(other));
            refused(NidusException.Status.ARGUMENT, () -> Filter.merge(List.of(), Merge.UNION));
        }
    }

    @Test
    void filtersGrowAndShrink() {
        try (Filter filter = Filter.builder().capacity(100).maxCapacity(10_000).build(); Filter fixed = small()) {
            long[] keys = LongStream.range(0, 10_000).toArray();
            filter.addAll(keys);
            assertTrue(all(filter.containsAll(keys)));
            long before = filter.info().bytes();
            filter.removeAll(Arrays.copyOfRange(keys, 100, 10_000));
            filter.shrink(0);
            assertTrue(filter.info().bytes() < before);
            filter.grow(5000);
            assertTrue(filter.info().capacity() >= 5000 && filter.info().features().contains(Feature.GROW));
            filter.pack();
            assertTrue(filter.info().capacity() < 200 && all(filter.containsAll(Arrays.copyOf(keys, 100))));
            filter.clear();
            assertEquals(0, filter.size());
            refused(NidusException.Status.RANGE, () -> fixed.grow(1_000_000));
        }
    }

    @Test
    void filesAreLoadedOrMapped(@TempDir Path folder) throws IOException {
        Path path = folder.resolve("é birds.nidus");
        try (Filter filter = small()) {
            filter.add("heron");
            filter.save(path);
            assertArrayEquals(Files.readAllBytes(path), filter.toBytes());
        }
        ByteBuffer direct = ByteBuffer.allocateDirect((int) Files.size(path) + 5).position(5).put(Files.readAllBytes(path)).position(5);
        try (Filter mapped = Filter.open(path); Filter loaded = Filter.load(path); Filter inPlace = Filter.open(direct); Filter copy = mapped.copy()) {
            for (Filter filter : List.of(mapped, loaded, inPlace, copy)) {
                assertTrue(filter.contains("heron"));
            }
            assertTrue(mapped.info().readOnly() && !loaded.info().readOnly());
            refused(NidusException.Status.READ_ONLY, () -> mapped.add("crane"));
            refused(NidusException.Status.READ_ONLY, () -> inPlace.add("crane"));
            copy.add("crane");
            assertTrue(copy.contains("crane") && !mapped.contains("crane"));
        }
        assertTrue(assertThrows(IOException.class, () -> Filter.load(folder.resolve("nothing"))).getMessage().contains("nothing"));
        try (Filter filter = small()) {
            assertThrows(IOException.class, () -> filter.save(folder.resolve("no/such/folder")));
        }
    }

    @Test
    void damagedBytesAreErrors() {
        byte[] bytes;
        try (Filter filter = small()) {
            filter.addAll(LongStream.range(0, 900).toArray());
            bytes = filter.toBytes();
        }
        for (int end = 0; end < bytes.length; end += 7) {
            byte[] some = Arrays.copyOf(bytes, end);
            assertThrows(NidusException.class, () -> Filter.load(some));
        }
        for (int at = 0; at < bytes.length; at++) {
            byte[] damaged = bytes.clone();
            damaged[at] ^= (byte) (1 << at % 8);
            assertThrows(NidusException.class, () -> Filter.load(damaged));
            try (Filter opened = Filter.open(ByteBuffer.allocateDirect(damaged.length).put(damaged).flip())) {
                opened.containsAll(LongStream.range(0, 100).toArray());
            } catch (NidusException expected) {
                assertNotNull(expected.getMessage());
            }
        }
        refused(NidusException.Status.FORMAT, () -> Filter.load(Arrays.copyOf(bytes, bytes.length + 1)));
    }

    @Test
    void aClosedFilterSaysSo() {
        Filter filter = small();
        filter.close();
        filter.close();
        assertThrows(IllegalStateException.class, () -> filter.contains("x"));
        assertThrows(IllegalStateException.class, () -> filter.add(1));
        assertThrows(IllegalStateException.class, () -> filter.containsAll(new long[3]));
        assertThrows(IllegalStateException.class, filter::copy);
        assertThrows(IllegalStateException.class, () -> Filter.merge(List.of(filter), Merge.UNION));
        assertEquals("Filter(closed)", filter.toString());
    }

    @Test
    void forgottenFiltersAreFreed() throws InterruptedException {
        // Some 25 MB each: without the cleaner they would be 25 GB.
        for (int i = 0; i < 1000; i++) {
            Filter.builder().capacity(1 << 24).fpr(0x1p-8).build().add(i);
            if (i % 10 == 0) {
                System.gc();
                Thread.sleep(1);
            }
        }
    }

    /** Runs a task in several threads, and throws what they throw. */
    private static void inThreads(int n, ThrowingTask task) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(n);
        try {
            List<Future<?>> all = new ArrayList<>();
            for (int i = 0; i < n; i++) {
                int part = i;
                all.add(pool.submit(() -> {
                    task.run(part);
                    return null;
                }));
            }
            for (Future<?> one : all) {
                one.get();
            }
        } finally {
            pool.shutdown();
        }
    }

    private interface ThrowingTask {
        void run(int part) throws Exception;
    }

    @Test
    void threadsUseAFilterAtWill() throws Exception {
        for (Feature[] features : new Feature[][] {{}, {Feature.CONCURRENT}}) {
            try (Filter filter = Filter.builder().capacity(1000).maxCapacity(200_000).fpr(1e-4).features(features).build()) {
                assertEquals(features.length == 1, filter.info().concurrent());
                inThreads(4, part -> {
                    long[] keys = LongStream.range(part * 20_000L, (part + 1) * 20_000L).toArray();
                    for (int i = 0; i < keys.length; i += 1000) {
                        long[] some = Arrays.copyOfRange(keys, i, i + 1000);
                        filter.addAll(some);
                        assertTrue(all(filter.containsAll(some)));
                    }
                    for (int i = 0; i < keys.length; i += 2) {
                        assertTrue(filter.remove(keys[i]));
                    }
                });
                assertEquals(40_000, filter.size());
                filter.verify();
            }
        }
    }

    @Test
    void aFilterThatIsClosedInTheMiddleHurtsNobody() throws Exception {
        for (int round = 0; round < 50; round++) {
            Filter filter = Filter.builder().capacity(100_000).build();
            Filter partner = Filter.builder().capacity(100_000).seed(filter.info().seed()).build();
            inThreads(4, part -> {
                try {
                    if (part == 0) {
                        filter.close();
                    }
                    for (int i = 0; i < 100; i++) {
                        filter.add(i);
                        filter.contains("x");
                        filter.containsAll(new long[2000]);
                        Filter.merge(Collections.nCopies(3, filter), Merge.UNION).close();
                        filter.union(partner).close();
                    }
                } catch (IllegalStateException closed) {
                    assertTrue(closed.getMessage().contains("closed"));
                }
            });
            partner.close();
        }
    }

    @Test
    void theVersionIsThatOfTheLibrary() {
        assertTrue(Filter.version().matches("\\d+\\.\\d+\\.\\d+"));
    }
}
