// SPDX-License-Identifier: MIT
//
// frames: one call on a filter, done by the library and told in frames.
//
// A frame is { text, entries, focus }: what to say, where every entry lies then, and what to point at:
// { where, ids, first, second, bits } of which any may be missing.
import { bitsOf, effortOf, entriesOf, layoutOf, locate } from './library.js';
import { areaOf, compare, inOrder } from './replay.js';

let ids = 0;
const nextId = () => ++ids;

export const hex = (number) => number.toString(16);

/** The name of a group of slots, in words. */
export function groupName(layout, group) {
  return `${layout.windows ? 'window' : 'bucket'} ${group}`;
}

/** A place in words. */
export function placeName(layout, entry) {
  if (entry.column === 'stash') return 'the stash';
  if (layout.kind === 'yard')
    return entry.row < layout.fronts ? `front line ${entry.row}` : `backyard line ${entry.row - layout.fronts}`;
  return layout.windows ? `slot ${entry.column}` : `bucket ${Math.floor(entry.column / layout.group)}`;
}

/** What an entry shows of its key. */
export function labelOf(layout, entry) {
  // In a yard the mini-bucket is told by the place; the remainder is what is stored.
  return hex(layout.kind === 'yard' ? entry.fingerprint & 0xff : entry.fingerprint);
}

function candidates(layout, where) {
  if (layout.kind === 'yard')
    return `front line ${where.row}, mini-bucket ${where.miniBucket}`;
  const chunk = layout.chunks > 1 ? `chunk ${where.row}, ` : '';
  if (where.first === where.second) return chunk + groupName(layout, where.first);
  return `${chunk}${groupName(layout, where.first)} or ${groupName(layout, where.second)}`;
}

const quoted = (key) => `“${key.length > 24 ? `${key.slice(0, 23)}…` : key}”`;

/** A picture of a filter that keeps the ids of an older one. */
export function pictureOf(filter, before = []) {
  const entries = entriesOf(filter);
  return { entries, ...compare(before, entries, nextId) };
}

/** Lets entries that a frame shows move on: those of `moves`, and their neighbours that shifted. */
function step(layout, entries, moves, shifted) {
  const areas = moves.flatMap(({ from, to }) => [areaOf(layout, from), areaOf(layout, to)]);
  const to = new Map(moves.map((move) => [move.to.id, move.to]));
  for (const move of shifted)
    if (areas.includes(areaOf(layout, move.to))) to.set(move.to.id, move.to);
  return entries.map((entry) => to.get(entry.id) ?? entry);
}

function tellMove(layout, { from, to }) {
  const name = labelOf(layout, from);
  if (from.column === 'stash') return `There is room again: ${name} comes home from the stash to ${placeName(layout, to)}.`;
  if (layout.kind === 'yard' && to.row >= layout.fronts && from.row < layout.fronts)
    return `The line is full: ${name}, of its highest mini-bucket, goes to ${placeName(layout, to)}. The crumb ${to.note} leads back to front line ${to.first}.`;
  if (layout.kind === 'yard' && from.row >= layout.fronts && to.row < layout.fronts)
    return `There is room again: ${name} follows its crumb back from ${placeName(layout, from)} to ${placeName(layout, to)}.`;
  if (layout.kind === 'yard') return `${name} makes room: it goes from ${placeName(layout, from)} to its other line, ${placeName(layout, to)}.`;
  return `${name} moves from ${placeName(layout, from)} to ${placeName(layout, to)}.`;
}

/** Frames of all moves, from the picture `entries` on. */
function moveFrames(layout, entries, { chain, shifted }, where, door) {
  return chain.map((move) => {
    entries = step(layout, entries, [move], shifted);
    return { text: tellMove(layout, move), entries, focus: { where, door, ids: [move.to.id] } };
  });
}

const last = (frames, fallback) => (frames.length > 0 ? frames[frames.length - 1].entries : fallback);

function addToNest(filter, key, before) {
  const layout = layoutOf(filter), where = locate(filter, key), effort = effortOf(filter);
  const frames = [{ text: `${quoted(key)} becomes fingerprint ${hex(where.fingerprint)}, for ${candidates(layout, where)}.`, entries: before, focus: { where, door: where } }];
  try {
    filter.add(key);
  } catch (error) {
    frames.push({ text: `Refused: ${error.message}. Nothing has changed.`, entries: before, focus: { where }, refused: error.code });
    return { frames, failed: true };
  }
  const { entries, come, moved } = pictureOf(filter, before);
  const order = inOrder(layout, come[0], moved);
  const { moves, checks } = effortOf(filter);
  if (order.chain.length > 0)
    frames.push({
      text: `Both are full. A search looked at ${checks - effort.checks} slots and found the shortest chain: ${moves - effort.moves === 1 ? 'one move' : `${moves - effort.moves} moves`}, made from its end.`,
      entries: before,
      focus: { where, door: where, ids: order.chain.map(({ to }) => to.id) },
    });
  frames.push(...moveFrames(layout, before, order, where, where));
  const id = come[0]?.id;
  frames.push({ text: `${hex(where.fingerprint)} lies in ${come[0] ? placeName(layout, come[0]) : 'its place'}.`, entries, focus: { where, ids: [id] } });
  return { frames, id };
}

