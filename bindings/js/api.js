// SPDX-License-Identifier: MIT
//
// api: filters over an instance of nidus.wasm. index.js and node.cjs make the instance. pack.mjs makes
// api.cjs of this file, for node.
//
// A filter lives in the module's memory, which the garbage collector does not see; a Filter is
// a handle to it. free() gives the memory back at once, a finalizer does it some time later.
//
// Keys are copied into a scratch area of that memory, block by block. Views on the memory end
// when it grows, which any call may cause: they are made anew for each use.

const KEY_BYTES = 1 << 16; // scratch for keys
const KEYS_MOST = KEY_BYTES / 8; // keys of one block
const PACKED_INTEGER = 0x80000000; // see nidus_js.c
const NUMBERS = 64; // scratch for the numbers of a structure
const FAMILIES = 16; // more than there are
const VALUE_MOST = 0xffffffff;
const SIZE_MOST = 0xffffffff; // of the module's memory
const NO_SYSTEM = 52; // ENOSYS

const OK = 0, NOT_FOUND = 2, PRESENT = 3, UNSUPPORTED = 12, NO_MEMORY = 20;
const KEY_LEAST = -(2n ** 63n), KEY_MOST = 2n ** 64n - 1n;
const MERGE = { copies: 0, union: 1, sum: 2, max: 3, or: 4 }; // nidus_merge_how

const FEATURES = ['delete', 'enumerate', 'merge', 'grow', 'concurrent', 'fast', 'multiset', 'no-delete', 'compact', 'static'];

/** What a call of the library answered when it could not do what it was asked to. */
export class NidusError extends Error {
  constructor(code, reason) {
    super(reason);
    this.name = 'NidusError';
    this.code = code;
  }
}

/** The system calls that a module may import. There is no system: each says so. */
export function importsOf(module) {
  const imports = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    imports[from] ??= {};
    imports[from][name] = () => (from === 'env' ? -NO_SYSTEM : NO_SYSTEM);
  }
  return imports;
}

