// SPDX-License-Identifier: MIT
//
// package: the npm package in node, beside the nidus command.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { FAMILIES, folder, nidus, packageFolder, query, top, words } from './support.mjs';

// What users get: packed, unpacked, and imported by its name.
const tarball = JSON.parse(execFileSync('npm', ['pack', '--json', '--pack-destination', folder], {
  cwd: packageFolder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'],
}))[0];
const installed = join(folder, 'node_modules/nidus');
mkdirSync(installed, { recursive: true });
execFileSync('tar', ['xzf', join(folder, tarball.filename), '--strip-components=1', '-C', installed]);
const { Filter, NidusError, plan, families, version } = await import(pathToFileURL(join(installed, 'node.js')));

const throwsCode = (code, call) => assert.throws(call, (error) => {
  assert.ok(error instanceof NidusError, String(error));
  assert.equal(error.code, code);
  assert.ok(error.message.length > 5, error.message);
  return true;
});

test('the package is below 350 kB and has no file that is not needed', () => {
  assert.ok(tarball.size < 350_000, `${tarball.size} bytes`);
  const names = tarball.files.map((file) => file.path).sort();
  assert.deepEqual(names, ['LICENSE', 'NOTICE', 'README.md', 'api-node.js', 'api.cjs', 'api.d.cts', 'api.d.ts', 'api.js', 'index.d.cts', 'index.d.ts', 'index.js',
    'nidus.wasm', 'node.cjs', 'node.js', 'package.json']);
});

test('the version is the one of the header', () => {
  assert.equal(JSON.parse(readFileSync(join(installed, 'package.json'))).version, version);
});

test('all families are there', () => {
  assert.deepEqual(families.map((family) => family.name), [...FAMILIES, 'ribbon']);
});

test('a static filter is built once and read', () => {
  const keys = words(5000), absent = words(20000, 'absent');
  const file = join(folder, 'ribbon.nidus');
  nidus(['build', '--static', '-p', '0.002', '--seed', '77', '-o', file], keys);
  const filter = Filter.build(keys, { features: ['static'], fpr: 0.002, seed: 77 });
  assert.deepEqual(Buffer.from(filter.save()), readFileSync(file));
  const loaded = Filter.load(readFileSync(file));
  assert.equal(loaded.info().family, 'ribbon');
  assert.deepEqual(loaded.info().features, ['static']);
  assert.ok(loaded.hasMany(keys).every((yes) => yes === 1));
  const yes = loaded.hasMany(absent);
  assert.deepEqual(absent.filter((_, i) => yes[i]), query(file, absent));
  assert.throws(() => loaded.add('heron'), /never changes/);
  filter.free();
  loaded.free();
});

const goldenFolder = join(top, 'tests/golden');
const golden = readdirSync(goldenFolder).filter((name) => name.endsWith('.nidus')).map((name) => join(goldenFolder, name));
const linesOf = (path) => readFileSync(path, 'utf8').trimEnd().split('\n');

test('golden files answer as in C', () => {
  assert.ok(golden.length > 50);
  const asked = linesOf(join(goldenFolder, 'keys')).filter((line) => !line.startsWith('hash '));
  for (const path of golden) {
    const expected = linesOf(path.replace(/nidus$/, 'expected'));
    const told = Object.fromEntries(expected.map((line) => [line.split(' ', 1)[0], line.slice(line.indexOf(' ') + 1)]));
    const found = new Map(expected.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]));
    const bytes = readFileSync(path), filter = Filter.load(bytes), info = filter.info();
    if ('capacity' in told) assert.equal(String(info.capacity), told.capacity, path); // those that grow tell max_capacity alone
    for (const name of ['family', 'seed', 'count', 'slots']) {
      assert.equal(String(info[name]), told[name], `${path}: ${name}`);
    }
    for (const line of asked) {
      const key = line.startsWith('u64 ') ? BigInt(line.slice(4)) : line.slice(5);
      assert.equal(filter.has(key), found.has(line), `${path}: ${line}`);
      assert.equal(filter.count(key), found.get(line) ?? 0, `${path}: ${line}`);
    }
    assert.deepEqual(Buffer.from(filter.save()), bytes, path);
    filter.free();
  }
});

