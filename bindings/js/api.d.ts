// SPDX-License-Identifier: MIT
//
// api: for those who have the bytes of nidus.wasm themselves, in a page without a server or a worker.
import type * as nidus from './index.js';

export { NidusError } from './index.js';

declare global {
  // Declared by the DOM's types, which a program need not have.
  namespace WebAssembly {
    interface Module {}
  }
}

/** The bytes of nidus.wasm, or a module compiled from them. */
export type Source = ArrayBufferView | ArrayBuffer | WebAssembly.Module;

/** All that the package exports. */
export function instantiate(source: Source): Promise<typeof nidus>;

/** The same at once. Some browsers allow that only in workers. */
export function instantiateSync(source: Source): typeof nidus;
