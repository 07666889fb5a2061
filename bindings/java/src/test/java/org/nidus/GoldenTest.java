// SPDX-License-Identifier: MIT
package org.nidus;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** The files of the format that the repository keeps, and files of the command that nidus.command names. */
class GoldenTest {
    private static final Path FOLDER = Path.of("../../tests/golden");

    /** What the library's own test writes of a filter, without what Java does not tell. */
    private static void check(Filter filter, Path expected) throws IOException {
        Info info = filter.info();
        for (String line : Files.readAllLines(expected)) {
            String[] words = line.split(" ", 2);
            String rest = words[1];
            int last = rest.lastIndexOf(' ');
            switch (words[0]) {
                case "family" -> assertEquals(rest, info.family());
                case "seed" -> assertEquals(Long.parseUnsignedLong(rest), info.seed());
                case "capacity" -> assertEquals(Long.parseLong(rest), info.capacity());
                case "max_capacity" -> assertEquals(Long.parseUnsignedLong(rest), info.maxCapacity());
                case "slots" -> assertEquals(Integer.parseInt(rest), info.slots());
                case "count" -> assertEquals(Long.parseLong(rest), info.count());
                case "fpr" -> assertEquals(Long.parseLong(rest.substring(2), 16), Double.doubleToLongBits(info.fprTarget()));
                case "text" -> assertEquals(Long.parseLong(rest.substring(last + 1)), filter.count(rest.substring(0, last)));
                case "u64" -> assertEquals(Long.parseLong(rest.substring(last + 1)), filter.count(Long.parseUnsignedLong(rest.substring(0, last))));
                default -> { }
            }
        }
    }

    /** Of all keys those are found that C finds, and no others. Java has no calls on hashes. */
    private static void checkFound(Filter filter, Path expected) throws IOException {
        Set<String> found = Files.readAllLines(expected).stream()
            .map(line -> line.substring(0, line.lastIndexOf(' '))).collect(Collectors.toSet());
        for (String line : Files.readAllLines(FOLDER.resolve("keys"))) {
            String[] words = line.split(" ", 2);
            switch (words[0]) {
                case "text" -> assertEquals(found.contains(line), filter.contains(words[1]), line);
                case "u64" -> assertEquals(found.contains(line), filter.contains(Long.parseUnsignedLong(words[1])), line);
                default -> { }
            }
        }
    }

    private static List<Path> goldenFiles() throws IOException {
        assumeTrue(Files.isDirectory(FOLDER));
        try (Stream<Path> all = Files.list(FOLDER)) {
            List<Path> files = all.filter(path -> path.toString().endsWith(".nidus")).toList();
            assertTrue(files.size() > 50);
            return files;
        }
    }

    private static final Set<NidusException.Status> OF_A_FILE = EnumSet.of(NidusException.Status.FORMAT, NidusException.Status.VERSION,
        NidusException.Status.TRUNCATED, NidusException.Status.CORRUPT);

    private static void refused(String what, Executable call) {
        NidusException error = assertThrows(NidusException.class, call, what);
        assertTrue(OF_A_FILE.contains(error.status()), () -> what + ": " + error.status() + ", " + error.getMessage());
    }

    @Test
    void goldenFilesThatWereDamagedAreRefused() throws IOException {
        for (Path path : goldenFiles()) {
            byte[] bytes = Files.readAllBytes(path);
            ByteBuffer inPlace = ByteBuffer.allocateDirect(bytes.length);
            for (int end = 0; end < bytes.length; end += bytes.length / 50 + 1) {
                byte[] some = Arrays.copyOf(bytes, end);
                refused(path + " to " + end, () -> Filter.load(some));
            }
            for (int at = 0; at < bytes.length; at += at < 192 ? 1 : 97) {
                byte[] damaged = bytes.clone();
                damaged[at] ^= (byte) (1 << at % 8);
                refused(path + " at " + at, () -> Filter.load(damaged));
                inPlace.clear().put(damaged).flip();
                try (Filter opened = Filter.open(inPlace)) {
                    opened.contains(7);
                } catch (NidusException error) {
                    assertTrue(OF_A_FILE.contains(error.status()), error.getMessage());
                }
            }
        }
    }

    @Test
    void goldenFilesAnswerAsInC() throws IOException {
        for (Path path : goldenFiles()) {
            Path expected = Path.of(path.toString().replaceAll("nidus$", "expected"));
            try (Filter loaded = Filter.load(path); Filter mapped = Filter.open(path)) {
                check(loaded, expected);
                check(mapped, expected);
                checkFound(loaded, expected);
                checkFound(mapped, expected);
                assertArrayEquals(Files.readAllBytes(path), loaded.toBytes(), path.toString());
            }
        }
    }

    /** What the command builds of lines of keys. */
    private static byte[] builtByCommand(Path folder, List<String> lines, String... more) throws IOException, InterruptedException {
        String command = System.getProperty("nidus.command");
        assumeTrue(command != null);
        Path keys = Files.write(folder.resolve("keys.txt"), lines), file = folder.resolve("built.nidus");
        List<String> words = new ArrayList<>(List.of(command, "build", "--seed", "77", "-p", "0.002", "--force", "-o", file.toString()));
        words.addAll(List.of(more));
        assertEquals(0, new ProcessBuilder(words).inheritIO().redirectInput(keys.toFile()).start().waitFor());
        return Files.readAllBytes(file);
    }

    @Test
    void aBuildGivesTheBytesOfTheCommand(@TempDir Path folder) throws IOException, InterruptedException {
        List<String> words = IntStream.range(0, 5000).mapToObj(i -> "word " + i).toList();
        long[] numbers = LongStream.range(0, 5000).map(i -> i * i).toArray();
        List<String> lines = Arrays.stream(numbers).mapToObj(Long::toString).toList();
        for (Family family : Family.values()) {
            Filter.Builder builder = Filter.builder().seed(77).fpr(0.002).family(family);
            try (Filter ofWords = builder.of(words); Filter ofNumbers = builder.of(numbers)) {
                assertArrayEquals(builtByCommand(folder, words, "-f", family.toString()), ofWords.toBytes(), family.toString());
                assertArrayEquals(builtByCommand(folder, lines, "--u64", "-f", family.toString()), ofNumbers.toBytes(), family.toString());
            }
        }
    }
}
