// SPDX-License-Identifier: MIT
package org.nidus;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** Builds of many keys: with values, of two lists, and of more keys than there is memory for. */
class BuildTest {
    private static final long LEAST = 16 << 20; // memory of a builder

    private static List<String> words(int n) {
        return IntStream.range(0, n).mapToObj(i -> "word " + i).toList();
    }

    private static NidusException refused(NidusException.Status status, Executable call) {
        NidusException error = assertThrows(NidusException.class, call);
        assertEquals(status, error.status(), error.getMessage());
        return error;
    }

    private static long yes(boolean[] answers) {
        return IntStream.range(0, answers.length).filter(i -> answers[i]).count();
    }

    @Test
    void valuesAreBuiltInEveryFamilyThatHasThem() {
        long[] numbers = LongStream.range(0, 2000).toArray(), values = LongStream.range(0, 2000).map(i -> i % 1000).toArray();
        for (Family family : List.of(Family.WINDOWED, Family.BREADCRUMB, Family.CUCKOO, Family.RIBBON)) {
            Filter.Builder builder = Filter.builder().family(family).fpr(1e-6).seed(5).valueBits(10);
            try (Filter ofWords = builder.ofValues(words(2000), values); Filter ofNumbers = builder.ofValues(numbers, values)) {
                for (int i = 0; i < 2000; i++) {
                    assertEquals(values[i], ofWords.values("word " + i)[0], family.toString());
                    assertEquals(values[i], ofNumbers.values(i)[0], family.toString());
                }
            }
            refused(NidusException.Status.RANGE, () -> builder.ofValues(new long[] {1}, new long[] {1024}));
            assertThrows(IllegalArgumentException.class, () -> builder.ofValues(List.of("x"), new long[2]));
        }
        refused(NidusException.Status.UNSUPPORTED, () -> Filter.builder().ofValues(new long[1], new long[1]));
        refused(NidusException.Status.ARGUMENT, () -> Filter.builder().features(Feature.STATIC).valueBits(4)
            .ofValues(new long[] {7, 7}, new long[] {1, 2}));
        assertEquals(9, values[9]); // the caller's arrays are as they were
    }

    @Test
    void aFilterOfTwoListsIsRightAboutBoth() {
        long[] revoked = LongStream.range(0, 300).toArray(), sound = LongStream.range(300, 20_000).toArray();
        for (Filter.Builder builder : List.of(Filter.builder(), Filter.builder().fpr(0.4).threads(2))) {
            try (Filter filter = builder.ofExcluding(revoked, sound)) {
                assertEquals(300, yes(filter.containsAll(revoked)));
                assertEquals(0, yes(filter.containsAll(sound)));
                assertEquals("ribbon", filter.info().family());
            }
        }
        try (Filter filter = Filter.builder().ofExcluding(words(10), List.of("a", "b"))) {
            assertTrue(filter.contains("word 9") && !filter.contains("b"));
        }
        refused(NidusException.Status.ARGUMENT, () -> Filter.builder().ofExcluding(List.of("a", "b"), List.of("b")));
        refused(NidusException.Status.UNSUPPORTED, () -> Filter.builder().family(Family.CUCKOO).ofExcluding(List.of("a"), List.of("b")));
    }

