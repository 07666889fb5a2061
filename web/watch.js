// SPDX-License-Identifier: MIT
//
// watch: "Watch it fill": a small filter, keys that come and go, one frame after another.
import { families, Filter, layoutOf, bitsOf } from './library.js';
import { add, ask, pictureOf, remove } from './frames.js';
import { bits, percent, rate } from './words.js';
import { Stage } from './stage.js';

const SIZES = { small: 40, medium: 96, large: 200 };
const ABSENT = BigUint64Array.from({ length: 20000 }, (_, i) => BigInt(i)); // integer keys: never put in here
const SLOWEST = 2200; // milliseconds of a frame
const START = 0.93; // so full is a filter at first: the next keys have to push
const HURRY = 8; // from this speed on only the last frame of a call is shown

const BIRDS = ('heron crane stork ibis egret bittern robin wren finch swift swallow martin lark pipit dipper thrush ' +
  'blackbird nightingale redstart wheatear whinchat stonechat warbler goldcrest tit nuthatch treecreeper jay magpie ' +
  'jackdaw rook crow raven starling sparrow bunting linnet siskin twite crossbill hawk kite buzzard eagle osprey falcon ' +
  'hobby kestrel merlin grouse quail pheasant partridge coot moorhen plover lapwing dunlin ruff snipe woodcock curlew ' +
  'godwit gull tern skua auk puffin razorbill pigeon dove cuckoo owl nightjar kingfisher hoopoe roller woodpecker').split(' ');

