// SPDX-License-Identifier: MIT
//
// pack: lays the package out in BUILD/package, ready for npm pack.
//
//     node pack.mjs BUILD       the folder where nidus.wasm was built
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const build = process.argv[2];
const folder = join(build, 'package');
const manifest = JSON.parse(await readFile(join(here, 'package.json'), 'utf8'));

/** The version is written once, in the public header. */
async function version() {
  const header = await readFile(join(here, '../../include/nidus.h'), 'utf8');
  return ['MAJOR', 'MINOR', 'PATCH'].map((part) => header.match(`#define NIDUS_VERSION_${part} ([0-9]+)`)[1]).join('.');
}

await rm(folder, { recursive: true, force: true });
await mkdir(folder, { recursive: true });
for (const name of manifest.files.filter((file) => file !== 'NOTICE'))
  await cp(join(name === 'nidus.wasm' ? build : here, name), join(folder, name));
await cp(join(here, 'README.md'), join(folder, 'README.md'));
for (const name of ['LICENSE', 'NOTICE']) await cp(join(here, '../..', name), join(folder, name));
await writeFile(join(folder, 'package.json'), JSON.stringify({ ...manifest, version: await version() }, null, 2) + '\n');
