// SPDX-License-Identifier: MIT
//
// types: the same for require.
import nidus = require('nidus');
import api = require('nidus/api');

const filter: nidus.Filter = new nidus.Filter({ capacity: 10 }).add(-1n);
const other: boolean = new (api.instantiateSync(filter.save())).Filter({ capacity: 10 }).delete('a');

export = [filter, other];