test('golden files that were damaged are refused as files', () => {
  const refused = (bytes, what) => assert.throws(() => Filter.load(bytes), (error) => {
    assert.ok(error instanceof NidusError && ['FORMAT', 'VERSION', 'TRUNCATED', 'CORRUPT'].includes(error.code), `${what}: ${error}`);
    return true;
  }, what);
  for (const path of golden) {
    const bytes = readFileSync(path);
    for (let end = 0; end < bytes.length; end += Math.floor(bytes.length / 20) + 1) {
      refused(bytes.subarray(0, end), `${path} to ${end}`);
    }
    for (let at = 0; at < bytes.length; at += at < 192 ? 1 : 197) {
      const damaged = Uint8Array.from(bytes);
      damaged[at] ^= 1 << at % 8;
      refused(damaged, `${path} at ${at}`);
    }
  }
});

for (const family of FAMILIES) {
  const keys = words(5000), absent = words(20000, 'absent');
  const file = join(folder, `${family}.nidus`);

  test(`${family}: a file of the command answers the same here`, () => {
    nidus(['build', '-f', family, '-p', '0.01', '-o', file], keys);
    const filter = Filter.load(readFileSync(file));
    assert.equal(filter.info().family, family);
    assert.ok(filter.hasMany(keys).every((yes) => yes === 1));
    const yes = filter.hasMany(absent);
    assert.deepEqual(absent.filter((_, i) => yes[i]), query(file, absent));
    filter.free();
  });

  test(`${family}: the same keys and seed give the bytes that the command writes`, () => {
    nidus(['build', '-f', family, '-p', '0.002', '--seed', '77', '-o', file, '--force'], keys);
    const filter = Filter.build(keys, { family, fpr: 0.002, seed: 77 });
    assert.deepEqual(Buffer.from(filter.save()), readFileSync(file));
    filter.free();
  });

  test(`${family}: integers given one by one or as arrays are what --u64 means`, () => {
    const integers = BigUint64Array.from({ length: 3000 }, (_, i) => BigInt(i) * 0x9e3779b97f4a7c15n & 0xffffffffffffffffn);
    nidus(['build', '--u64', '-f', family, '-o', file, '--force'], [...integers]);
    const filter = Filter.load(readFileSync(file));
    assert.ok(filter.hasMany(integers).every((yes) => yes === 1));
    const others = integers.map((key) => key + 1n);
    assert.deepEqual(filter.hasMany(others), Uint8Array.from(others, (key) => Number(filter.has(key))));
    assert.deepEqual([...others].filter((key) => filter.has(key)).map(String), query(file, [...others], '--u64'));
    filter.free();
  });

  test(`${family}: what is saved here the command reads`, () => {
    const filter = new Filter({ capacity: keys.length, fpr: 0.01, family });
    filter.addMany(keys);
    writeFileSync(file, filter.save());
    assert.equal(query(file, keys).length, keys.length);
    const yes = filter.hasMany(absent);
    assert.deepEqual(absent.filter((_, i) => yes[i]), query(file, absent));
    filter.verify();
    filter.free();
  });

  test(`${family}: a removed key is gone where the family can remove`, () => {
    const filter = Filter.build(keys, { family, fpr: 1e-4 });
    if (!families.find(({ name }) => name === family).features.includes('delete')) {
      throwsCode('UNSUPPORTED', () => filter.remove(keys[0]));
      return;
    }
    assert.equal(filter.removeMany(keys.slice(0, 4000)), 4000);
    assert.equal(filter.size, 1000);
    assert.ok(filter.hasMany(keys.slice(4000)).every((yes) => yes === 1));
    assert.ok(filter.hasMany(keys.slice(0, 4000)).filter((yes) => yes).length < 40);
    filter.free();
  });

  test(`${family}: a merged filter has the keys of all`, () => {
    const options = { capacity: 2000, fpr: 0.01, family, seed: 5n };
    const filters = [0, 1, 2].map((part) => {
      const filter = new Filter(options);
      filter.addMany(keys.slice(part * 1000, part * 1000 + 1000));
      return filter;
    });
    const merged = Filter.merge(filters);
    assert.ok(merged.hasMany(keys.slice(0, 3000)).every((yes) => yes === 1));
    throwsCode('MISMATCH', () => Filter.merge([filters[0], new Filter({ ...options, seed: 6n })]));
  });
}

