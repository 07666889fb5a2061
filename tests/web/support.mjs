// SPDX-License-Identifier: MIT
//
// support: what the tests of the package and of the page share.
//
// ./dev test-web sets NIDUS_COMMAND (the nidus command) and NIDUS_JS (where the package and the page
// were built).
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const top = fileURLToPath(new URL('../..', import.meta.url));
export const built = resolve(process.env.NIDUS_JS ?? join(top, 'build-js'));
export const command = resolve(process.env.NIDUS_COMMAND ?? join(top, 'build/nidus'));
export const packageFolder = join(built, 'package');
export const page = join(built, 'nidus.html');

/** A folder that is gone when the tests are done. */
export const folder = mkdtempSync(join(tmpdir(), 'nidus-web-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

/** Runs the nidus command; keys are lines. */
export function nidus(args, keys = []) {
  return execFileSync(command, args, { input: keys.map((key) => `${key}\n`).join(''), maxBuffer: 1 << 28 });
}

/** Like nidus(), but "nothing found" is an answer, too. Gives lines. */
export function query(file, keys, ...args) {
  try {
    return nidus(['query', ...args, file], keys).toString().split('\n').slice(0, -1);
  } catch (error) {
    if (error.status !== 1) throw error;
    return [];
  }
}

export const FAMILIES = ['cuckoo', 'semisort', 'simplified', 'chunked', 'bucketed', 'windowed', 'breadcrumb', 'bloom', 'blocked-bloom'];

export const words = (n, prefix = 'word') => Array.from({ length: n }, (_, i) => `${prefix} ${i}`);
