# SPDX-License-Identifier: MIT
"""What becomes of the objects that hold many keys before the C module looks at them.

Neither NumPy nor pandas is imported here: an object of theirs brings what is needed along.
"""

import sys


def prepare(keys):
    """A pair: an array, Arrow array or iterable of the keys, and the mask of a masked array or None.

    The keys are then those that are not masked.
    """
    if _is_masked(keys):
        mask = sys.modules["numpy"].ma.getmaskarray(keys)
        if keys.ndim == 1:
            return _as_numbers(keys.compressed()), mask
    if _is_table(keys):
        raise TypeError(
            f"a {type(keys).__name__} has columns, not keys: choose one of them, or make one key of each row "
            "(pandas.util.hash_pandas_object(frame, index=False) does)"
        )
    if _is_series(keys):
        keys = _array_of(keys)
    elif isinstance(keys, memoryview) and keys.format == "B":
        raise TypeError("bytes are one key; keys are an array or an iterable")
    return _as_numbers(keys), None


def restore(answer, mask):
    """The answer for a whole masked array, of the answers for the items that are not masked."""
    numpy = sys.modules["numpy"]
    whole = numpy.ma.masked_all(mask.shape, dtype=answer.dtype)
    whole[~mask] = answer
    return whole


def _is_masked(keys):
    masked = sys.modules.get("numpy.ma")
    return masked is not None and isinstance(keys, masked.MaskedArray)


def _is_table(keys):
    kind = type(keys)
    columns = hasattr(kind, "columns") and (hasattr(kind, "iloc") or hasattr(kind, "__arrow_c_stream__"))
    return columns or hasattr(kind, "__dataframe__")


def _is_series(keys):
    """A Series or Index of pandas."""
    return hasattr(type(keys), "to_numpy") and hasattr(type(keys), "array") and hasattr(keys, "dtype")


def _array_of(series):
    """The array behind a Series, without a copy where it is one of NumPy's or Arrow's."""
    dtype = series.dtype
    if getattr(dtype, "kind", "") == "M" and not hasattr(dtype, "pyarrow_dtype"):
        return series.to_numpy(dtype="datetime64[ns]") if hasattr(dtype, "tz") else series.to_numpy()
    if type(dtype).__module__.partition(".")[0] == "numpy":
        return series.to_numpy()
    missing = series.isna()
    if missing.any():
        raise ValueError(f"key {int(missing.argmax())} is missing; dropna() leaves the others")
    if hasattr(series, "__arrow_c_stream__") and hasattr(dtype, "pyarrow_dtype"):
        return series
    if hasattr(dtype, "numpy_dtype"):
        return series.to_numpy(dtype=dtype.numpy_dtype)
    return series.to_numpy()


def _as_numbers(keys):
    """Dates and durations of NumPy as the integers that they are kept as, which the buffer protocol has no word for."""
    kind = getattr(getattr(keys, "dtype", None), "kind", "")
    return keys.view("i8") if kind in ("M", "m") and hasattr(keys, "view") else keys