for (const family of FAMILIES.filter((name) => families.find((row) => row.name === name).features.includes('delete'))) {
  test(`${family}: a union has an entry once and refuses removes; copies are kept on demand`, () => {
    const options = { capacity: 100, fpr: 2 ** -20, family, seed: 5 };
    const a = new Filter(options).add('heron').add('crane'), b = new Filter(options).add('heron').add('stork');
    for (const union of [a.union(b), Filter.merge([a, b]), Filter.load(a.union(b).save()), a.union(b).union(a)]) {
      assert.equal(union.size, 3);
      assert.equal(union.count('heron'), 1);
      for (const remove of [() => union.remove('heron'), () => union.delete('heron'), () => union.removeMany(['heron'])])
        assert.throws(remove, (error) => error.code === 'UNSUPPORTED' && /union.*copies: true/.test(error.message));
      assert.equal(union.add('egret').size, 4);
    }
    const all = Filter.merge([a, b], { copies: true });
    assert.equal(all.size, 4);
    assert.equal(all.count('heron'), 2);
    assert.ok(all.delete('heron') && all.has('heron') && all.remove('heron') && !all.has('heron'));
    assert.equal(all.delete('heron'), false);
  });
}

test('a merge makes one value of several', () => {
  const options = { capacity: 100, fpr: 2 ** -20, valueBits: 8, seed: 5 };
  const a = new Filter(options).addValue('heron', 5), b = new Filter(options).addValue('heron', 6);
  assert.deepEqual(Filter.merge([a, b]).values('heron').sort(), [5, 6]);
  assert.deepEqual(Filter.merge([a, b], { values: 'sum' }).values('heron'), [11]);
  assert.deepEqual(Filter.merge([a, b], { values: 'max' }).values('heron'), [6]);
  assert.deepEqual(Filter.merge([a, b], { values: 'or' }).values('heron'), [7]);
  assert.throws(() => Filter.merge([a, b], { values: 'mean' }), /there is no way to join values "mean"/);
  assert.throws(() => Filter.merge([a, b], { values: 'sum', copies: true }), /choose copies or values/);
  assert.throws(() => Filter.merge([a, b], { unique: true }), /there is no option "unique"/);
});

test('a negative integer is the key that other bindings make of it', () => {
  const filter = new Filter({ capacity: 100, fpr: 2 ** -24 });
  filter.add(-1n).add(-(2n ** 63n)).add(-7);
  assert.ok(filter.has(2n ** 64n - 1n) && filter.has(-1) && filter.has(2n ** 63n) && filter.has(-7n));
  assert.ok(filter.hasMany(BigInt64Array.of(-1n, -7n, -(2n ** 63n))).every((yes) => yes === 1));
  assert.deepEqual([...filter.hasMany(Int32Array.of(-1, -7, 7))], [1, 1, 0]);
  assert.deepEqual([...filter.hasMany([-1n, -1, -7, Number.MIN_SAFE_INTEGER])], [1, 1, 1, 0]);
  assert.deepEqual([...filter.hasMany(Uint32Array.of(2 ** 32 - 1))], [0]);
  const file = join(folder, 'negative.nidus');
  writeFileSync(file, filter.save());
  assert.deepEqual(query(file, ['18446744073709551615', '9223372036854775808'], '--u64').length, 2);
  for (const key of [-(2n ** 63n) - 1n, 2n ** 64n]) assert.throws(() => filter.add(key), /from -\(2\^63\) to 2\^64 - 1/);
});

test('half of a surrogate pair is no key', () => {
  const filter = new Filter({ capacity: 100 });
  for (const key of ['\ud800', 'a\udc00', '\udc00\ud800', `${'x'.repeat(70_000)}\ud83d`]) {
    for (const call of [() => filter.add(key), () => filter.has(key), () => filter.hasMany(['a', key]), () => filter.addMany([key]), () => Filter.build([key])])
      assert.throws(call, (error) => error instanceof TypeError && /half of a surrogate pair/.test(error.message));
  }
  assert.equal(filter.size, 0);
  assert.ok(filter.add('🪶').has('\ud83e\udeb6'));
});

test('a rate that no filter has is an error', () => {
  for (const fpr of [0, -0, 0.9, 0.0626, 1, 2, -1, Infinity, NaN, '0.01', null]) {
    for (const call of [() => new Filter({ capacity: 10, fpr }), () => plan({ capacity: 10, fpr }), () => Filter.build(['a'], { fpr })])
      assert.throws(call, (error) => error instanceof RangeError && /above 0 and at most 0\.0625/.test(error.message), String(fpr));
  }
  assert.equal(new Filter({ capacity: 10, fpr: 0.0625 }).info().fprTarget, 0.0625);
  assert.equal(new Filter({ capacity: 10, fpr: undefined }).info().fprTarget, 2 ** -8);
});

