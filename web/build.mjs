// SPDX-License-Identifier: MIT
//
// build: puts the page together: one file that opens without a server.
//
//     node web/build.mjs BUILD       the folder where page.wasm was built; writes BUILD/nidus.html
//
// Browsers refuse modules and .wasm files to pages opened from a file, so the scripts are bundled into a
// classic one, and the module is text: gzipped, base64.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const here = fileURLToPath(new URL('.', import.meta.url));
const folder = process.argv[2];
const text = (name) => readFile(join(here, name), 'utf8');

const bundle = await build({
  entryPoints: [join(here, 'main.js')],
  bundle: true, write: false, minify: true, format: 'iife', target: 'es2022', charset: 'utf8', legalComments: 'inline', logLevel: 'warning',
});
const [ours, xxhash, uplot] = await Promise.all(['../LICENSE', '../NOTICE', 'node_modules/uplot/LICENSE'].map(text));
// A script must not contain its own end.
const script = `/*\n${ours}\n${xxhash}\nuPlot:\n${uplot}*/\n${bundle.outputFiles[0].text}`.replaceAll('</script', '<\\/script');
const style = `${await text('node_modules/uplot/dist/uPlot.min.css')}\n${await text('page.css')}`;
const module = gzipSync(await readFile(join(folder, 'page.wasm')), { level: 9 }).toString('base64');

const parts = { STYLE: style, MODULE: module, SCRIPT: script };
const page = (await text('page.html')).replace(/\/\*(STYLE|MODULE|SCRIPT)\*\//g, (_, name) => parts[name]);
await writeFile(join(folder, 'nidus.html'), page);
