// SPDX-License-Identifier: MIT
//
// use: "Use": asks a file of the nidus command, and makes one of a list of keys. Nothing leaves the page.
import { families, Filter } from './library.js';
import { bits, count, isRate, parseCount, parseRate, percent, rate, size } from './words.js';

const LISTED = 200; // answers that are written out
const START = [0x89, ...new TextEncoder().encode('nidus')]; // of every filter's file

const TAB = 9;

/** The key and the value of a line with both. */
function pairOf(line) {
  const tab = line.lastIndexOf(TAB), value = new TextDecoder().decode(line.subarray(tab + 1));
  if (tab < 0 || !/^\d+$/.test(value)) throw new Error(`“${new TextDecoder().decode(line)}” is no key, tab and number`);
  return [line.subarray(0, tab), Number(value)];
}

/** The lines of a text, as bytes; a line's end is \n or \r\n. */
export function* linesOf(bytes) {
  for (let start = 0; start < bytes.length;) {
    let end = bytes.indexOf(10, start);
    if (end < 0) end = bytes.length;
    const stop = end > start && bytes[end - 1] === 13 ? end - 1 : end;
    if (stop > start) yield bytes.subarray(start, stop);
    start = end + 1;
  }
}

export function use(root) {
  const $ = (name) => root.querySelector(`#use-${name}`);
  let filter = null, name = '';

  function say(words, wrong = false) {
    $('says').textContent = words;
    $('says').classList.toggle('refused', wrong);
  }

  function tellFilter() {
    const info = filter.info();
    const facts = {
      family: info.family,
      keys: `${count(info.count)} of ${count(info.capacity)}`,
      size: size(info.bytes),
      'bits per key': info.count > 0 ? bits(info.bitsPerKey) : '–',
      'false positives': `${rate(info.fprNow)} now, ${rate(info.fprTarget)} promised`,
      load: percent(info.load),
      can: info.features.join(', '),
      ...(info.maxCapacity > info.capacity && { 'grows up to': info.maxCapacity === Infinity ? 'any number of keys' : `${count(info.maxCapacity)} keys` }),
      ...(info.valueBits > 0 && { values: `${info.valueBits} bits beside each key` }),
    };
    $('facts').replaceChildren(...Object.entries(facts).flatMap(([term, text]) => {
      const dt = document.createElement('dt'), dd = document.createElement('dd');
      dt.textContent = term;
      dd.textContent = text;
      return [dt, dd];
    }));
    $('name').textContent = name;
    $('filter').hidden = false;
    $('none').hidden = true;
    $('choose').classList.remove('primary'); // asking is what is next
    $('double').hidden = !(info.maxCapacity > info.capacity && info.maxCapacity < Infinity);
    $('answers').replaceChildren();
    $('sum').textContent = '';
  }

  function keep(made, called) {
    filter?.free();
    filter = made;
    name = called;
    tellFilter();
  }

  // -------------------------------------------------------------------- files

  /** By its name or its first bytes; the library says what is wrong with it. */
  const isFilter = (called, bytes) => called.endsWith('.nidus') || START.every((byte, i) => bytes[i] === byte);

  const optional = (field) => ($(field).value.trim() === '' ? undefined : parseCount($(field).value));

  /** The options of the form. */
  function options() {
    const fpr = parseRate($('fpr').value);
    if (!isRate(fpr)) throw new Error('What rate is that? Filters have 2^-32 to 2^-4: try 0.001, 0.1% or 1/1000.');
    return { fpr, family: $('family').value, maxCapacity: optional('grow'), valueBits: optional('values') };
  }

  /** A filter of lines with values. */
  function buildWithValues(bytes, wanted) {
    const pairs = Array.from(linesOf(bytes), pairOf);
    const made = new Filter({ ...wanted, capacity: pairs.length });
    try {
      for (const [key, value] of pairs) made.addValue(key, value);
    } catch (error) {
      made.free();
      throw error;
    }
    return made;
  }

  async function build(bytes, called) {
    const wanted = options();
    if (linesOf(bytes).next().done) {
      say(`${called}: there is no key in it.`, true);
      return;
    }
    const made = wanted.valueBits > 0 ? buildWithValues(bytes, wanted) : Filter.build(linesOf(bytes), wanted);
    keep(made, `${called.replace(/\.(txt|csv|list)$/, '')}.nidus`);
    say(`${count(made.size)} keys of ${called} became a filter of ${size(made.info().bytes)}. Ask it, or download it.`);
  }

  async function take(file) {
    say(`Reading ${file.name}, ${size(file.size)} …`);
    try {
      const bytes = new Uint8Array(await file.arrayBuffer());
      await new Promise((resolve) => setTimeout(resolve)); // lets the page say so
      if (isFilter(file.name, bytes)) {
        keep(Filter.load(bytes), file.name);
        say(`${file.name} is a filter. Ask it.`);
      } else {
        await build(bytes, file.name);
      }
    } catch (error) {
      say(`${file.name}: ${error.message}`, true);
    }
  }

  $('file').addEventListener('change', () => {
    if ($('file').files.length > 0) take($('file').files[0]);
    $('file').value = '';
  });
  for (const type of ['dragover', 'dragleave', 'drop'])
    $('drop').addEventListener(type, (event) => {
      event.preventDefault();
      $('drop').classList.toggle('over', type === 'dragover');
      if (type === 'drop' && event.dataTransfer.files.length > 0) take(event.dataTransfer.files[0]);
    });

  $('paste').addEventListener('submit', async (event) => {
    event.preventDefault();
    const bytes = new TextEncoder().encode($('keys').value);
    try {
      await build(bytes, 'keys');
    } catch (error) {
      say(error.message, true);
    }
  });

  $('download').addEventListener('click', () => {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([filter.save()], { type: 'application/octet-stream' }));
    link.download = name.endsWith('.nidus') ? name : `${name}.nidus`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });

  // ------------------------------------------------------------------ questions

  const asked = () => $('questions').value.split(/\r?\n/).filter((line) => line !== '');

  /** Puts a line in: a key, or a key and its value. False if a key was there. */
  function addLine(line) {
    if (filter.info().valueBits === 0) return filter.addNew(line);
    filter.addValue(...pairOf(new TextEncoder().encode(line)));
    return true;
  }

  $('add').addEventListener('click', () => {
    const lines = asked();
    let added = 0, done = 0, trouble = '';
    try {
      for (; done < lines.length; done++) added += Number(addLine(lines[done]));
    } catch (error) {
      trouble = ` “${lines[done]}” was not: ${error.message}.`;
    }
    tellFilter();
    $('sum').textContent = `${count(added)} of ${count(lines.length)} keys were added${done > added ? `; ${count(done - added)} seemed to be in it` : ''}.${trouble}`;
  });

  $('double').addEventListener('click', () => {
    const { capacity, maxCapacity } = filter.info();
    try {
      filter.grow(Math.min(capacity * 2, maxCapacity));
      tellFilter();
      $('sum').textContent = `It has room for ${count(filter.info().capacity)} keys now, at the same rate.`;
    } catch (error) {
      $('sum').textContent = error.message;
    }
  });

  function answer(key, yes, values = []) {
    const item = document.createElement('li');
    item.className = yes ? 'yes' : 'no';
    const word = document.createElement('b');
    word.textContent = yes ? 'yes' : 'no';
    item.append(word, ` ${key}${values.length > 0 ? ` → ${values.join(', ')}` : ''}`);
    return item;
  }

  $('ask').addEventListener('submit', (event) => {
    event.preventDefault();
    const keys = asked();
    const yes = filter.hasMany(keys), withValues = filter.info().valueBits > 0;
    const found = yes.reduce((sum, one) => sum + one, 0);
    $('sum').textContent = `${count(found)} of ${count(keys.length)} are probably in it; the other ${count(keys.length - found)} certainly not.`;
    $('answers').replaceChildren(...keys.slice(0, LISTED).map((key, i) => answer(key, yes[i], withValues ? filter.values(key) : [])));
    if (keys.length > LISTED) $('answers').append(answer(`… and ${count(keys.length - LISTED)} more`, 0));
  });

  $('family').append(new Option('auto: the smallest', 'auto'), ...families.map(({ name: family }) => new Option(family, family)));
}
