// SPDX-License-Identifier: MIT
//
// node: nidus for node, at once; nidus.wasm lies beside this file.
'use strict';

const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { instantiateSync } = require('./api.cjs');

const { Filter, NidusError, plan, families, version } = instantiateSync(readFileSync(join(__dirname, 'nidus.wasm')));
module.exports = { Filter, NidusError, plan, families, version };
