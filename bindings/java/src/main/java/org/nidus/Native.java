// SPDX-License-Identifier: MIT
package org.nidus;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.Buffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Locale;

/** What nidus_jni.c does. Filter holds a lock for every call here, and has checked the arguments. */
final class Native {
    static final int CONTAINS = 0, ADD = 1, ADD_NEW = 2, REMOVE = 3, COUNT = 4, HASH = 5, ADD_VALUE = 6, REMOVE_VALUE = 7,
        REPLACE_VALUE = 8, ADD_COUNT = 9, GET_COUNT = 10;
    private static final int IO = 30; // NIDUS_E_IO
    static final int CLEAR = 0, GROW = 1, SHRINK = 2, VERIFY = 3, PACK = 4;

    private Native() {}

    static {
        load();
    }

    /** The library that the property nidus.library names, or the one in the jar for this machine. */
    private static void load() {
        String named = System.getProperty("nidus.library");
        if (named != null) {
            System.load(Path.of(named).toAbsolutePath().toString());
            return;
        }
        String machine = System.getProperty("os.name").toLowerCase(Locale.ROOT).split(" ")[0] + "-"
            + System.getProperty("os.arch").replace("amd64", "x86_64");
        try (InputStream library = Native.class.getResourceAsStream("native/" + machine + "/libnidus_jni.so")) {
            if (library == null) {
                throw new UnsatisfiedLinkError("nidus has no library for " + machine
                    + " inside: compile org/nidus/source of the jar, and name the result by -Dnidus.library=PATH");
            }
            Path copy = Files.createTempFile("nidus", ".so");
            try {
                Files.copy(library, copy, StandardCopyOption.REPLACE_EXISTING);
                System.load(copy.toString());
            } finally {
                Files.deleteIfExists(copy); // it is mapped
            }
        } catch (IOException error) {
            throw new UncheckedIOException("the library of nidus could not be unpacked to " + System.getProperty("java.io.tmpdir"), error);
        }
    }

    /** What nidus_jni.c throws for a status. */
    static Throwable failure(int status, byte[] words, long done) {
        String reason = new String(words, StandardCharsets.UTF_8);
        return status == IO ? new IOException(reason) : new NidusException(NidusException.Status.of(status), reason, done);
    }

    static native long create(long[] options, double fpr);

    static native void free(long filter);

    static native long copy(long filter);

    static native long merge(long[] filters, int how);

    static native void change(long filter, int what, long capacity);

    static native long size(long filter);

    static native void info(long filter, long[] numbers);

    static native String familyName(int family);

    static native String version();

    static native void save(long filter, byte[] path) throws IOException;

    static native long load(byte[] path, boolean map) throws IOException;

    static native long loadBytes(byte[] bytes);

    static native long openBuffer(Buffer bytes, long from, long size);

    static native byte[] bytes(long filter);

    static native long actLong(long filter, int what, long key, long a, long b);

    static native long actBytes(long filter, int what, byte[] key, long a, long b);

    static native long actDirect(long filter, int what, Buffer key, int from, int n);

    static native long[] values(long filter, long hash);

    static native void containsLongs(long filter, long[] keys, int from, int n, boolean[] yes);

    static native void containsDirect(long filter, Buffer keys, int from, int n, Buffer yes, int at);

    static native void changeLongs(long filter, int what, long[] keys, int from, int n);

    static native void changeDirect(long filter, int what, Buffer keys, int from, int n);

    /** `answers` is a boolean[] for CONTAINS, a long[] for HASH, and nothing otherwise. */
    static native void packed(long filter, int what, byte[] bytes, int[] ends, int n, Object answers, int at);

    /** The keys lie one after another from place `from` on; `yes` is for CONTAINS, and otherwise null. */
    static native void packedDirect(long filter, int what, Buffer keys, int from, int size, Buffer ends, int first, int n,
        Buffer yes, int at);

    static native void hashLongs(long filter, long[] keys, int n, long[] to);

    static native long build(long[] options, double fpr, long[] keys, int n, boolean hashed);

    /** Of hashes and their values, or of hashes and others that must not match. */
    static native long buildTwo(long[] options, double fpr, long[] hashes, long[] others, boolean values);

    static native long builderCreate(long[] options, double fpr, long memory, byte[] folder);

    static native void builderFree(long builder);

    /** `values` is null, or has one for each key. */
    static native void builderLongs(long builder, long[] keys, int n, long[] values) throws IOException;

    static native void builderDirect(long builder, Buffer keys, int from, int n) throws IOException;

    /** The values are those from place `at` on. */
    static native void builderPacked(long builder, byte[] bytes, int[] ends, int n, long[] values, int at) throws IOException;

    static native long builderFinish(long builder, ExternalBuilder.Progress progress) throws IOException;

    static native void builderSave(long builder, byte[] path, ExternalBuilder.Progress progress) throws IOException;
}
