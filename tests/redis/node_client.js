// SPDX-License-Identifier: MIT
// node's redis package: client.cf and client.bf as they are. node node_client.js PORT, in a folder
// where `npm install redis` was done; tests/redis/node.py does both.
const assert = require('node:assert');
const { createClient } = require(require.resolve('redis', { paths: [process.cwd()] }));

async function cuckoo({ cf }) {
  assert.equal(await cf.reserve('f', 1000, { BUCKETSIZE: 4, MAXITERATIONS: 10, EXPANSION: 2 }), 'OK');
  assert.equal(await cf.add('f', 'heron'), true);
  assert.equal(await cf.addNX('f', 'heron'), false);
  assert.equal(await cf.exists('f', 'heron'), true);
  assert.equal(await cf.exists('f', 'crane'), false);
  assert.equal(await cf.count('f', 'heron'), 1);
  assert.deepEqual(await cf.insert('f', ['a', 'b']), [true, true]);
  assert.deepEqual((await cf.insertNX('f', ['a', 'c'])).map(Number), [0, 1]);
  assert.equal(await cf.del('f', 'heron'), true);
  const info = await cf.info('f');
  const items = info['Number of items inserted'] ?? info.numberOfInsertedItems;
  const size = info['Bucket size'] ?? info.bucketSize;
  assert.deepEqual([items, size], [3, 4]);
  for (let iterator = 0;;) {
    const { iterator: next, chunk } = await cf.scanDump('f', iterator);
    if (next === 0) break;
    assert.ok(chunk.length > 0);
    iterator = next;
  }
}

async function bloom({ bf }) {
  assert.equal(await bf.reserve('b', 0.001, 1000), 'OK');
  assert.equal(await bf.add('b', 'x'), true);
  assert.deepEqual(await bf.mAdd('b', ['x', 'y']), [false, true]);
  assert.deepEqual(await bf.mExists('b', ['x', 'z']), [true, false]);
  assert.equal(await bf.card('b'), 2);
  const info = await bf.info('b');
  assert.equal(info.Capacity ?? info.capacity, 1000);
}

async function main() {
  for (const RESP of [2, 3]) {
    const client = createClient({ url: `redis://127.0.0.1:${process.argv[2]}`, RESP });
    await client.connect();
    await client.flushAll();
    await cuckoo(client);
    await bloom(client);
    await client.quit();
  }
  console.log('node: cf and bf work in RESP2 and RESP3');
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
