// SPDX-License-Identifier: MIT
package org.nidus;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
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
                case "max_capacity" -> assertEquals(Long.parseLong(rest), info.maxCapacity());
                case "slots" -> assertEquals(Integer.parseInt(rest), info.slots());
                case "count" -> assertEquals(Long.parseLong(rest), info.count());
                case "fpr" -> assertEquals(Long.parseLong(rest.substring(2), 16), Double.doubleToLongBits(info.fprTarget()));
                case "text" -> assertEquals(Long.parseLong(rest.substring(last + 1)), filter.count(rest.substring(0, last)));
                case "u64" -> assertEquals(Long.parseLong(rest.substring(last + 1)), filter.count(Long.parseUnsignedLong(rest.substring(0, last))));
                default -> { }
            }
        }
    }

    @Test
    void goldenFilesAnswerAsInC() throws IOException {
        assumeTrue(Files.isDirectory(FOLDER));
        List<Path> files;
        try (Stream<Path> all = Files.list(FOLDER)) {
            files = all.filter(path -> path.toString().endsWith(".nidus")).toList();
        }
        assertTrue(files.size() > 50);
        for (Path path : files) {
            Path expected = Path.of(path.toString().replaceAll("nidus$", "expected"));
            try (Filter loaded = Filter.load(path); Filter mapped = Filter.open(path)) {
                check(loaded, expected);
                check(mapped, expected);
                assertArrayEquals(Files.readAllBytes(path), loaded.toBytes(), path.toString());
            }
        }
    }

    @Test
    void aBuildGivesTheBytesOfTheCommand(@TempDir Path folder) throws IOException, InterruptedException {
        String command = System.getProperty("nidus.command");
        assumeTrue(command != null);
        List<String> keys = IntStream.range(0, 5000).mapToObj(i -> "word " + i).toList();
        Path lines = Files.write(folder.resolve("keys.txt"), keys), file = folder.resolve("words.nidus");
        Process process = new ProcessBuilder(command, "build", "--seed", "77", "-p", "0.002", "-o", file.toString())
            .inheritIO().redirectInput(lines.toFile()).start();
        assertEquals(0, process.waitFor());
        try (Filter built = Filter.builder().seed(77).fpr(0.002).of(keys)) {
            assertArrayEquals(Files.readAllBytes(file), built.toBytes());
        }
    }
}
