# SPDX-License-Identifier: MIT
"""Arrow arrays by the PyCapsule interface, made by hand, and the arrays and Series of packages where they are installed."""

import ctypes
import struct

import numpy
import pytest

import nidus

PY = ctypes.pythonapi
PY.PyCapsule_New.restype = ctypes.py_object
PY.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Schema(ctypes.Structure):
    _fields_ = [
        ("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p), ("flags", ctypes.c_int64),
        ("n_children", ctypes.c_int64), ("children", ctypes.c_void_p), ("dictionary", ctypes.c_void_p),
        ("release", ctypes.c_void_p), ("private", ctypes.c_void_p),
    ]  # fmt: skip


class Array(ctypes.Structure):
    _fields_ = [
        ("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64), ("n_buffers", ctypes.c_int64),
        ("n_children", ctypes.c_int64), ("buffers", ctypes.c_void_p), ("children", ctypes.c_void_p), ("dictionary", ctypes.c_void_p),
        ("release", ctypes.c_void_p), ("private", ctypes.c_void_p),
    ]  # fmt: skip


NEXT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
ERROR = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
WORDS_OF_ERROR = ctypes.create_string_buffer(b"out of ink")


class Stream(ctypes.Structure):
    _fields_ = [("get_schema", NEXT), ("get_next", NEXT), ("get_last_error", ERROR), ("release", ctypes.c_void_p), ("private", ctypes.c_void_p)]


class Arrow:
    """One array, as a package would hand it out. Everything stays alive as long as this object."""

    def __init__(self, format, n, *buffers, offset=0, nulls=0, dictionary=False, n_buffers=None):
        self.kept = [numpy.frombuffer(buffer, dtype="u1") if buffer else None for buffer in buffers]
        pointers = [part.ctypes.data if part is not None else None for part in self.kept]
        self.pointers = (ctypes.c_void_p * len(pointers))(*pointers)
        self.schema = Schema(format.encode(), None, None, 0, 0, None, 1 if dictionary else None, None, None)
        count = len(pointers) if n_buffers is None else n_buffers
        self.array = Array(n, nulls, offset, count, 0, ctypes.addressof(self.pointers), None, None, None, None)

    def __arrow_c_array__(self, requested_schema=None):
        assert requested_schema is None
        return (
            PY.PyCapsule_New(ctypes.addressof(self.schema), b"arrow_schema", None),
            PY.PyCapsule_New(ctypes.addressof(self.array), b"arrow_array", None),
        )


class Chunks:
    """Several arrays, by a stream; counts those that were given back."""

    def __init__(self, *pieces, fails=False):
        self.pieces, self.fails, self.given, self.released = pieces, fails, 0, 0
        self.release = RELEASE(self.give_back)
        self.stream = Stream(NEXT(self.get_schema), NEXT(self.get_next), ERROR(lambda _: ctypes.addressof(WORDS_OF_ERROR)), None, None)

    def give_back(self, array):
        self.released += 1

    def get_schema(self, stream, out):
        ctypes.memmove(out, ctypes.addressof(self.pieces[0].schema), ctypes.sizeof(Schema))
        return 0

    def get_next(self, stream, out):
        if self.fails and self.given == 1:
            return 5
        array = Array()
        if self.given < len(self.pieces):
            array = Array.from_buffer_copy(self.pieces[self.given].array)
            array.release = ctypes.cast(self.release, ctypes.c_void_p)
            self.given += 1
        ctypes.memmove(out, ctypes.addressof(array), ctypes.sizeof(Array))
        return 0

    def __arrow_c_stream__(self, requested_schema=None):
        self.given = 0
        return PY.PyCapsule_New(ctypes.addressof(self.stream), b"arrow_array_stream", None)


def strings(keys, width="i", format="u", **options):
    ends = [0]
    for key in keys:
        ends.append(ends[-1] + len(key.encode()))
    return Arrow(format, len(keys), None, struct.pack(f"{len(ends)}{width}", *ends), "".join(keys).encode(), **options)


def views(keys):
    items, data = b"", b""
    for key in (key.encode() for key in keys):
        if len(key) <= 12:
            items += struct.pack("i12s", len(key), key)
        else:
            items += struct.pack("i4sii", len(key), key[:4], 0, len(data))
            data += key
    return Arrow("vu", len(keys), None, items, data, struct.pack("q", len(data)))


def check(array, keys):
    """That the array holds these keys, for every call."""
    plain = nidus.build(keys, fpr=2**-24, seed=1)
    assert nidus.build(array, fpr=2**-24, seed=1) == plain
    assert plain.contains_many(array).all() and len(plain.contains_many(array)) == len(keys)
    filter = nidus.Filter(1000, fpr=2**-24, seed=1)
    filter.add_many(array)
    assert filter.contains_many(keys).all() and len(filter) == len(keys)


WORDS = ["heron", "", "crane", "Reiher ä", "a string that is longer than twelve bytes"]


@pytest.mark.parametrize("format, kind", list(zip("csilCSIL", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])))
def test_integers(format, kind):
    keys = [1, 2, 3, 100] + ([-1] if kind[0] == "i" else [200])
    check(Arrow(format, len(keys), None, numpy.array(keys, dtype=kind).tobytes()), keys)


@pytest.mark.parametrize("format, kind", [("tdD", "i4"), ("tdm", "i8"), ("tts", "i4"), ("ttn", "i8"), ("tsn:", "i8"), ("tsu:UTC", "i8"), ("tDs", "i8")])
def test_times_are_integers(format, kind):
    check(Arrow(format, 2, None, numpy.array([5, -7], dtype=kind).tobytes()), [5, -7])


def test_strings_and_bytes():
    check(strings(WORDS), WORDS)
    check(strings(WORDS, "q", "U"), WORDS)
    check(strings(WORDS, "i", "z"), WORDS)
    check(strings(WORDS, "q", "Z"), WORDS)
    check(views(WORDS), WORDS)
    check(Arrow("w:3", 2, None, b"ab\0xyz"), [b"ab\0", b"xyz"])  # nothing is padding here
    check(Arrow("u", 2, None, struct.pack("3i", 0, 0, 0), None), ["", ""])


def test_booleans_are_bits():
    bits = Arrow("b", 10, None, bytes([0b10110001, 0b00000010]), offset=2)
    filter = nidus.Filter(100, fpr=2**-24)
    filter.add_many(bits)
    assert filter.count(1) == 4 and filter.count(0) == 6


def test_a_part_of_an_array_begins_at_its_offset():
    check(Arrow("l", 2, None, struct.pack("5q", 1, 2, 3, 4, 5), offset=2), [3, 4])
    words = strings(WORDS, offset=2)
    words.array.length = 3
    check(words, WORDS[2:])
    # Nulls before the part do not count.
    check(Arrow("l", 2, bytes([0b11100]), struct.pack("5q", 1, 2, 3, 4, 5), offset=2, nulls=-1), [3, 4])


def test_pieces_of_a_stream_are_one_column():
    n = 5000
    pieces = [Arrow("l", n, None, numpy.arange(i * n, (i + 1) * n).tobytes()) for i in range(3)]
    pieces.insert(1, Arrow("l", 0, None, None))
    chunks = Chunks(*pieces)
    filter = nidus.build(chunks, fpr=2**-20, seed=1)
    assert filter == nidus.build(range(3 * n), fpr=2**-20, seed=1)
    assert chunks.released == 4
    answer = filter.contains_many(Chunks(pieces[0], Arrow("l", 2, None, struct.pack("2q", 10**9, 5)), pieces[3]))
    assert answer[:n].all() and answer[n : n + 2].tolist() == [False, True] and answer[n + 2 :].all() and len(answer) == 2 * n + 2
    assert len(nidus.build(Chunks(pieces[1]))) == 0
    counts = nidus.Filter(10, value_bits=8, fpr=2**-20)
    counts.add_counts(["a", "b", "c"], Chunks(Arrow("C", 1, None, b"\7"), Arrow("C", 2, None, b"\1\2")))
    assert counts.counts(["a", "b", "c"]).tolist() == [7, 1, 2]
    check(Chunks(strings(WORDS[:2]), strings(WORDS[2:])), WORDS)


def test_a_stream_that_fails_changes_nothing():
    piece = Arrow("l", 1, None, struct.pack("q", 1))
    chunks = Chunks(piece, piece, fails=True)
    filter = nidus.Filter(10)
    with pytest.raises(ValueError, match="out of ink"):
        filter.add_many(chunks)
    assert len(filter) == 0 and chunks.released == 1


@pytest.mark.parametrize(
    "array, error, words",
    [
        (Arrow("l", 3, bytes([0b101]), struct.pack("3q", 1, 2, 3), nulls=1), ValueError, "key 1 is null"),
        (Arrow("g", 1, None, struct.pack("d", 1)), TypeError, "not of format 'g'"),
        (Arrow("+s", 1, None), TypeError, "not of format"),
        (Arrow("ts", 1, None, struct.pack("q", 1)), TypeError, "not of format"),
        (Arrow("w:x", 1, None, b"x"), TypeError, "not of format"),
        (Arrow("i", 1, None, struct.pack("i", 0), dictionary=True), TypeError, "dictionary"),
        (Arrow("l", 1, None, None), ValueError, "contradicts"),
        (Arrow("l", -1, None, struct.pack("q", 1)), ValueError, "contradicts"),
        (Arrow("l", 1, None, struct.pack("q", 1), n_buffers=1), ValueError, "contradicts"),
        (Arrow("u", 2, None, struct.pack("3i", 0, 5, 2), b"heron"), ValueError, "contradicts"),
        (Arrow("u", 1, None, struct.pack("2i", -2, 0), b"heron"), ValueError, "contradicts"),
        (Arrow("vu", 1, None, struct.pack("i4sii", 20, b"abcd", 1, 0), b"x" * 20, b""), ValueError, "contradicts"),
        (Arrow("vu", 1, None, struct.pack("i12s", -1, b""), b"", b""), ValueError, "contradicts"),
    ],
)
def test_what_cannot_be_keys_is_refused(array, error, words):
    filter = nidus.Filter(10)
    for call in (filter.add_many, filter.contains_many, nidus.build):
        with pytest.raises(error, match=words):
            call(array)
    assert len(filter) == 0


def test_what_only_claims_to_be_arrow_is_refused():
    class Odd:
        def __init__(self, answer):
            self.answer = answer

        def __arrow_c_array__(self, requested_schema=None):
            return self.answer

    for answer in (None, (), (1, 2), "ab", Arrow("l", 0, None, None).__arrow_c_array__()[::-1]):
        with pytest.raises((TypeError, ValueError)):
            nidus.build(Odd(answer))


# --------------------------------------------------------------------- packages


class Frame:
    """What a table looks like."""

    iloc = property()
    columns = ("a", "b")

    def __iter__(self):
        return iter(self.columns)


def test_a_table_is_no_column():
    with pytest.raises(TypeError, match="a Frame has columns, not keys"):
        nidus.build(Frame())


def test_pandas():
    pandas = pytest.importorskip("pandas")
    keys = numpy.arange(1000)
    filter = nidus.build(keys, fpr=2**-24, seed=1)
    for series in (pandas.Series(keys), pandas.Series(keys, dtype="Int64"), pandas.Index(keys), pandas.Series(keys)[::-1], pandas.Series(keys, dtype=object)):
        assert nidus.build(series, fpr=2**-24, seed=1) == filter
    days = pandas.Series(pandas.date_range("2026-01-01", periods=9))
    assert nidus.build(days, fpr=2**-24, seed=1) == nidus.build(days.to_numpy(), fpr=2**-24, seed=1)
    assert nidus.build(days.dt.tz_localize("Europe/Berlin").dt.tz_convert("UTC"), fpr=2**-24, seed=1).contains_many(days.dt.tz_localize("Europe/Berlin")).all()
    words = nidus.build(WORDS, fpr=2**-24, seed=1)
    for kind in (object, "string", "category"):
        assert nidus.build(pandas.Series(WORDS, dtype=kind), fpr=2**-24, seed=1) == words
    with pytest.raises(ValueError, match="key 1 is missing"):
        nidus.build(pandas.Series([1, None], dtype="Int64"))
    with pytest.raises(TypeError):
        nidus.build(pandas.Series([1, None]))  # floats
    with pytest.raises(TypeError, match="a DataFrame has columns, not keys"):
        nidus.build(pandas.DataFrame({"a": keys}))
    frame = pandas.DataFrame({"a": [1, 1, 2], "b": ["x", "x", "x"]})
    rows = pandas.util.hash_pandas_object(frame, index=False)
    assert nidus.Filter(10).add_new_many(rows).tolist() == [True, False, True]


def test_pyarrow():
    pyarrow = pytest.importorskip("pyarrow")
    if not hasattr(pyarrow.Array, "__arrow_c_array__"):
        pytest.skip("this pyarrow has no PyCapsule interface")
    check(pyarrow.array([1, 2, -3]), [1, 2, -3])
    check(pyarrow.array(WORDS)[1:], WORDS[1:])
    check(pyarrow.chunked_array([WORDS[:2], [], WORDS[2:]]), WORDS)
    check(pyarrow.array([b"ab\0", b"xyz"], pyarrow.binary(3)), [b"ab\0", b"xyz"])
    with pytest.raises(ValueError, match="key 1 is null"):
        nidus.build(pyarrow.array([1, None]))
    with pytest.raises(TypeError, match="columns"):
        nidus.build(pyarrow.table({"a": [1]}))


def test_polars():
    polars = pytest.importorskip("polars")
    check(polars.Series([1, 2, -3]), [1, 2, -3])
    check(polars.Series(WORDS), WORDS)
    check(polars.Series(WORDS[:2]).append(polars.Series(WORDS[2:])), WORDS)
    with pytest.raises(ValueError, match="key 1 is null"):
        nidus.build(polars.Series([1, None]))
    with pytest.raises(TypeError, match="columns"):
        nidus.build(polars.DataFrame({"a": [1]}))