test('strings, bytes and integers are what they look like', () => {
  const filter = new Filter({ capacity: 100, fpr: 2 ** -24, seed: 1 });
  filter.add('Reiher 🪶').add(7).add(2n ** 64n - 1n).add(new Uint8Array(0));
  assert.ok(filter.has(new TextEncoder().encode('Reiher 🪶')));
  assert.ok(filter.has(7n) && !filter.has('7'));
  assert.ok(filter.has(2n ** 64n - 1n));
  assert.ok(filter.has('') && filter.has(new ArrayBuffer(0)));
  assert.equal(filter.count(7), 1);
  assert.deepEqual([...filter.hasMany(new Set(['Reiher 🪶', 7, 8]))], [1, 1, 0]);
  assert.deepEqual([...filter.hasMany(Uint32Array.of(8, 7))], [0, 1]);
  assert.deepEqual([...filter.hasMany([])], []);
});

test('keys of any length are keys, in every place of a block', () => {
  const long = ['x'.repeat(1 << 16), 'y'.repeat(200_000), 'ä'.repeat(30_000), 'z'];
  const keys = [...words(9000), ...long, ...words(9000, 'more'), ...long.map((key) => `${key}!`)];
  const filter = Filter.build(keys, { fpr: 2 ** -24 });
  assert.equal(filter.size, keys.length);
  assert.ok(filter.hasMany(keys).every((yes) => yes === 1));
  assert.ok(keys.every((key) => filter.has(key)));
  assert.ok(!filter.has('x'.repeat((1 << 16) - 1)));
});

test('an iterable may use filters while it is read', () => {
  const seen = new Filter({ capacity: 20000, fpr: 2 ** -24 }), other = new Filter({ capacity: 20000 });
  function* fresh() {
    for (const key of words(12000)) {
      other.add(key);
      if (other.has(key) && !seen.has('something else')) yield key;
    }
  }
  assert.equal(seen.addMany(fresh()), 12000);
  assert.ok(seen.hasMany(words(12000)).every((yes) => yes === 1));
  function* freeing() {
    yield 'x';
    seen.free();
    yield 'y';
  }
  assert.throws(() => seen.hasMany(freeing()), /was freed/);
  assert.throws(() => seen.addMany(freeing()), /was freed/);
});

test('integers of four and of eight bytes are the same keys', () => {
  const narrow = Uint32Array.from({ length: 20000 }, (_, i) => i * 7);
  const filter = Filter.build(narrow, { fpr: 2 ** -20 });
  assert.equal(filter.size, 20000);
  assert.ok(filter.hasMany(BigUint64Array.from(narrow, BigInt)).every((yes) => yes === 1));
  assert.ok(filter.hasMany(Array.from(narrow)).every((yes) => yes === 1));
});

test('memory grows under a filter of millions', () => {
  const keys = Uint32Array.from({ length: 3_000_000 }, (_, i) => i);
  const filter = Filter.build(keys, { fpr: 2 ** -8 });
  assert.ok(filter.hasMany(keys).every((yes) => yes === 1));
  assert.equal(Filter.load(filter.save()).size, keys.length);
  filter.free();
});

test('a filter grows by itself and shrinks when told', () => {
  const filter = new Filter({ capacity: 100, maxCapacity: 10000, features: ['grow'] });
  filter.addMany(words(10000));
  assert.ok(filter.hasMany(words(10000)).every((yes) => yes === 1));
  const { bytes } = filter.info();
  filter.removeMany(words(9900));
  filter.shrink();
  const copy = filter.clone();
  copy.pack();
  assert.equal(copy.info().capacity, copy.info().maxCapacity);
  assert.ok(filter.info().bytes < bytes);
  filter.grow(5000);
  assert.ok(filter.info().capacity >= 5000);
});

