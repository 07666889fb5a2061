// SPDX-License-Identifier: MIT
//
// index: nidus for browsers; nidus.wasm lies beside this file.
import { instantiate, NidusError } from './api.js';

async function compile(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`nidus.wasm could not be fetched from ${url}: ${response.status}`);
  return WebAssembly.compile(await response.arrayBuffer());
}

export const { Filter, plan, families, version } = await instantiate(
  await compile(new URL('./nidus.wasm', import.meta.url)));
export { NidusError };
