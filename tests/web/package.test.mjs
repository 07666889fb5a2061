// SPDX-License-Identifier: MIT
//
// package: the npm package in node, beside the nidus command.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
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

test('the package is below 300 kB and has no file that is not needed', () => {
  assert.ok(tarball.size < 300_000, `${tarball.size} bytes`);
  const names = tarball.files.map((file) => file.path).sort();
  assert.deepEqual(names, ['LICENSE', 'NOTICE', 'README.md', 'api.d.ts', 'api.js', 'index.d.ts', 'index.js', 'nidus.wasm', 'node.js', 'package.json']);
});

test('the version is the one of the header', () => {
  assert.equal(JSON.parse(readFileSync(join(installed, 'package.json'))).version, version);
});

test('all families are there', () => {
  assert.deepEqual(families.map((family) => family.name), FAMILIES);
});

for (const family of FAMILIES) {
  const keys = words(5000), strangers = words(20000, 'stranger');
  const file = join(folder, `${family}.nidus`);

  test(`${family}: a file of the command answers the same here`, () => {
    nidus(['build', '-f', family, '-p', '0.01', '-o', file], keys);
    const filter = Filter.load(readFileSync(file));
    assert.equal(filter.info().family, family);
    assert.ok(filter.hasMany(keys).every((yes) => yes === 1));
    const yes = filter.hasMany(strangers);
    assert.deepEqual(strangers.filter((_, i) => yes[i]), query(file, strangers));
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
    const yes = filter.hasMany(strangers);
    assert.deepEqual(strangers.filter((_, i) => yes[i]), query(file, strangers));
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
  assert.ok(filter.info().bytes < bytes);
  filter.grow(5000);
  assert.ok(filter.info().capacity >= 5000);
});

test('values are kept beside keys, through a file and back', () => {
  const options = { capacity: 1000, fpr: 1e-4, valueBits: 10 };
  const able = plan(options).filter(({ status }) => status === 'OK');
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
  for (const key of [-1, 1.5, 2 ** 53, -1n, 2n ** 64n]) assert.throws(() => filter.add(key), RangeError, String(key));
  for (const key of [undefined, null, true, {}, []]) assert.throws(() => filter.has(key), TypeError, String(key));
  for (const keys of ['word', 7, undefined, new Uint8Array(8)]) assert.throws(() => filter.hasMany(keys), TypeError);
  assert.throws(() => new Filter({ capcity: 10 }), /there is no option "capcity"; there are .*capacity/);
  assert.throws(() => new Filter({ capacity: 10, family: 'robin' }), /there is no family "robin"; there are .*windowed/);
  assert.throws(() => new Filter({ capacity: 1.5 }), RangeError);
  assert.throws(() => new Filter({ capacity: 10, features: ['erase'] }), /no feature "erase"/);
  assert.throws(() => new Filter({ capacity: 10, fpr: NaN }), RangeError);
  assert.throws(() => Filter.merge([{}]), TypeError);
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
  execFileSync('node', ['--expose-gc', '--input-type=module', '-e', script]);
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

const manual = readFileSync(join(top, 'docs/javascript.md'), 'utf8');
const snippets = [...manual.matchAll(/```js\n([^]*?)```/g)].map(([, code]) => code);

test('the manual has snippets, and each runs as it stands', () => {
  assert.ok(snippets.length >= 5);
  const place = join(folder, 'snippets');
  mkdirSync(place, { recursive: true });
  nidus(['build', '-o', join(place, 'passwords.nidus')], ['123456', 'hunter2']);
  snippets.forEach((code, i) => {
    const file = join(place, `snippet-${i}.mjs`);
    writeFileSync(file, `import assert from 'node:assert/strict';\n${checked(code)}`);
    execFileSync('node', [file], { cwd: place, stdio: ['ignore', 'pipe', 'inherit'] });
  });
});

/** `expression; // → value` becomes an assertion. */
function checked(code) {
  return code.replace(/^(.*?);\s*\/\/ → (.*)$/gm, 'assert.deepEqual($1, $2);');
}

test('the types fit the snippets and the package', () => {
  const compiler = join(top, 'web/node_modules/typescript/bin/tsc');
  assert.ok(existsSync(compiler), 'npm ci in web/ brings it');
  const place = join(folder, 'types');
  mkdirSync(place, { recursive: true });
  const files = snippets.map((code, i) => {
    const file = join(place, `snippet-${i}.mts`);
    writeFileSync(file, code);
    return file;
  });
  for (const name of ['types.mts', 'node.d.ts']) {
    cpSync(join(top, 'tests/web', name), join(place, name));
    files.push(join(place, name));
  }
  execFileSync('node', [compiler, '--noEmit', '--strict', '--strictNullChecks', 'false', '--useUnknownInCatchVariables', 'false', '--target', 'es2022', '--module', 'nodenext', '--moduleResolution', 'nodenext',
    '--lib', 'es2022,esnext.disposable,dom', ...files], { stdio: ['ignore', 'inherit', 'inherit'] });
});