test('a filter without a capacity takes any number of keys', () => {
  const keys = BigUint64Array.from({ length: 600_000 }, (_, i) => BigInt(i));
  const absent = keys.map((key) => key + 10_000_000n);
  const filter = new Filter({ fpr: 0.01, seed: 1 });
  assert.equal(filter.info().maxCapacity, Infinity);
  assert.ok(filter.info().bytes <= 1024);
  filter.addMany(keys);
  assert.ok(filter.hasMany(keys).every((yes) => yes === 1));
  assert.ok(filter.hasMany(absent).reduce((sum, yes) => sum + yes, 0) < 0.01 * absent.length);
  assert.equal(filter.removeMany(keys.subarray(0, 100_000)), 100_000);
  assert.ok(filter.hasMany(keys.subarray(100_000)).every((yes) => yes === 1));
  const again = Filter.load(filter.save());
  assert.equal(again.info().maxCapacity, Infinity);
  again.addMany(absent);
  assert.equal(again.size, 1_100_000);
  for (const options of [undefined, {}, { maxCapacity: undefined }, { maxCapacity: Infinity }, { capacity: 5, maxCapacity: Infinity }])
    assert.equal(new Filter(options).info().maxCapacity, Infinity, JSON.stringify(options));
  assert.equal(new Filter({ capacity: 5 }).info().maxCapacity, new Filter({ capacity: 5 }).info().capacity);
  assert.ok(Filter.build([1, 2, 3]).info().maxCapacity < 1000); // it knows its keys
  throwsCode('ARG', () => new Filter({ maxCapacity: 10 }));
  throwsCode('UNSUPPORTED', () => new Filter({ family: 'cuckoo' }));
  for (const maxCapacity of [-Infinity, NaN, 2 ** 53, -1]) assert.throws(() => new Filter({ maxCapacity }), RangeError, String(maxCapacity));
  assert.throws(() => new Filter({ capacity: Infinity }), RangeError);
});

test('values are kept beside keys, through a file and back', () => {
  const options = { capacity: 1000, fpr: 1e-4, valueBits: 10 };
  const able = plan(options).filter(({ status, features }) => status === 'OK' && features.includes('delete'));
  assert.ok(able.length >= 6);
  for (const { family } of able) {
    const filter = new Filter({ ...options, family });
    for (let i = 0; i < 1000; i++) filter.addValue(i, i);
    const again = Filter.load(filter.save());
    assert.equal(again.info().valueBits, 10);
    for (let i = 0; i < 1000; i++) assert.ok(again.values(i).includes(i), family);
    assert.ok(again.removeValue(7, 7));
    assert.ok(!again.values(7).includes(7));
    throwsCode('RANGE', () => again.addValue('x', 1024));
    assert.throws(() => again.addValue('x', -1), RangeError);
    throwsCode('UNSUPPORTED', () => new Filter({ capacity: 10, family }).addValue('x', 1));
    filter.free();
    again.free();
  }
});

test('errors say what is wrong, and nothing has changed', () => {
  const filter = new Filter({ capacity: 8, family: 'cuckoo', seed: 3 });
  assert.throws(() => filter.addMany(words(1000)), (error) => {
    assert.equal(error.code, 'FULL');
    assert.equal(error.done, filter.size);
    return true;
  });
  const before = filter.save();
  throwsCode('FULL', () => filter.add(words(1000)[filter.size]));
  assert.deepEqual(filter.save(), before);
  throwsCode('ARG', () => new Filter({ capacity: 0 }));
  throwsCode('RANGE', () => new Filter({ capacity: 10, fpr: 1e-12 }));
  throwsCode('UNSUPPORTED', () => new Filter({ capacity: 10, family: 'bloom', features: ['delete'] }));
  throwsCode('FORMAT', () => Filter.load(new Uint8Array(4096)));
  throwsCode('TRUNCATED', () => Filter.load(before.subarray(0, before.length - 1)));
  throwsCode('NOT_FOUND', () => new Filter({ capacity: 10 }).removeMany(['nobody']));
  const damaged = before.slice();
  damaged[300] ^= 1;
  throwsCode('CORRUPT', () => Filter.load(damaged));
  throwsCode('NOMEM', () => new Filter({ capacity: 1e13 }));
});

