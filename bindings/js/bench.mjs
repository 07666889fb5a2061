// SPDX-License-Identifier: MIT
//
// bench: how fast hasMany is beside the library's own batch lookups without vector instructions.
//
//     node bindings/js/bench.mjs [COMMAND [KEYS]]      build/nidus and 1000000 if not given
//
// Needs ./dev js and ./dev build. Both sides take turns and the best of some rounds is printed, in
// million keys per second, hashing included; the bar is a ratio of 0.4.
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Filter, families } from '../../build-js/package/node.js';

const [command = fileURLToPath(new URL('../../build/nidus', import.meta.url)), count = '1000000'] = process.argv.slice(2);
const ROUNDS = 3, REPEATS = 7;
const keys = BigUint64Array.from({ length: Number(count) }, (_, i) => BigInt.asUintN(64, BigInt(i) * 0x9e3779b97f4a7c15n));
const absent = keys.map((key) => key + 1n);

/** The command's figures for one row of each family. */
function inC() {
  const args = ['bench', 'speed', '-n', count, '-f', rows().join(','), '--only', 'lookup', '--repeat', '3', '--json', '-q'];
  const { rows: told } = JSON.parse(execFileSync(command, args, { env: { ...process.env, NIDUS_ISA: 'scalar' } }));
  return told.map((row) => ({ ...row, best: ['present', 'absent'].map((which) => row.figures[`lookup_batch_${which}`].high) }));
}

/** The first row of each family. */
function rows() {
  const names = execFileSync(command, ['bench', 'speed', '--list'], { encoding: 'utf8' }).trim().split('\n');
  return families.map(({ name }) => names.find((row) => row.startsWith(`${name}-`)));
}

function best(filter, asked) {
  let seconds = Infinity;
  for (let i = 0; i < REPEATS; i++) {
    const start = performance.now();
    filter.hasMany(asked);
    seconds = Math.min(seconds, (performance.now() - start) / 1000);
  }
  return asked.length / seconds / 1e6;
}

const table = new Map();
for (let round = 0; round < ROUNDS; round++) {
  for (const { family, slots, fpr_target: fpr, best: c } of inC()) {
    const filter = Filter.build(keys, { family, slots, fpr });
    const js = [best(filter, keys), best(filter, absent)];
    filter.free();
    const seen = table.get(family) ?? { c, js };
    table.set(family, { c: c.map((figure, i) => Math.max(figure, seen.c[i])), js: js.map((figure, i) => Math.max(figure, seen.js[i])) });
  }
}
console.log(`${'family'.padEnd(14)} ${'C present'.padStart(10)} ${'absent'.padStart(8)} ${'JS present'.padStart(11)} ${'absent'.padStart(8)}   ratio`);
for (const [family, { c, js }] of table)
  console.log(family.padEnd(14), c[0].toFixed(1).padStart(10), c[1].toFixed(1).padStart(8), js[0].toFixed(1).padStart(11), js[1].toFixed(1).padStart(8),
    `  ${(js[0] / c[0]).toFixed(2)} ${(js[1] / c[1]).toFixed(2)}`);