export function watch(root) {
  const $ = (name) => root.querySelector(`#watch-${name}`);
  const stage = new Stage($('stage'), (words) => { $('hover').textContent = words; });
  let filter, layout, entries, keys, queue, frames, current, timer = 0, drawn = 0, seed = 1;

  // ------------------------------------------------------------------ figures

  function tellFigures() {
    const info = filter.info();
    const passed = filter.hasMany(ABSENT).reduce((sum, yes) => sum + yes, 0);
    $('count').textContent = String(info.count);
    $('load').textContent = percent(info.load);
    $('meter').value = info.load;
    $('rate').textContent = `${rate(info.fprNow)}`;
    $('target').textContent = `promised: ${rate(info.fprTarget)}`;
    $('measured').textContent = `${percent(passed / ABSENT.length)} of ${ABSENT.length.toLocaleString('en')} absent keys pass`;
    $('bits').textContent = info.count > 0 ? bits(info.bitsPerKey) : '–';
    $('full').textContent = `${bits(info.bytes * 8 / info.capacity)} when full`;
    $('made').textContent = `made for ${info.capacity}${layout.kind !== 'bloom' ? `; ${info.stashed} in the stash` : ''}`;
  }

  function tellKeys() {
    $('keys').replaceChildren(...[...keys.keys()].map((key) => {
      const chip = document.createElement('button');
      chip.type = 'button';
      chip.className = 'chip';
      chip.textContent = key;
      chip.addEventListener('click', () => {
        $('key').value = key;
        enqueue([{ does: ask, key }], true);
      });
      const item = document.createElement('li');
      item.append(chip);
      return item;
    }));
    $('keys-count').textContent = String(keys.size);
  }

  // ------------------------------------------------------------------- frames

  const idle = () => ({ entries, bits: layout.kind === 'bloom' ? bitsOf(filter) : undefined, focus: {} });

  function show(frame, glide = true) {
    current = frame;
    stage.show(frame, glide && !matchMedia('(prefers-reduced-motion: reduce)').matches);
    if (frame.text) $('says').textContent = frame.text;
    $('says').classList.toggle('refused', Boolean(frame.refused));
  }

  /** Lets the library do the next call, and takes its frames. */
  function begin({ does, key }, tell = true) {
    const known = keys.has(key);
    const result = does(filter, key, entries, known);
    frames = result.frames;
    entries = frames[frames.length - 1].entries;
    if (does === add && !result.failed) keys.set(key, (keys.get(key) ?? 0) + 1);
    if (result.removed) {
      if (keys.get(key) > 1) keys.set(key, keys.get(key) - 1);
      else keys.delete(key);
    }
    if (result.failed) queue = [];
    if (tell) {
      tellFigures();
      tellKeys();
    }
    return result;
  }

  /** One frame more; false if there is nothing to show any more. */
  function step() {
    if (frames.length === 0 && queue.length > 0) begin(queue.shift());
    if (frames.length === 0) return false;
    show(frames.shift());
    return true;
  }

  /** One whole call, its last frame only. */
  function hurry() {
    if (frames.length === 0 && queue.length > 0) begin(queue.shift());
    if (frames.length === 0) return false;
    show(frames[frames.length - 1]);
    frames = [];
    return true;
  }

  const speed = () => Number($('speed').value);

  function tick() {
    const more = speed() >= HURRY ? hurry() : step();
    if (!more) {
      pause();
      return;
    }
    const pace = speed() >= HURRY ? 260 / (speed() - HURRY + 1) : SLOWEST / speed();
    timer = setTimeout(tick, pace);
    root.style.setProperty('--glide', `${Math.min(600, pace * 0.7)}ms`);
  }

  function play() {
    if (timer) return;
    if (queue.length === 0 && frames.length === 0) queue = [next()];
    $('play').textContent = 'Pause';
    $('play').setAttribute('aria-pressed', 'true');
    tick();
  }

  function pause() {
    clearTimeout(timer);
    timer = 0;
    $('play').textContent = 'Play';
    $('play').setAttribute('aria-pressed', 'false');
  }

  /** Puts calls into the queue; `now` drops what is waiting. */
  function enqueue(calls, now = false) {
    if (now) {
      queue = [];
      if (frames.length > 0) show(frames[frames.length - 1]);
      frames = [];
    }
    queue.push(...calls);
    play();
  }

  function next() {
    const bird = BIRDS[drawn % BIRDS.length], round = Math.floor(drawn / BIRDS.length);
    drawn++;
    return { does: add, key: round === 0 ? bird : `${bird} ${round + 1}` };
  }

  // ------------------------------------------------------------------ filters

  function open() {
    pause();
    filter?.free();
    filter = new Filter({ family: $('family').value, capacity: SIZES[$('size').value], fpr: Number($('fpr').value), seed });
    layout = layoutOf(filter);
    keys = new Map();
    queue = [];
    frames = [];
    entries = pictureOf(filter).entries;
    draw();
    tellFigures();
    tellKeys();
    const { features } = families.find(({ name }) => name === $('family').value);
    $('remove').disabled = !features.includes('delete');
    $('essence').textContent = root.querySelector(`#watch-family option[value="${$('family').value}"]`).dataset.essence;
    $('legend').dataset.kind = layout.kind;
  }

  function draw() {
    stage.open(layout, Math.max(240, $('stage').parentElement.clientWidth - 4));
    show(current && frames?.length > 0 ? current : idle(), false);
  }

  /** Puts keys in without showing each; on, if `on`, until one of them had to push. */
  function fill(count, on = false) {
    for (let i = 0; i < Math.floor(count) || on; i++) {
      const { failed } = begin(next(), false);
      on &&= frames.length < 3;
      frames = [];
      if (failed) break;
    }
    tellFigures();
    tellKeys();
    show({ ...idle(), text: `${filter.size} keys are in. Step or play to put the next one in.` }, false);
  }

  /** Fills a filter so far that the next keys have to push. */
  function prepare() {
    fill(filter.info().capacity * START, layout.kind === 'yard');
  }

  // ------------------------------------------------------------------ controls

  const essences = {
    cuckoo: 'A key has two buckets; the second is the first XOR a hash of its fingerprint. When both are full, others move.',
    semisort: 'Cuckoo with the slots of a bucket kept sorted and coded: one bit per slot less.',
    simplified: 'Cuckoo in small subtables; the fingerprint itself leads to the partner bucket.',
    chunked: 'Cuckoo in chunks of any number, with a slot of each first bucket held back.',
    bucketed: 'Any number of buckets: an offset leads to the second one, and a bit tells which of the two it is.',
    windowed: 'Windows of slots overlap, so entries can also shift within a window: the smallest.',
    breadcrumb: 'Cache lines kept in order. What a full line cannot hold goes to the backyard, with a crumb that leads back.',
    bloom: 'No fingerprints: a key sets some bits anywhere. Nothing can be removed.',
    'blocked-bloom': 'A Bloom filter whose bits of a key lie in one cache line.',
  };
  const filled = families.filter(({ features }) => !features.includes('static')); // key by key
  $('family').append(...filled.map(({ name }) => {
    const option = new Option(name, name);
    option.dataset.essence = essences[name] ?? '';
    return option;
  }));

  const typed = () => $('key').value;
  $('form').addEventListener('submit', (event) => {
    event.preventDefault();
    const does = { add, ask, remove }[event.submitter?.value ?? 'add'];
    if (typed() === '') {
      $('says').textContent = 'Type a key first.';
      $('key').focus();
      return;
    }
    enqueue([{ does, key: typed() }], true);
  });
  $('paste').addEventListener('submit', (event) => {
    event.preventDefault();
    const lines = $('many').value.split(/\r?\n/).filter((line) => line !== '');
    enqueue(lines.map((key) => ({ does: add, key })));
  });
  $('generate').addEventListener('click', () => enqueue(Array.from({ length: 10 }, next)));
  $('fill').addEventListener('click', () => {
    pause();
    const { capacity, count } = filter.info();
    fill(Math.max(0, capacity - count));
  });
  $('step').addEventListener('click', () => {
    pause();
    root.style.setProperty('--glide', '500ms');
    if (frames.length === 0 && queue.length === 0) queue = [next()];
    step();
  });
  $('play').addEventListener('click', () => (timer ? pause() : play()));
  $('reset').addEventListener('click', () => {
    drawn = 0;
    open();
    $('says').textContent = 'Empty. Step or play to put keys in.';
  });
  $('seed').addEventListener('click', () => {
    seed = (seed * 48271) % 0x7fffffff;
    drawn = 0;
    open();
    $('says').textContent = 'Another seed: the same keys go to other places.';
  });
  for (const name of ['family', 'size', 'fpr'])
    $(name).addEventListener('change', () => {
      drawn = 0;
      open();
      prepare();
    });

  let width = 0;
  new ResizeObserver(() => {
    const now = $('stage').parentElement.clientWidth;
    if (now === width || now === 0) return;
    width = now;
    draw();
  }).observe($('stage').parentElement);

  open();
  prepare();
  return { stop: pause };
}
