// SPDX-License-Identifier: MIT
//
// node: the few declarations of node that the manual's snippets need.
declare module 'node:fs/promises' {
  export function readFile(path: string): Promise<Uint8Array>;
  export function writeFile(path: string, bytes: Uint8Array): Promise<void>;
}