    @Test
    void anExternalBuilderMakesTheBytesOfABuild(@TempDir Path folder) throws Exception {
        List<String> words = new ArrayList<>(words(50_000));
        Filter.Builder options = Filter.builder().seed(5).fpr(0.001).family(Family.WINDOWED);
        Path path = folder.resolve("words.nidus");
        try (ExternalBuilder builder = options.external(LEAST, folder)) {
            for (int i = 0; i < 50_000; i += 10_000) {
                builder.addAll(words.subList(i, i + 10_000));
            }
            builder.add("one more");
            words.add("one more");
            builder.save(path);
            try (Filter whole = options.of(words); Filter finished = builder.finish()) {
                assertArrayEquals(whole.toBytes(), Files.readAllBytes(path));
                assertArrayEquals(whole.toBytes(), finished.toBytes());
            }
        }
        long[] numbers = LongStream.range(0, 50_000).toArray();
        try (ExternalBuilder builder = options.external(LEAST, null)) {
            List<Throwable> failed = new ArrayList<>();
            Thread[] threads = new Thread[4];
            for (int part = 0; part < 4; part++) {
                long[] some = Arrays.copyOfRange(numbers, part * 12_500, (part + 1) * 12_500);
                threads[part] = new Thread(() -> {
                    try {
                        builder.addAll(some);
                    } catch (IOException error) {
                        failed.add(error);
                    }
                });
                threads[part].start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
            assertTrue(failed.isEmpty());
            try (Filter whole = options.of(numbers); Filter finished = builder.finish()) {
                assertArrayEquals(whole.toBytes(), finished.toBytes());
            }
            builder.add(-1);
            builder.addAll(ByteBuffer.allocateDirect(24).order(ByteOrder.nativeOrder()).asLongBuffer().put(new long[] {9, -2, -3}).flip().position(1));
            builder.add(new byte[] {1, 2, 3});
            try (Filter finished = builder.finish()) {
                assertEquals(50_004, finished.size());
                assertTrue(finished.contains(-3) && finished.contains(new byte[] {1, 2, 3}));
            }
        }
        try (var left = Files.list(folder)) {
            assertEquals(1, left.count()); // no temporary file is left
        }
    }

    @Test
    void anExternalBuilderTakesValuesAndSpills() throws IOException {
        long[] keys = LongStream.range(0, 3_000_000).toArray(), values = LongStream.range(0, 3_000_000).map(i -> i % 4000).toArray();
        Filter.Builder options = Filter.builder().fpr(1e-6).family(Family.BUCKETED).capacity(3_100_000).valueBits(12);
        try (ExternalBuilder builder = options.external(LEAST, null)) {
            builder.addValues(keys, values);
            builder.addValues(words(20_000), Arrays.copyOf(values, 20_000));
            try (Filter filter = builder.finish()) {
                int right = 0;
                for (int i = 0; i < 10_000; i++) {
                    right += filter.values(i)[0] == values[i] ? 1 : 0;
                    right += filter.values("word " + i)[0] == values[i] ? 1 : 0;
                }
                assertTrue(right > 19_990);
            }
            NidusException error = refused(NidusException.Status.RANGE, () -> builder.addValues(List.of("a", "b"), new long[] {1, 1 << 12}));
            assertTrue(error.done() <= 1);
            assertThrows(IllegalArgumentException.class, () -> builder.addValues(new long[2], new long[1]));
        }
    }

    @Test
    void anExternalBuilderIsWatchedAndStopped(@TempDir Path folder) throws IOException {
        long[] keys = LongStream.range(0, 1_000_000).toArray();
        Filter.Builder options = Filter.builder().family(Family.WINDOWED);
        try (ExternalBuilder builder = options.external(LEAST, null)) {
            builder.addAll(keys);
            List<Double> shares = new ArrayList<>();
            try (Filter filter = builder.finish(shares::add)) {
                assertEquals(1_000_000, filter.size());
            }
            assertFalse(shares.isEmpty());
            assertEquals(shares.stream().sorted().toList(), shares);
            refused(NidusException.Status.STOPPED, () -> builder.save(folder.resolve("x"), share -> false));
            assertFalse(Files.exists(folder.resolve("x")));
        }
        try (ExternalBuilder builder = options.external(LEAST, null)) {
            builder.addAll(keys);
            assertThrows(ArithmeticException.class, () -> builder.finish(share -> {
                throw new ArithmeticException("odd watcher");
            }));
        }
    }

    @Test
    void externalBuildersThatCannotBeAreRefused(@TempDir Path folder) throws IOException {
        refused(NidusException.Status.UNSUPPORTED, () -> Filter.builder().family(Family.CUCKOO).external(LEAST, null));
        refused(NidusException.Status.RANGE, () -> Filter.builder().external(1, null));
        ExternalBuilder full = Filter.builder().capacity(10).family(Family.WINDOWED).external(LEAST, null);
        full.addAll(new long[0]);
        full.addAll(LongStream.range(0, 1000).toArray());
        refused(NidusException.Status.FULL, full::finish);
        assertThrows(IOException.class, () -> full.save(folder.resolve("no/such/folder")));
        full.close();
        full.close();
        assertThrows(IllegalStateException.class, () -> full.add(1));
        assertThrows(IllegalStateException.class, full::finish);
    }
}
