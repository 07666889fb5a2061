// SPDX-License-Identifier: MIT
//
// pack: lays the package out in BUILD/package, ready for npm pack.
//
//     node pack.mjs BUILD       the folder where nidus.wasm was built
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const top = join(here, '../..');
const build = process.argv[2];
const folder = join(build, 'package');

const read = (name) => readFile(join(here, name), 'utf8');
const write = (name, text) => writeFile(join(folder, name), text);

/** The version is written once, in the public header. */
async function version() {
  const header = await readFile(join(top, 'include/nidus.h'), 'utf8');
  return ['MAJOR', 'MINOR', 'PATCH'].map((part) => header.match(`#define NIDUS_VERSION_${part} ([0-9]+)`)[1]).join('.');
}

/** api.js for require. Node 18 has no global crypto, but the same in a module. */
function commonJs(source) {
  const exported = /^export (?=(?:async )?(?:class|function) (\w+))/gm;
  const names = Array.from(source.matchAll(exported), ([, name]) => name);
  const text = source.replace(exported, '');
  if (names.length === 0 || /^(export|import)\b/m.test(text)) throw new Error('api.js has an export or import that is not understood here');
  return `'use strict';\nconst crypto = globalThis.crypto ?? require('node:crypto').webcrypto;\n${text}\nmodule.exports = { ${names.join(', ')} };\n`;
}

await rm(folder, { recursive: true, force: true });
await mkdir(folder, { recursive: true });
for (const name of ['README.md', 'api.d.ts', 'api.js', 'api-node.js', 'index.d.ts', 'index.js', 'node.cjs', 'node.js'])
  await cp(join(here, name), join(folder, name));
for (const name of ['LICENSE', 'NOTICE']) await cp(join(top, name), join(folder, name));
await cp(join(build, 'nidus.wasm'), join(folder, 'nidus.wasm'));
await write('api.cjs', commonJs(await read('api.js')));
// To the compiler of TypeScript, types of a module are not those of a script.
for (const name of ['index', 'api']) await write(`${name}.d.cts`, (await read(`${name}.d.ts`)).replaceAll("'./index.js'", "'./index.cjs'"));
await write('package.json', JSON.stringify({ ...JSON.parse(await read('package.json')), version: await version() }, null, 2) + '\n');
