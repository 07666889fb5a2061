// SPDX-License-Identifier: MIT
//
// api-node: api.js for node. The library lives in api.cjs, so that import and require give the same.
import api from './api.cjs';

export const { NidusError, instantiate, instantiateSync } = api;
