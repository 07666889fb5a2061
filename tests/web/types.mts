// SPDX-License-Identifier: MIT
//
// types: what the compiler must accept, and what it must not.
import { families, Filter, NidusError, plan, version } from 'nidus';
import { instantiate, instantiateSync } from 'nidus/api';

const filter: Filter = new Filter({ capacity: 10, fpr: 0.01, family: 'auto', features: ['delete'], seed: 1n });
const yes: Uint8Array = filter.hasMany(BigUint64Array.of(1n));
const more: Uint8Array = filter.add('a').hasMany(['a', 1, 2n, new Uint8Array(1)]);
const gone: boolean = filter.remove(1) || filter.addNew('x') || filter.has('y');
const count: number = filter.size + filter.count('a') + filter.addMany(new Set(['b'])) + filter.info().bitsPerKey;
const seed: bigint = filter.info().seed;
const copy: Filter = Filter.merge([filter, filter.clone()], { copies: true }).union(Filter.merge([filter], { values: 'sum' }));
const signed: Uint8Array = filter.hasMany(Int32Array.of(-1));
const deleted: boolean = filter.delete('a');
const again: Filter = new (instantiateSync(new ArrayBuffer(8))).Filter({ capacity: 1 });
filter[Symbol.dispose]();
const code: string = new NidusError('FULL', 'why').code;
const names: readonly string[] = families.map((family) => family.name);
const bytes: Uint8Array = Filter.build(names, { fpr: 0.1 }).save();
const rows: number = plan({ capacity: 10 })[0].bitsPerKey;
const other: Filter = new (await instantiate(bytes)).Filter({ capacity: 1 });

const unsized: Filter = new Filter();
const limit: number = new Filter({ fpr: 0.01, maxCapacity: Infinity }).info().maxCapacity;
// @ts-expect-error a plan is for so many keys
plan({ fpr: 0.01 });
// @ts-expect-error there is no such family
new Filter({ capacity: 1, family: 'robin' });
// @ts-expect-error an object is no key
filter.has({});
// @ts-expect-error one key is not many
filter.hasMany(7);

// @ts-expect-error equal entries are kept once anyway
Filter.merge([filter], { unique: true });
// @ts-expect-error a union is one of filters
filter.union(['a']);

export default [signed, deleted, again, yes, more, gone, count, seed, copy, code, version, rows, other];
