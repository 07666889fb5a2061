// SPDX-License-Identifier: MIT
//
// index: what the package offers. include/nidus.h has the exact promises of every call.

declare global {
  // Declared by newer libraries of types, too; a program need not have them.
  interface SymbolConstructor {
    readonly dispose: unique symbol;
  }
}

/**
 * A string (its UTF-8 bytes), bytes, or an integer from -(2^63) to 2^64 - 1. The three do not mix: the
 * key 7 is not the key '7', but a string and its UTF-8 bytes are one key. A negative integer is the key
 * that it is modulo 2^64, as in signed arrays and in other languages: -1 is 2n ** 64n - 1n. A string
 * with half of a surrogate pair is a TypeError.
 */
export type Key = string | number | bigint | ArrayBufferView | ArrayBuffer;

/** Many keys: integers in a typed array, which is quickest, or keys of any kind. */
export type Keys = BigUint64Array | BigInt64Array | Uint32Array | Int32Array | Iterable<Key>;

export type Family =
  | 'cuckoo' | 'semisort' | 'simplified' | 'chunked' | 'bucketed' | 'windowed' | 'breadcrumb'
  | 'bloom' | 'blocked-bloom' | 'ribbon';

export type Feature =
  | 'delete' | 'enumerate' | 'merge' | 'grow' | 'concurrent' | 'fast' | 'multiset' | 'no-delete' | 'compact' | 'static';

/** How a filter is to be. */
export interface Options {
  /** Keys that must fit. Without it (and without maxCapacity) the filter takes any number of keys and grows as they come. */
  capacity?: number;
  /** The false-positive rate at that capacity, from 2^-32 to 2^-4, of a static one up to 2^-1; 2^-8 if not given. */
  fpr?: number;
  /** 'auto', the default, is the smallest that has the features, or one hardly larger and faster. */
  family?: Family | 'auto';
  /** What the filter must be able to do. */
  features?: Feature[];
  /** Keys hash alike in filters of one seed, and only these can be merged. Random if not given. */
  seed?: number | bigint;
  /** The filter grows up to so many keys by itself; Infinity: without an end. */
  maxCapacity?: number;
  /** Bits of the value beside each key, up to 32; none if not given. */
  valueBits?: number;
  /** Slots per bucket or window; the family's best if not given. */
  slots?: number;
  maxSteps?: number;
  reserve?: number;
  stash?: number;
}

export interface Info {
  family: Family;
  /** Entries now, copies counted. */
  count: number;
  /** Keys promised to fit. */
  capacity: number;
  /** Keys that it may grow to by itself; Infinity: any number. */
  maxCapacity: number;
  /** Memory. */
  bytes: number;
  /** Used slots / slots. */
  load: number;
  headroom: number;
  bitsPerKey: number;
  fprTarget: number;
  /** The rate expected with what is in it now. */
  fprNow: number;
  slots: number;
  fingerprintBits: number;
  slotBits: number;
  growthBits: number;
  totalSlots: number;
  chunks: number;
  stashed: number;
  features: Feature[];
  valueBits: number;
  seed: bigint;
}

/** What one family would take. */
export interface PlanRow {
  family: Family;
  /** 'OK', or the code of the error that making such a filter throws. */
  status: string;
  /** What 'auto', or the family in the options, takes. */
  chosen: boolean;
  bytes: number;
  capacity: number;
  bitsPerKey: number;
  /** bitsPerKey / log2(1 / fpr): 1 is the least that a set can take. */
  overhead: number;
  fpr: number;
  load: number;
  linesPerLookup: number;
  slots: number;
  fingerprintBits: number;
  copies: number;
  features: Feature[];
  /** The family's place in the order of measured speed; the quickest has the least. */
  pace: number;
  /** The class of measured speed: 1 slow, 2 medium, 3 fast, 4 fastest. */
  speed: number;
  /** The most that it takes while it grows to maxCapacity. */
  bytesGrowing: number;
  /** Why this row was chosen, or why there can be no such filter. */
  why: string;
}