test('senseless arguments are told apart from errors of the library', () => {
  const filter = new Filter({ capacity: 10 });
  for (const key of [1.5, 2 ** 53, -(2 ** 53), 2n ** 64n]) assert.throws(() => filter.add(key), RangeError, String(key));
  for (const key of [undefined, null, true, {}, []]) assert.throws(() => filter.has(key), TypeError, String(key));
  for (const keys of ['word', 7, undefined, new Uint8Array(8)]) assert.throws(() => filter.hasMany(keys), TypeError);
  assert.throws(() => new Filter({ capcity: 10 }), /there is no option "capcity"; there are .*capacity/);
  assert.throws(() => new Filter({ capacity: 10, family: 'robin' }), /there is no family "robin"; there are .*windowed/);
  assert.throws(() => new Filter({ capacity: 1.5 }), RangeError);
  assert.throws(() => new Filter({ capacity: 10, features: ['erase'] }), /no feature "erase"/);
  assert.throws(() => new Filter({ capacity: 10, fpr: NaN }), RangeError);
  for (const seed of [-1, 1.5, -1n, 2n ** 64n, '7', null]) assert.throws(() => new Filter({ capacity: 10, seed }), RangeError, String(seed));
  for (const other of [{}, null, 7, new Set()]) {
    assert.throws(() => Filter.merge([filter, other]), /not a Filter of this module/);
    assert.throws(() => filter.union(other), /not a Filter of this module/);
  }
  for (const bytes of ['nidus', undefined, 7]) assert.throws(() => Filter.load(bytes), /a saved filter is bytes/);
  assert.equal(filter.size, 0);
});

test('a batch that meets a senseless key tells how far it came', () => {
  const filter = new Filter({ capacity: 100 });
  try {
    filter.addMany(['a', 'b', {}]);
    assert.fail('an object is no key');
  } catch (error) {
    assert.ok(error instanceof TypeError);
    assert.equal(error.done, filter.size);
  }
});

test('a freed filter says so, and its memory is used again', () => {
  const filter = new Filter({ capacity: 10 });
  filter.free();
  filter.free();
  assert.throws(() => filter.has('x'), /was freed/);
  assert.throws(() => Filter.merge([filter]), /was freed/);
  for (let i = 0; i < 300; i++) new Filter({ capacity: 2 ** 23 }).free();
});

test('forgotten filters are freed by the garbage collector', () => {
  // In a process of its own: 200 filters of 24 MB each have no room together.
  const script = `
    import { Filter } from ${JSON.stringify(pathToFileURL(join(installed, 'node.js')).href)};
    for (let i = 0; i < 200; i++) {
      new Filter({ capacity: 2 ** 24, fpr: 2 ** -8 });
      gc();
      await new Promise(setImmediate);
    }`;
  execFileSync(process.execPath, ['--expose-gc', '--input-type=module', '-e', script]);
});

// ------------------------------------------------------------ ways in

/** Runs a script beside the installed package; gives what it prints. */
function run(script, type) {
  const file = join(folder, `way-in.${type}`);
  writeFileSync(file, script);
  return execFileSync(process.execPath, [file], { encoding: 'utf8', cwd: folder });
}

test('require and import give the same library, at once', () => {
  assert.equal(run(`
    const nidus = require('nidus');
    console.log(new nidus.Filter({ capacity: 10 }).add('heron').has('heron'), Object.keys(nidus).join());`, 'cjs'),
  'true Filter,NidusError,plan,families,version\n');
  assert.equal(run(`
    import { createRequire } from 'node:module';
    import * as nidus from 'nidus';
    const { Filter, NidusError } = createRequire(import.meta.url)('nidus');
    console.log(Filter === nidus.Filter, NidusError === nidus.NidusError, Object.keys(nidus).sort().join());`, 'mjs'),
  'true true Filter,NidusError,families,plan,version\n');
});

test('the api makes libraries of the bytes, now or later', () => {
  assert.equal(run(`
    const { instantiate, instantiateSync, NidusError } = require('nidus/api');
    const bytes = require('node:fs').readFileSync(require.resolve('nidus/nidus.wasm'));
    const now = instantiateSync(bytes), compiled = instantiateSync(new WebAssembly.Module(bytes));
    instantiate(bytes).then((later) => {
      for (const { Filter } of [now, compiled, later]) if (!new Filter({ capacity: 10 }).add(7).has(7)) throw new Error('lost');
      try { new later.Filter({ capacity: 0 }); } catch (error) { console.log(error instanceof NidusError, error instanceof later.NidusError); }
      try { now.Filter.merge([new later.Filter({ capacity: 1 })]); } catch (error) { console.log(error.message); }
    });`, 'cjs'), 'true true\nthat is not a Filter of this module\n');
  assert.equal(run(`
    import { instantiateSync } from 'nidus/api';
    import { readFileSync } from 'node:fs';
    const { Filter } = instantiateSync(readFileSync(new URL('./node_modules/nidus/nidus.wasm', import.meta.url)));
    console.log(new Filter({ capacity: 10 }).size);`, 'mjs'), '0\n');
});

