// SPDX-License-Identifier: MIT
//
// node: nidus for node, as a module. The library lives in node.cjs, so that import and require give the same.
import nidus from './node.cjs';

export const { Filter, NidusError, plan, families, version } = nidus;