/** The API over an instance of nidus.wasm, and pointerOf(filter): for the page, whose module shows more. */
export function api(instance) {
  const wasm = instance.exports;
  wasm._initialize();
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();

  // ---------------------------------------------------------------- memory

  const bytesAt = (at, size) => new Uint8Array(wasm.memory.buffer, at, size);
  const numbersAt = (at, count) => new Float64Array(wasm.memory.buffer, at, count);

  function text(at) {
    const bytes = new Uint8Array(wasm.memory.buffer, at);
    return decoder.decode(bytes.subarray(0, bytes.indexOf(0)));
  }

  function take(size) {
    const at = size <= SIZE_MOST ? wasm.js_alloc(size) >>> 0 : 0; // a larger one would wrap around
    if (at === 0) throw new NidusError(statusName(NO_MEMORY), `no memory for ${size} bytes`);
    return at;
  }

  /** Calls with(at) on memory of its own. */
  function borrow(size, use) {
    const at = take(size);
    try {
      return use(at);
    } finally {
      wasm.js_give_back(at);
    }
  }

  const statusName = (status) => text(wasm.js_status_name(status)).replace(/^NIDUS_(E_)?/, '');

  const scratch = take(KEY_BYTES + KEYS_MOST * 4 + KEYS_MOST + NUMBERS * 8);
  const keyArea = scratch;
  const endArea = keyArea + KEY_BYTES;
  const yesArea = endArea + KEYS_MOST * 4;
  const numberArea = yesArea + KEYS_MOST;

  // ---------------------------------------------------------------- errors

  function error(status) {
    // These two have no reason beyond their name, and leave an older one in place.
    const plain = status === NOT_FOUND || status === PRESENT;
    const reason = text(plain ? wasm.js_status_text(status) : wasm.js_reason());
    return new NidusError(statusName(status), reason);
  }

  function check(status) {
    if (status !== OK) throw error(status);
  }

  /** Whether nothing may be removed from a filter whose family could do it. */
  function keepsAll(filter) {
    const { family, features } = infoOf(filter);
    return featuresOf(wasm.js_family_features(family) & ~features).includes('delete');
  }

  /** check() of a remove. The library's own words name options of C. */
  function checkRemove(filter, status) {
    if (status === UNSUPPORTED && keepsAll(filter))
      throw new NidusError(statusName(status), "nothing can be removed: the filter was made with 'no-delete' or is a union, " +
        'in which keys that look the same share an entry; Filter.merge(filters, { copies: true }) keeps all entries');
    check(status);
  }

  function made(pointer) {
    if (pointer === 0) throw error(wasm.js_last_status());
    return pointer >>> 0;
  }

  // ------------------------------------------------- structures as numbers

  const camel = (name) => name.replace(/_(.)/g, (_, letter) => letter.toUpperCase());
  const namesOf = (at) => text(at).trim().split(' ').map(camel);
  const optionNames = namesOf(wasm.js_option_names());
  const infoNames = namesOf(wasm.js_info_names());
  const planNames = namesOf(wasm.js_plan_names());

  const familyNames = [];
  for (let id = 0; id < FAMILIES && wasm.js_family_name(id) !== 0; id++)
    familyNames.push(text(wasm.js_family_name(id)));

  const featuresOf = (bits) => FEATURES.filter((_, bit) => bits >>> bit & 1);

  function readNumbers(names) {
    const numbers = numbersAt(numberArea, names.length);
    return Object.fromEntries(names.map((name, i) => [name, numbers[i]]));
  }

  function infoOf(filter) {
    check(wasm.js_info(filter, numberArea));
    return readNumbers(infoNames);
  }

  function oneOf(kind, name, names) {
    const index = names.indexOf(name);
    if (index < 0) throw new TypeError(`there is no ${kind} ${JSON.stringify(String(name))}; there are ${names.join(', ')}`);
    return index;
  }

  function wholeNumber(name, value, most) {
    if (!Number.isInteger(value) || value < 0 || value > most)
      throw new RangeError(`${name} must be a whole number from 0 to ${most}, not ${String(value)}`);
    return value;
  }

  const readers = {
    family: (name) => oneOf('family', name, familyNames),
    features: (names) => names.reduce((bits, name) => bits | 1 << oneOf('feature', name, FEATURES), 0),
    fpr(rate) {
      const most = wasm.js_fpr_most();
      if (typeof rate !== 'number' || !(rate > 0 && rate <= most))
        throw new RangeError(`fpr must be a rate above 0 and at most ${most}, like 0.001, not ${String(rate)}`);
      return rate;
    },
    capacity: (value) => wholeNumber('capacity', value, Number.MAX_SAFE_INTEGER),
    maxCapacity: (value) => (value === Infinity ? value : wholeNumber('maxCapacity', value, Number.MAX_SAFE_INTEGER)),
  };

  function randomSeed() {
    const seed = crypto.getRandomValues(new BigUint64Array(1))[0];
    return seed === 0n ? randomSeed() : seed;
  }

  function seedOf(seed) {
    if (seed === undefined || seed === 0 || seed === 0n) return randomSeed();
    if (typeof seed === 'number' ? Number.isSafeInteger(seed) && seed > 0 : typeof seed === 'bigint' && seed === BigInt.asUintN(64, seed))
      return BigInt(seed);
    throw new RangeError(`a seed is a whole number from 0 to 2^53 - 1, or a BigInt up to 2^64 - 1, not ${String(seed)}`);
  }

  /** Puts options where the module reads them. */
  function writeOptions(options) {
    const numbers = new Array(optionNames.length).fill(0);
    for (const [name, value] of Object.entries(options)) {
      if (name === 'seed' || value === undefined) continue;
      const read = readers[name] ?? ((number) => wholeNumber(name, number, VALUE_MOST));
      numbers[oneOf('option', name, optionNames)] = read(value);
    }
    numbersAt(numberArea, numbers.length).set(numbers);
  }

  // ------------------------------------------------------------------ keys

  /** A negative integer is the key that it is modulo 2^64, as arrays of signed integers have it. */
  function integerKey(key) {
    if (typeof key === 'number' ? Number.isSafeInteger(key) : key >= KEY_LEAST && key <= KEY_MOST) return BigInt(key);
    if (typeof key === 'number')
      throw new RangeError(`a number is a key if it is whole and within ±(2^53 - 1), not ${key}; beyond that use a BigInt`);
    throw new RangeError(`an integer key is from -(2^63) to 2^64 - 1, not ${key}`);
  }

  const isInteger = (key) => typeof key === 'number' || typeof key === 'bigint';

  function bytesOf(key, what = 'a key is a string, bytes (a Uint8Array) or an integer (a number or a BigInt)') {
    if (key instanceof Uint8Array) return key;
    if (ArrayBuffer.isView(key)) return new Uint8Array(key.buffer, key.byteOffset, key.byteLength);
    if (key instanceof ArrayBuffer) return new Uint8Array(key);
    throw new TypeError(what);
  }

  const LONE_SURROGATE = /\p{Surrogate}/u;
  // isWellFormed is quicker, but node 18 does not have it.
  const isWellFormed = 'isWellFormed' in String.prototype ? (key) => key.isWellFormed() : (key) => !LONE_SURROGATE.test(key);

  /** The UTF-8 of a string key needs so many bytes at most. All halves of surrogate pairs would become one key. */
  function stringSizeMost(key) {
    if (!isWellFormed(key))
      throw new TypeError(`a string key must be well-formed: at ${key.search(LONE_SURROGATE)} it has half of a surrogate pair, which has no UTF-8`);
    return key.length * 3;
  }

  const sizeMost = (key) => (typeof key === 'string' ? stringSizeMost(key) : bytesOf(key).length);

  /** Writes the bytes of a string or byte key to an array that has room for sizeMost(key). */
  function copyKey(key, to) {
    if (typeof key === 'string') return encoder.encodeInto(key, to).written;
    const bytes = bytesOf(key);
    to.set(bytes);
    return bytes.length;
  }

  /** Calls use(at, size) with the bytes of a key in the module's memory. */
  function withKey(key, use) {
    const room = sizeMost(key);
    if (room <= KEY_BYTES) return use(keyArea, copyKey(key, bytesAt(keyArea, KEY_BYTES)));
    return borrow(room, (at) => use(at, copyKey(key, bytesAt(at, room))));
  }

  function hashOf(filter, key) {
    if (isInteger(key)) return wasm.js_hash_integer(filter, integerKey(key));
    return withKey(key, (at, size) => wasm.js_hash_bytes(filter, at, size));
  }

  const INTEGERS = [[BigUint64Array, 8], [BigInt64Array, 8], [Uint32Array, 4], [Int32Array, -4]];
  const widthOf = (keys) => INTEGERS.find(([type]) => keys instanceof type)?.[1];

  /** Integers in a typed array, block by block: visit(at, width, n). */
  function visitIntegers(keys, visit) {
    const width = widthOf(keys);
    for (let i = 0; i < keys.length; i += KEYS_MOST) {
      const some = keys.subarray(i, i + KEYS_MOST);
      new keys.constructor(wasm.memory.buffer, keyArea, some.length).set(some);
      visit(keyArea, width, some.length);
    }
  }

  // Keys of any kind are packed here, as nidus_js.c says, and copied when a block is full: an iterable
  // may do anything between two keys, and also use filters.
  const writeEnds = (ends) => new Uint32Array(wasm.memory.buffer, endArea, ends.length).set(ends);

  function visitPacked(keys, visit) {
    const packed = new Uint8Array(KEY_BYTES), ends = new Uint32Array(KEYS_MOST);
    const view = new DataView(packed.buffer);
    let n = 0, end = 0;
    const flush = () => {
      if (n === 0) return;
      bytesAt(keyArea, end).set(packed.subarray(0, end));
      writeEnds(ends.subarray(0, n));
      visit(keyArea, 0, n);
      n = end = 0;
    };
    for (const key of keys) {
      const integer = isInteger(key);
      const room = integer ? 8 : sizeMost(key);
      if (n === KEYS_MOST || end + room > KEY_BYTES) flush();
      if (room > KEY_BYTES) {
        withKey(key, (at, size) => {
          writeEnds([size]);
          visit(at, 0, 1);
        });
        continue;
      }
      if (integer) view.setBigUint64(end, integerKey(key), true);
      end += integer ? 8 : copyKey(key, packed.subarray(end));
      ends[n++] = integer ? end | PACKED_INTEGER : end;
    }
    flush();
  }

  function visitKeys(keys, visit) {
    if (widthOf(keys) !== undefined) return visitIntegers(keys, visit);
    if (typeof keys === 'string' || keys instanceof Uint8Array || typeof keys?.[Symbol.iterator] !== 'function')
      throw new TypeError('many keys are a typed array of 32-bit or 64-bit integers, or an array (or other iterable) of keys');
    return visitPacked(keys, visit);
  }

  /** The hashes of all keys under a seed, in memory that use(at, n) may have. */
  function withHashes(keys, seed, use) {
    writeOptions({ capacity: 1 });
    const hasher = made(wasm.js_create(numberArea, seed));
    let room = KEYS_MOST, n = 0, hashes;
    try {
      hashes = take(room * 8);
      visitKeys(keys, (at, width, some) => {
        if (n + some > room) {
          room = Math.max(room * 2, n + some);
          const larger = take(room * 8);
          bytesAt(larger, n * 8).set(bytesAt(hashes, n * 8));
          wasm.js_give_back(hashes);
          hashes = larger;
        }
        wasm.js_hash_many(hasher, at, endArea, width, some, hashes + n * 8);
        n += some;
      });
      return use(hashes, n);
    } finally {
      wasm.js_give_back(hashes ?? 0);
      wasm.js_free(hasher);
    }
  }

  // --------------------------------------------------------------- filters

  let pointerOf;
  const finalizer = new FinalizationRegistry((pointer) => wasm.js_free(pointer));

  class Filter {
    #pointer = 0;

    static {
      pointerOf = (filter) => {
        if (typeof filter !== 'object' || filter === null || !(#pointer in filter)) throw new TypeError('that is not a Filter of this module');
        return filter.#own();
      };
    }

    constructor(options = {}) {
      if (options instanceof Pointer) {
        this.#pointer = options.pointer;
      } else {
        const seed = seedOf(options.seed);
        writeOptions(options.capacity === undefined ? { ...options, maxCapacity: options.maxCapacity ?? Infinity } : options);
        this.#pointer = made(wasm.js_create(numberArea, seed));
      }
      finalizer.register(this, this.#pointer, this);
    }

    static build(keys, options = {}) {
      const seed = seedOf(options.seed);
      return withHashes(keys, seed, (hashes, n) => {
        writeOptions(options);
        return new Filter(new Pointer(made(wasm.js_build(numberArea, seed, hashes, n))));
      });
    }

    static load(bytes) {
      bytes = bytesOf(bytes, 'a saved filter is bytes: a Uint8Array or an ArrayBuffer');
      return borrow(bytes.length || 1, (at) => {
        bytesAt(at, bytes.length).set(bytes);
        return new Filter(new Pointer(made(wasm.js_load(at, bytes.length))));
      });
    }

    static merge(filters, options = {}) {
      const how = mergeHow(options);
      const pointers = Array.from(filters, (filter) => pointerOf(filter));
      return borrow(pointers.length * 4 || 1, (at) => {
        new Uint32Array(wasm.memory.buffer, at, pointers.length).set(pointers);
        return new Filter(new Pointer(made(wasm.js_merge(at, pointers.length, how))));
      });
    }

    union(other) {
      return Filter.merge([this, other]);
    }

    #own() {
      if (this.#pointer === 0) throw new TypeError('this filter was freed');
      return this.#pointer;
    }

    free() {
      if (this.#pointer === 0) return;
      finalizer.unregister(this);
      wasm.js_free(this.#pointer);
      this.#pointer = 0;
    }

    [Symbol.dispose ?? Symbol.for('Symbol.dispose')]() {
      this.free();
    }

    add(key) {
      const filter = this.#own();
      check(wasm.js_add_hash(filter, hashOf(filter, key)));
      return this;
    }

    addNew(key) {
      const filter = this.#own();
      const status = wasm.js_add_new_hash(filter, hashOf(filter, key));
      if (status !== PRESENT) check(status);
      return status === OK;
    }

    has(key) {
      const filter = this.#own();
      if (isInteger(key)) return wasm.js_has_integer(filter, integerKey(key)) !== 0;
      return withKey(key, (at, size) => wasm.js_has(filter, at, size)) !== 0;
    }

    remove(key) {
      const filter = this.#own();
      const status = wasm.js_remove_hash(filter, hashOf(filter, key));
      if (status !== NOT_FOUND) checkRemove(filter, status);
      return status === OK;
    }

    delete(key) {
      return this.remove(key);
    }

    count(key) {
      const filter = this.#own();
      return wasm.js_count_hash(filter, hashOf(filter, key));
    }

    addValue(key, value) {
      const filter = this.#own();
      check(wasm.js_add_value_hash(filter, hashOf(filter, key), wholeNumber('a value', value, VALUE_MOST)));
      return this;
    }

    values(key) {
      const filter = this.#own();
      const found = wasm.js_find_hash(filter, hashOf(filter, key), keyArea, KEYS_MOST);
      return Array.from(new BigUint64Array(wasm.memory.buffer, keyArea, Math.min(found, KEYS_MOST)), Number);
    }

    removeValue(key, value) {
      const filter = this.#own();
      const status = wasm.js_remove_value_hash(filter, hashOf(filter, key), wholeNumber('a value', value, VALUE_MOST));
      if (status !== NOT_FOUND) checkRemove(filter, status);
      return status === OK;
    }

    addCount(key, delta = 1) {
      const filter = this.#own();
      check(wasm.js_add_count_hash(filter, hashOf(filter, key), wholeNumber('a count', delta, VALUE_MOST)));
      return this;
    }

    getCount(key) {
      const filter = this.#own();
      return wasm.js_get_count_hash(filter, hashOf(filter, key));
    }

    hasMany(keys) {
      this.#own();
      if (typeof keys?.length !== 'number' && typeof keys?.[Symbol.iterator] === 'function') keys = Array.from(keys);
      const yes = new Uint8Array(keys?.length ?? 0);
      let done = 0;
      visitKeys(keys, (at, width, n) => {
        wasm.js_has_many(this.#own(), at, endArea, width, n, yesArea);
        yes.set(bytesAt(yesArea, n), done);
        done += n;
      });
      return yes;
    }

    #change(keys, change) {
      this.#own();
      let done = 0;
      try {
        visitKeys(keys, (at, width, n) => {
          const status = change(this.#own(), at, endArea, width, n);
          done += wasm.js_last_done();
          checkRemove(this.#own(), status);
        });
      } catch (error) {
        error.done = done;
        throw error;
      }
      return done;
    }

    addMany(keys) {
      return this.#change(keys, wasm.js_add_many);
    }

    removeMany(keys) {
      return this.#change(keys, wasm.js_remove_many);
    }

    get size() {
      return wasm.js_size(this.#own());
    }

    info() {
      const filter = this.#own();
      const info = infoOf(filter);
      return {
        ...info,
        family: familyNames[info.family],
        maxCapacity: info.maxCapacity > Number.MAX_SAFE_INTEGER ? Infinity : info.maxCapacity,
        features: featuresOf(info.features),
        seed: BigInt.asUintN(64, wasm.js_seed(filter)),
      };
    }

    save() {
      const filter = this.#own();
      const size = wasm.js_saved_size(filter) >>> 0;
      return borrow(size, (at) => {
        check(wasm.js_save(filter, at, size));
        return bytesAt(at, size).slice();
      });
    }

    clone() {
      return new Filter(new Pointer(made(wasm.js_clone(this.#own()))));
    }

    clear() {
      check(wasm.js_clear(this.#own()));
    }

    grow(capacity) {
      check(wasm.js_grow(this.#own(), readers.capacity(capacity)));
    }

    shrink(capacity = 0) {
      check(wasm.js_shrink(this.#own(), readers.capacity(capacity)));
    }

    pack() {
      check(wasm.js_pack(this.#own()));
    }

    verify() {
      check(wasm.js_verify(this.#own()));
    }
  }

  /** What a merge does with equal entries, of its options. */
  function mergeHow(options) {
    for (const name of Object.keys(options)) oneOf('option', name, ['copies', 'values']);
    const { copies = false, values } = options;
    if (values === undefined) return copies ? MERGE.copies : MERGE.union;
    if (copies) throw new TypeError('copies keeps all values: choose copies or values');
    return MERGE[['sum', 'max', 'or'][oneOf('way to join values', values, ['sum', 'max', 'or'])]];
  }

  /** Only this file can make one: a Filter of a filter that is there already. */
  class Pointer {
    constructor(pointer) {
      this.pointer = pointer;
    }
  }

  function plan(options) {
    writeOptions(options);
    check(wasm.js_plan(numberArea, seedOf(options.seed)));
    return Array.from({ length: wasm.js_plan_rows() }, (_, index) => {
      wasm.js_plan_row(index, numberArea);
      const row = readNumbers(planNames);
      return {
        ...row,
        family: familyNames[row.family],
        status: statusName(row.status),
        chosen: row.chosen !== 0,
        features: featuresOf(row.features),
        why: text(wasm.js_plan_why(index)),
      };
    });
  }

  const families = Object.freeze(familyNames.slice(1).map((name, index) =>
    Object.freeze({ name, features: Object.freeze(featuresOf(wasm.js_family_features(index + 1))) })));

  return { Filter, NidusError, plan, families, version: text(wasm.js_version()), pointerOf };
}

/** What the package exports, over an instance. */
function offered(instance) {
  const { pointerOf, ...rest } = api(instance);
  return rest;
}

/** The API over the bytes of nidus.wasm, or over a module compiled from them. */
export async function instantiate(source) {
  const module = source instanceof WebAssembly.Module ? source : await WebAssembly.compile(source);
  return offered(await WebAssembly.instantiate(module, importsOf(module)));
}

/** The same at once. */
export function instantiateSync(source) {
  const module = source instanceof WebAssembly.Module ? source : new WebAssembly.Module(source);
  return offered(new WebAssembly.Instance(module, importsOf(module)));
}
