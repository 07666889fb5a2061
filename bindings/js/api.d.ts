// SPDX-License-Identifier: MIT
//
// api: for those who have the bytes of nidus.wasm themselves, in a page without a server or a worker.
import type * as nidus from './index.js';

export { NidusError } from './index.js';

/** All that the package exports, over the bytes of nidus.wasm or a module compiled from them. */
export function instantiate(source: BufferSource | WebAssembly.Module): Promise<typeof nidus>;
