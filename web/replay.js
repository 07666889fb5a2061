// SPDX-License-Identifier: MIT
//
// replay: what a call did to a filter, as a list of frames to show one after another.
//
// The library has done its work when this begins: there is a picture from before and one from
// after. Entries are followed by their identity, (home, fingerprint). What moved is put in the
// order in which the library moved it: it finds the whole chain first, and then moves from its end,
// so that no entry is ever absent.

const placeOf = (entry) => `${entry.row}/${entry.column}`;
const identityOf = (entry) => `${entry.home}:${entry.fingerprint}`;

function byIdentity(entries) {
  const lists = new Map();
  for (const entry of entries) {
    const identity = identityOf(entry);
    if (!lists.has(identity)) lists.set(identity, []);
    lists.get(identity).push(entry);
  }
  return lists;
}

/**
 * Gives the entries of `after` the ids that they have in `before`, and tells what came, went and
 * moved. `nextId` makes an id for what is new.
 */
export function compare(before, after, nextId) {
  const old = byIdentity(before);
  const come = [], moved = [];
  for (const [identity, entries] of byIdentity(after)) {
    const left = old.get(identity) ?? [];
    const unplaced = [];
    for (const entry of entries) {
      const same = left.findIndex((other) => placeOf(other) === placeOf(entry));
      if (same < 0) unplaced.push(entry);
      else entry.id = left.splice(same, 1)[0].id;
    }
    for (const entry of unplaced) {
      const from = left.shift();
      entry.id = from?.id ?? nextId();
      if (from) moved.push({ from, to: entry });
      else come.push(entry);
    }
  }
  return { come, moved, gone: [...old.values()].flat() };
}

/** Where an entry lies, as far as its neighbours are kept in order and shift by themselves. */
export function areaOf(layout, entry) {
  if (entry.column === 'stash') return `stash ${entry.row}`;
  if (layout.kind === 'yard') return `line ${entry.row}`;
  if (layout.sorted) return `bucket ${entry.row}/${Math.floor(entry.column / layout.group)}`;
  return `slot ${placeOf(entry)}`;
}

/**
 * Moves in the order in which they happened, those within an area apart. A chain begins where the
 * new entry came to lie and each move goes on where the one before it ended: it happened from its end.
 */
export function inOrder(layout, start, moved) {
  const left = moved.filter(({ from, to }) => areaOf(layout, from) !== areaOf(layout, to));
  const shifted = moved.filter((move) => !left.includes(move));
  const chain = [];
  for (let area = start && areaOf(layout, start); left.length > 0;) {
    const next = Math.max(0, left.findIndex(({ from }) => areaOf(layout, from) === area));
    const [move] = left.splice(next, 1);
    chain.unshift(move);
    area = areaOf(layout, move.to);
  }
  return { chain, shifted };
}