function addToYard(filter, key, before) {
  const layout = layoutOf(filter), where = locate(filter, key);
  const frames = [{ text: `${quoted(key)} belongs in ${candidates(layout, where)}.`, entries: before, focus: { where, door: where } }];
  try {
    filter.add(key);
  } catch (error) {
    frames.push({ text: `Refused: ${error.message}. Nothing has changed.`, entries: before, focus: { where }, refused: error.code });
    return { frames, failed: true };
  }
  const { entries, come, moved } = pictureOf(filter, before);
  const arrived = come[0];
  frames.push(...moveFrames(layout, before, inOrder(layout, arrived, moved), where, where));
  const behind = arrived && arrived.row >= layout.fronts;
  const stashed = arrived?.column === 'stash';
  frames.push({
    text: stashed
      ? 'Its lines have no more places for it: it is counted in the stash.'
      : behind
      ? `Its mini-bucket lies behind the end of the full line: it goes to ${placeName(layout, arrived)}, with the crumb ${arrived.note}.`
      : `It takes its place in ${arrived ? placeName(layout, arrived) : 'its line'}; higher mini-buckets shift.`,
    entries,
    focus: { where, ids: [arrived?.id] },
  });
  return { frames, id: arrived?.id };
}

function addToBloom(filter, key) {
  const { bits } = locate(filter, key);
  const before = bitsOf(filter);
  const isSet = (bit) => before[bit >> 3] >> (bit & 7) & 1;
  const set = bits.filter(isSet).length;
  filter.add(key);
  return {
    frames: [
      { text: `${quoted(key)} has ${bits.length} bits. Set already: ${set}.`, bits: before, entries: [], focus: { bits } },
      { text: `Now all of them are set.`, bits: bitsOf(filter), entries: [], focus: { bits } },
    ],
    id: nextId(),
  };
}

/** Puts a key in. Gives the frames and, unless it failed, the id of the key's entry. */
export function add(filter, key, before) {
  const { kind } = layoutOf(filter);
  if (kind === 'nest') return addToNest(filter, key, before);
  return kind === 'yard' ? addToYard(filter, key, before) : addToBloom(filter, key);
}

/** Takes a key out. */
export function remove(filter, key, before) {
  const layout = layoutOf(filter);
  const where = locate(filter, key);
  const focus = layout.kind === 'bloom' ? { bits: where.bits } : { where };
  const bits = layout.kind === 'bloom' ? bitsOf(filter) : undefined;
  let there;
  try {
    there = filter.remove(key);
  } catch (error) {
    return { frames: [{ text: `Refused: ${error.message}.`, entries: before, bits, focus, refused: error.code }] };
  }
  if (!there) return { frames: [{ text: `${quoted(key)} is not in the filter: nothing to remove.`, entries: before, focus }] };
  const { entries, gone, moved } = pictureOf(filter, before);
  const left = gone[0];
  const frames = [{ text: `${quoted(key)} is ${left ? labelOf(layout, left) : 'an entry'} in ${left ? placeName(layout, left) : 'the filter'}.`, entries: before, focus: { where, ids: [left?.id] } }];
  const order = inOrder(layout, null, moved);
  const without = before.filter((entry) => entry.id !== left?.id);
  frames.push({ text: 'It is taken out; no other key is touched.', entries: step(layout, without, left ? [{ from: left, to: left }] : [], order.shifted).filter((entry) => entry.id !== left?.id), focus: { where } });
  frames.push(...moveFrames(layout, last(frames, without), order, where));
  frames[frames.length - 1].entries = entries;
  return { frames, gone: left?.id, removed: true };
}

/** Asks for a key. */
export function ask(filter, key, before, known) {
  const layout = layoutOf(filter), where = locate(filter, key);
  const yes = filter.has(key);
  const verdict = !yes ? 'No: certainly not in it.' : known ? 'Yes.' : 'Yes, though it was never put in: a false positive.';
  if (layout.kind === 'bloom')
    return { frames: [{ text: `${quoted(key)} has ${where.bits.length} bits. ${verdict}`, bits: bitsOf(filter), entries: [], focus: { bits: where.bits }, yes }] };
  const matches = before.filter((entry) => entry.home === where.home && entry.fingerprint === where.fingerprint).map(({ id }) => id);
  const lookedFor = layout.kind === 'yard' ? candidates(layout, where) : `fingerprint ${hex(where.fingerprint)} in ${candidates(layout, where)}`;
  return { frames: [{ text: `${quoted(key)} would be ${lookedFor}. ${verdict}`, entries: before, focus: { where, ids: matches }, yes }] };
}