test('a seed is random where node has no global crypto', () => {
  assert.equal(run(`
    delete globalThis.crypto;
    Object.defineProperty(globalThis, 'crypto', { value: undefined, configurable: true });
    const { Filter } = require('nidus');
    console.log(new Filter({ capacity: 10 }).info().seed !== new Filter({ capacity: 10 }).info().seed);`, 'cjs'), 'true\n');
});

test('a filter that is disposed of is freed', () => {
  const filter = new Filter({ capacity: 10 });
  filter[Symbol.dispose ?? Symbol.for('Symbol.dispose')]();
  assert.throws(() => filter.size, /was freed/);
});

test('the notices of what is inside are in the package', () => {
  const notice = readFileSync(join(installed, 'NOTICE'), 'utf8');
  assert.match(notice, /Yann Collet[^]*Redistributions in binary form must reproduce/);
  assert.equal(notice, readFileSync(join(top, 'NOTICE'), 'utf8'));
});

test('plan tells what the command tells', () => {
  const said = JSON.parse(nidus(['plan', '-n', '1000000', '-p', '0.001', '--json']));
  const rows = plan({ capacity: 1_000_000, fpr: 0.001 });
  for (const row of rows) {
    const other = said.find(({ family }) => family === row.family);
    assert.equal(row.bytes, other.bytes, row.family);
    assert.equal(row.chosen, other.chosen, row.family);
  }
  assert.equal(rows.filter(({ chosen }) => chosen).length, 1);
});

// ------------------------------------------------------------- docs and types

const manual = ['docs/javascript.md', 'docs/recipes.md'].map((page) => readFileSync(join(top, page), 'utf8')).join('');
const snippets = [...manual.matchAll(/```js\n([^]*?)```/g)].map(([, code]) => code);

test('the manual has snippets, and each runs as it stands', () => {
  assert.ok(snippets.length >= 5);
  const place = join(folder, 'snippets');
  mkdirSync(place, { recursive: true });
  nidus(['build', '-o', join(place, 'passwords.nidus')], ['123456', 'hunter2']);
  snippets.forEach((code, i) => {
    const file = join(place, `snippet-${i}.${isScript(code) ? 'cjs' : 'mjs'}`);
    const assert = isScript(code) ? "const assert = require('node:assert/strict')" : "import assert from 'node:assert/strict'";
    writeFileSync(file, `${assert};\n${checked(code)}`);
    execFileSync(process.execPath, [file], { cwd: place, stdio: ['ignore', 'pipe', 'inherit'] });
  });
});

const isScript = (code) => /\brequire\(/.test(code);

/** `expression; // → value` becomes an assertion. */
function checked(code) {
  return code.replace(/^(.*?);\s*\/\/ → (.*)$/gm, 'assert.deepEqual($1, $2);');
}

/** Compiles files that lie beside the package. */
function compile(place, files, lib, ...more) {
  const compiler = join(top, 'web/node_modules/typescript/bin/tsc');
  assert.ok(existsSync(compiler), 'npm ci in web/ brings it');
  execFileSync(process.execPath, [compiler, '--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext', '--moduleResolution', 'nodenext', '--lib', lib, ...more, ...files],
    { cwd: place, stdio: ['ignore', 'inherit', 'inherit'] });
}

test('the types fit the snippets and the package', () => {
  const place = join(folder, 'types');
  mkdirSync(place, { recursive: true });
  const files = snippets.filter((code) => !isScript(code)).map((code, i) => {
    writeFileSync(join(place, `snippet-${i}.mts`), code);
    return `snippet-${i}.mts`;
  });
  for (const name of ['types.mts', 'types.cts', 'using.mts', 'node.d.ts']) cpSync(join(top, 'tests/web', name), join(place, name));
  // A snippet looks for a row without asking whether there is one.
  compile(place, ['node.d.ts', ...files], 'es2022,esnext.disposable,dom', '--strictNullChecks', 'false', '--useUnknownInCatchVariables', 'false');
  compile(place, ['types.mts', 'types.cts', 'using.mts'], 'es2022,esnext.disposable,dom');
  compile(place, ['types.mts', 'types.cts'], 'es2022'); // neither the DOM nor anything newer
});
