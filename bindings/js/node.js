// SPDX-License-Identifier: MIT
//
// node: nidus for node; nidus.wasm lies beside this file.
import { readFile } from 'node:fs/promises';
import { instantiate, NidusError } from './api.js';

export const { Filter, plan, families, version } = await instantiate(
  await readFile(new URL('./nidus.wasm', import.meta.url)));
export { NidusError };