/** What a merge does with equal entries: keeps them once, unless it is told otherwise. */
export interface MergeOptions {
  /** Keep all of them, so that what was added to the filters can be removed from the result. */
  copies?: boolean;
  /** Keep one, with one value made of all: their sum (for counts), the highest, or all their bits. */
  values?: 'sum' | 'max' | 'or';
}

/** The library could not do what it was asked to; the message says why. Nothing was changed. */
export class NidusError extends Error {
  constructor(code: string, reason: string);
  /** The status without its prefix: 'FULL', 'CORRUPT', 'RANGE'. */
  readonly code: string;
  /** addMany, removeMany: so many keys were dealt with before the one that failed. */
  readonly done?: number;
}

/**
 * A set that forgets its keys. It never says no for a key that is in it.
 *
 * It lives in memory that the garbage collector does not see. free() gives that back at once;
 * a filter that was forgotten is freed some time later.
 */
export class Filter {
  constructor(options?: Options);

  /** A filter of all these keys; the capacity is their number unless it is given. */
  static build(keys: Keys, options?: Options): Filter;
  /** A filter from the bytes of a file: what save() or the nidus command wrote. */
  static load(bytes: ArrayBufferView | ArrayBuffer): Filter;
  /**
   * The union: a filter with all their keys. They need the same options and the same seed. Equal entries
   * are kept once, so keys that look the same share one, and the result refuses removes.
   */
  static merge(filters: Iterable<Filter>, how?: MergeOptions): Filter;

  /** The union of two, as merge() makes it. */
  union(other: Filter): Filter;

  /** Puts one copy of a key in. */
  add(key: Key): this;
  /** Puts a key in unless has(key); then false, and you must not remove it. */
  addNew(key: Key): boolean;
  /** True for every key that is in it, and for others with the filter's fpr. */
  has(key: Key): boolean;
  /**
   * Takes one copy out; false if there is none. Remove only what you added: any other key may take the
   * entry of one that looks the same.
   */
  remove(key: Key): boolean;
  /** remove(), under the name that it has in a Set. */
  delete(key: Key): boolean;
  /** Copies of a key, those of keys that look the same included. */
  count(key: Key): number;

  /** Puts a key in with a value, in a filter with valueBits. A key may have several. */
  addValue(key: Key, value: number): this;
  /** The values of all entries that look like the key; its own are among them. */
  values(key: Key): number[];
  /** Takes out one entry of the key that has this value; false if there is none. */
  removeValue(key: Key, value: number): boolean;
  /** Counts a key: adds to its value, up to the highest, or puts it in. */
  addCount(key: Key, delta?: number): this;
  /** How often a key was counted: never too low, but for the highest value, which means "or more". */
  getCount(key: Key): number;

  /** has() of each key, as 1 or 0. */
  hasMany(keys: Keys): Uint8Array;
  /** add() of each key up to the first that fails; the error's `done` tells how many. */
  addMany(keys: Keys): number;
  /** remove() of each key up to the first that is not there; the error's `done` tells how many. */
  removeMany(keys: Keys): number;

  /** Entries now. */
  readonly size: number;
  info(): Info;
  /** The bytes of a file. */
  save(): Uint8Array;
  clone(): Filter;
  clear(): void;
  /** Makes room for so many keys, of a filter with maxCapacity. */
  grow(capacity: number): void;
  /** Gives memory back: room for so many keys, or for those in it. */
  shrink(capacity?: number): void;
  /** Makes a finished filter as small as it can be: a table of fixed size for the keys in it. Merge before. */
  pack(): void;
  /** Checks every entry; throws if something is wrong. */
  verify(): void;

  /** Gives the memory back. Any later call but this one throws. */
  free(): void;
  /** free(), for `using`. */
  [Symbol.dispose](): void;
}

/** Tells for every family what a filter with these options would take, without making one. */
export function plan(options: Options & { capacity: number }): PlanRow[];

export const families: ReadonlyArray<{ readonly name: Family; readonly features: readonly Feature[] }>;

/** The library's version. */
export const version: string;
