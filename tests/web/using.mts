// SPDX-License-Identifier: MIT
//
// using: where the types of the language have it, filters can be disposed of by it.
import { Filter } from 'nidus';

{
  using scoped = new Filter({ capacity: 1 });
  scoped.add('a');
}
