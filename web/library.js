// SPDX-License-Identifier: MIT
//
// library: nidus, compiled into the page, and its window into filters (look.c).
import { api, importsOf } from '../bindings/js/api.js';

const FIELDS = 7; // of an entry in a picture
const NONE = 0xffffffff;
const KINDS = ['nest', 'yard', 'bloom'];

/** The bytes of a base64 text. */
function decode(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

/** Text in the page: a gzipped module in base64. */
async function moduleIn(element) {
  const packed = new Blob([decode(element.textContent.trim())]).stream();
  const bytes = await new Response(packed.pipeThrough(new DecompressionStream('gzip'))).arrayBuffer();
  return WebAssembly.compile(bytes);
}

let wasm, nidus, scratch;

export let Filter, NidusError, plan, families, version;

/** To be called, and waited for, before anything else here. */
export async function load() {
  const module = await moduleIn(document.getElementById('module'));
  const instance = await WebAssembly.instantiate(module, importsOf(module));
  wasm = instance.exports;
  nidus = api(instance);
  scratch = wasm.js_alloc(64);
  ({ Filter, NidusError, plan, families, version } = nidus);
}

function numbers(count) {
  return new Uint32Array(wasm.memory.buffer, scratch, count);
}

/** How a filter is laid out. */
export function layoutOf(filter) {
  wasm.look_layout(nidus.pointerOf(filter), scratch);
  const [kind, a, b, c, d, e, f] = numbers(8);
  if (KINDS[kind] === 'nest')
    return { kind: 'nest', chunks: a, slots: b, group: c, windows: d !== 0, sorted: e !== 0, reserve: f };
  if (KINDS[kind] === 'yard')
    return { kind: 'yard', fronts: a, backs: b, frontSlots: c, backSlots: d, miniBuckets: e };
  return { kind: 'bloom', bits: a, block: b };
}

/** Every entry of a filter: where it lies and where it belongs. */
export function entriesOf(filter) {
  const count = wasm.look_entries(nidus.pointerOf(filter));
  const picture = new Uint32Array(wasm.memory.buffer, wasm.look_picture(), count * FIELDS);
  return Array.from({ length: count }, (_, i) => {
    const [row, column, home, fingerprint, first, second, note] = picture.subarray(i * FIELDS, (i + 1) * FIELDS);
    return { row, column: column === NONE ? 'stash' : column, home, fingerprint, first, second, note: note === NONE ? null : note };
  });
}

/** The bits of a Bloom filter, as bytes. */
export function bitsOf(filter) {
  const { bits } = layoutOf(filter);
  return new Uint8Array(wasm.memory.buffer, wasm.look_bits(nidus.pointerOf(filter)), bits / 8).slice();
}

function hashOf(filter, key) {
  const bytes = new TextEncoder().encode(key);
  const at = wasm.js_alloc(bytes.length || 1);
  new Uint8Array(wasm.memory.buffer, at, bytes.length).set(bytes);
  const hash = wasm.js_hash_bytes(nidus.pointerOf(filter), at, bytes.length);
  wasm.js_give_back(at);
  return hash;
}

/** Where a key belongs. */
export function locate(filter, key) {
  const layout = layoutOf(filter);
  if (layout.kind === 'bloom') return { bits: bitsOfKey(filter, key) };
  wasm.look_locate(nidus.pointerOf(filter), hashOf(filter, key), scratch);
  const [home, fingerprint, a, b, c, d] = numbers(6);
  if (layout.kind === 'nest') return { home, fingerprint, row: a, first: b, second: c };
  return { home, fingerprint, row: a, miniBucket: b, backs: [c, d] };
}

/** The bits that a key sets: those of a filter of the same size with nothing else in it. */
function bitsOfKey(filter, key) {
  const alone = filter.clone();
  alone.clear();
  alone.add(key);
  const bytes = bitsOf(alone);
  alone.free();
  return Array.from({ length: bytes.length * 8 }, (_, bit) => bit).filter((bit) => bytes[bit >> 3] >> (bit & 7) & 1);
}

/** Entries moved and slots looked at by all inserts so far. */
export function effortOf(filter) {
  wasm.look_effort(nidus.pointerOf(filter), scratch);
  const [moves, checks] = numbers(2);
  return { moves, checks };
}
