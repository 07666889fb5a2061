// SPDX-License-Identifier: MIT
//
// stage: draws a filter. Slots stay where they are; entries are drawn over them and glide when a
// frame puts them elsewhere.
import { groupName, hex, labelOf, placeName } from './frames.js';

const SVG = 'http://www.w3.org/2000/svg';
const DOOR = 40; // height of the strip in which a new key waits
const LABEL = 15; // height of a line of words

function element(name, attributes = {}, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

/** Colours that neighbours in number do not share. */
export const hueOf = (number) => Math.round((number * 137.508) % 360);

// -------------------------------------------------------------------- geometry

/** Buckets as stacks of slots, side by side, in as many rows as the width asks for. */
function layBuckets(layout, width) {
  const cell = { w: width < 480 ? 34 : 40, h: 22 }, pad = 4, gap = 6;
  const full = cell.w + 2 * pad;
  const columns = Math.max(1, Math.min(layout.slots / layout.group, Math.floor((width + gap) / (full + gap))));
  const step = columns > 1 ? Math.min(full + 3 * gap, (width - full) / (columns - 1)) : full;
  const tall = layout.group * (cell.h + 2) + 2 * pad;
  const slots = new Map(), frames = [], words = [];
  const groups = layout.slots / layout.group;
  let y = DOOR;
  for (let chunk = 0; chunk < layout.chunks; chunk++) {
    if (layout.chunks > 1) {
      words.push({ x: 0, y: y + 11, text: `chunk ${chunk}`, kind: 'title' });
      y += LABEL + 3;
    }
    for (let group = 0; group < groups; group++) {
      const x = (group % columns) * step, top = y + Math.floor(group / columns) * (tall + LABEL + gap);
      frames.push({ x, y: top, w: cell.w + 2 * pad, h: tall, row: chunk, group });
      words.push({ x: x + cell.w / 2 + pad, y: top + tall + 11, text: String(group), kind: 'number' });
      for (let at = 0; at < layout.group; at++)
        slots.set(`${chunk}/${group * layout.group + at}`, { x: x + pad, y: top + pad + at * (cell.h + 2), ...cell });
    }
    y += Math.ceil(groups / columns) * (tall + LABEL + gap) + 4;
  }
  return { slots, frames, words, height: y, cell };
}

/** Windows overlap: the slots are one line, broken where the width ends. */
function layLine(layout, width) {
  const cell = { w: width < 480 ? 34 : 40, h: 26 };
  const columns = Math.max(1, Math.min(layout.slots, Math.floor((width + 3) / (cell.w + 3))));
  const gap = columns > 1 ? Math.min(8, (width - cell.w) / (columns - 1) - cell.w) : 3;
  const slots = new Map(), words = [];
  let y = DOOR;
  for (let chunk = 0; chunk < layout.chunks; chunk++) {
    if (layout.chunks > 1) {
      words.push({ x: 0, y: y + 11, text: `chunk ${chunk}`, kind: 'title' });
      y += LABEL + 3;
    }
    for (let slot = 0; slot < layout.slots; slot++) {
      const x = (slot % columns) * (cell.w + gap), top = y + Math.floor(slot / columns) * (cell.h + LABEL + 4);
      slots.set(`${chunk}/${slot}`, { x, y: top, ...cell });
      words.push({ x: x + cell.w / 2, y: top + cell.h + 11, text: String(slot), kind: 'number' });
    }
    y += Math.ceil(layout.slots / columns) * (cell.h + LABEL + 4) + 6;
  }
  return { slots, frames: [], words, height: y, cell };
}

/** Cache lines: those of the front yard, then those of the backyard, whose entries have crumbs. */
function layYards(layout, width) {
  const slots = new Map(), words = [], frames = [];
  const gap = 2;
  let y = DOOR;
  const layRow = (row, count, cell, title) => {
    const rows = Math.ceil(count / Math.max(1, Math.floor((width - 10 + gap) / (cell.w + gap))));
    const columns = Math.ceil(count / rows);
    words.push({ x: 0, y: y + 11, text: title, kind: 'title' });
    frames.push({ x: 0, y: y + LABEL + 1, w: columns * (cell.w + gap) - gap + 10, h: rows * (cell.h + gap) - gap + 10, row, group: null });
    for (let slot = 0; slot < count; slot++)
      slots.set(`${row}/${slot}`, { x: 5 + (slot % columns) * (cell.w + gap), y: y + LABEL + 6 + Math.floor(slot / columns) * (cell.h + gap), ...cell });
    y += rows * (cell.h + gap) + LABEL + 18;
  };
  for (let row = 0; row < layout.fronts; row++) layRow(row, layout.frontSlots, { w: 26, h: 22 }, `front line ${row}`);
  for (let row = 0; row < layout.backs; row++)
    layRow(layout.fronts + row, layout.backSlots, { w: 26, h: 32 }, `backyard line ${row}, ${row % 2 ? 'odd' : 'even'} half`);
  return { slots, frames, words, height: y, cell: { w: 26, h: 22 } };
}

/** Bits as small squares. */
function layBits(layout, width) {
  const size = 14, gap = 2, most = Math.floor((width + gap) / (size + gap));
  const columns = Math.max(8, layout.block ? Math.min(64, most - most % 8) : most - most % 8);
  const slots = new Map(), words = [];
  let y = 4, first = 0;
  const blocks = layout.block ? layout.bits / layout.block : 1;
  for (let block = 0; block < blocks; block++) {
    const count = layout.block || layout.bits;
    if (layout.block) {
      words.push({ x: 0, y: y + 11, text: `block ${block}: one cache line`, kind: 'title' });
      y += LABEL + 3;
    }
    for (let bit = 0; bit < count; bit++)
      slots.set(`bit/${first + bit}`, { x: (bit % columns) * (size + gap), y: y + Math.floor(bit / columns) * (size + gap), w: size, h: size });
    y += Math.ceil(count / columns) * (size + gap) + 8;
    first += count;
  }
  return { slots, frames: [], words, height: y, cell: { w: size, h: size } };
}

function lay(layout, width) {
  if (layout.kind === 'bloom') return layBits(layout, width);
  if (layout.kind === 'yard') return layYards(layout, width);
  return layout.windows ? layLine(layout, width) : layBuckets(layout, width);
}

// ------------------------------------------------------------------------ stage

export class Stage {
  constructor(svg, tell) {
    this.svg = svg;
    this.tell = tell; // shows words about an entry
    this.entries = new Map();
  }

  /** Draws empty slots for a filter. */
  open(layout, width) {
    this.layout = layout;
    this.width = width;
    this.plan = lay(layout, width);
    this.svg.replaceChildren();
    this.entries.clear();
    const back = element('g', { class: 'places', 'aria-hidden': 'true' });
    for (const { x, y, w, h, row, group } of this.plan.frames)
      back.append(element('rect', { x, y, width: w, height: h, rx: 7, class: 'frame', 'data-frame': `${row}/${group}` }));
    for (const [place, { x, y, w, h }] of this.plan.slots)
      back.append(element('rect', { x, y, width: w, height: h, rx: layout.kind === 'bloom' ? 3 : 4, class: 'slot', 'data-place': place }));
    for (const { x, y, text, kind } of this.plan.words) back.append(element('text', { x, y, class: `word ${kind}` }, text));
    this.layer = element('g', { class: 'entries' });
    this.marks = element('g', { class: 'marks', 'aria-hidden': 'true' });
    this.svg.append(back, this.layer, this.marks);
    this.places = new Map([...back.querySelectorAll('.slot')].map((slot) => [slot.dataset.place, slot]));
    this.frames = new Map([...back.querySelectorAll('.frame')].map((frame) => [frame.dataset.frame, frame]));
    this.resize(this.plan.height);
  }

  resize(height) {
    this.svg.setAttribute('viewBox', `-2 -2 ${this.width + 4} ${height + 4}`);
    this.svg.style.height = `${height + 4}px`;
  }

  /** Places below the table for entries that are in a stash. */
  stashPlaces(entries) {
    const places = new Map();
    const stashed = entries.filter(({ column }) => column === 'stash');
    const { w, h } = this.plan.cell;
    const columns = Math.max(1, Math.floor(this.width / (w + 4)));
    stashed.forEach((entry, i) => {
      places.set(entry.id, { x: (i % columns) * (w + 4), y: this.plan.height + LABEL + 4 + Math.floor(i / columns) * (h + 4), w, h });
    });
    const rows = Math.ceil(stashed.length / columns);
    this.resize(this.plan.height + (rows > 0 ? rows * (h + 4) + LABEL + 6 : 0));
    this.stashWord ??= null;
    this.stashWord?.remove();
    this.stashWord = rows > 0 ? element('text', { x: 0, y: this.plan.height + 11, class: 'word title' }, 'stash: what found no slot') : null;
    if (this.stashWord) this.svg.append(this.stashWord);
    return places;
  }

  /** Shows a frame. */
  show(frame, glide) {
    this.svg.classList.toggle('glide', glide);
    this.point(frame.focus ?? {});
    if (this.layout.kind === 'bloom') {
      this.showBits(frame);
      return;
    }
    const stash = this.stashPlaces(frame.entries);
    const seen = new Set();
    const ids = new Set(frame.focus?.ids ?? []);
    for (const entry of frame.entries) {
      seen.add(entry.id);
      const place = entry.column === 'stash' ? stash.get(entry.id) : this.plan.slots.get(`${entry.row}/${entry.column}`);
      if (place) this.put(entry, place, ids.has(entry.id));
    }
    for (const [id, group] of this.entries) {
      if (seen.has(id)) continue;
      group.remove();
      this.entries.delete(id);
    }
    this.showDoor(frame.focus?.door);
  }

  /** Puts an entry to its place; a new one comes from the door. */
  put(entry, { x, y, w, h }, pointed) {
    let group = this.entries.get(entry.id);
    const isNew = !group;
    if (isNew) {
      group = this.make(entry, w);
      this.entries.set(entry.id, group);
      group.style.transform = `translate(${Math.max(0, this.width / 2 - w / 2)}px, 4px)`;
      this.layer.append(group);
      if (this.svg.classList.contains('glide')) group.getBoundingClientRect(); // so that it glides from there
    }
    if (group.dataset.height !== String(h)) this.dress(group, entry, w, h);
    group.style.transform = `translate(${x}px, ${y}px)`;
    group.classList.toggle('pointed', pointed);
    group.entry = entry;
    if (pointed) this.layer.append(group);
  }

  make(entry) {
    const group = element('g', { class: 'entry' });
    group.style.setProperty('--hue', hueOf(this.layout.kind === 'yard' ? entry.second : entry.fingerprint));
    group.addEventListener('pointerenter', () => this.tell(this.describe(group.entry)));
    return group;
  }

  dress(group, entry, w, h) {
    group.dataset.height = h;
    group.replaceChildren(element('rect', { width: w, height: h, rx: 4 }));
    const crumb = entry.note !== null && this.layout.kind === 'yard';
    group.append(element('text', { x: w / 2, y: crumb ? 13 : h / 2 + 4, class: 'label' }, labelOf(this.layout, entry)));
    if (crumb) group.append(element('text', { x: w / 2, y: 27, class: 'crumb' }, `↩${entry.note}`));
  }

  showBits(frame) {
    if (!frame.bits) return;
    const pointed = new Set(frame.focus?.bits ?? []);
    for (const [place, slot] of this.places) {
      const bit = Number(place.slice(4));
      slot.classList.toggle('set', (frame.bits[bit >> 3] >> (bit & 7) & 1) === 1);
      slot.classList.toggle('pointed', pointed.has(bit));
    }
  }

  /** Marks the places where a key may be. */
  point({ where, bits }) {
    for (const slot of this.svg.querySelectorAll('.first, .second')) slot.classList.remove('first', 'second');
    this.marks.replaceChildren();
    if (!where || bits) return;
    if (this.layout.kind === 'yard') {
      this.frames.get(`${where.row}/null`)?.classList.add('first');
      for (const back of where.backs) this.frames.get(`${back}/null`)?.classList.add('second');
      return;
    }
    [['first', where.first], ['second', where.second]].forEach(([name, group]) => {
      const first = this.layout.windows ? group : group * this.layout.group;
      for (let at = 0; at < this.layout.group; at++) this.places.get(`${where.row}/${first + at}`)?.classList.add(name);
      this.frames.get(`${where.row}/${group}`)?.classList.add(name);
      if (this.layout.windows) this.mark(name, Array.from({ length: this.layout.group }, (_, at) => this.plan.slots.get(`${where.row}/${group + at}`)));
    });
  }

  /** Draws a frame around the slots of a window, or two where a line ends in it. */
  mark(name, slots) {
    for (const y of new Set(slots.map((slot) => slot.y))) {
      const line = slots.filter((slot) => slot.y === y);
      const x = line[0].x - 2, end = line[line.length - 1];
      this.marks.append(element('rect', { x, y: y - 2, width: end.x + end.w + 2 - x, height: end.h + 4, rx: 5, class: `frame ${name}` }));
    }
  }

  /** A new key waits above the table. */
  showDoor(where) {
    this.door?.remove();
    this.door = null;
    if (!where) return;
    const { w, h } = this.plan.cell;
    const entry = { ...where, column: 'door', second: where.miniBucket ?? where.second, note: null };
    this.door = this.make(entry);
    this.door.entry = entry;
    this.door.classList.add('waiting');
    this.dress(this.door, entry, w, h);
    this.door.style.transform = `translate(${Math.max(0, this.width / 2 - w / 2)}px, 4px)`;
    this.svg.append(this.door);
  }

  /** An entry in words. */
  describe(entry) {
    const { layout } = this;
    if (entry.column === 'door') return 'The key that is being put in.';
    if (layout.kind === 'yard') {
      const crumb = entry.note === null ? '' : ` Crumb ${entry.note} leads back to front line ${entry.first}.`;
      return `Remainder ${labelOf(layout, entry)} of mini-bucket ${entry.second}, in ${placeName(layout, entry)}.${crumb}`;
    }
    return `Fingerprint ${hex(entry.fingerprint)} in ${placeName(layout, entry)}; it belongs in ${groupName(layout, entry.first)} or ${groupName(layout, entry.second)}.`;
  }
}
