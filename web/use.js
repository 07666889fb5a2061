// SPDX-License-Identifier: MIT
//
// use: "Use": asks a file of the nidus command, and makes one of a list of keys. Nothing leaves the page.
import { families, Filter } from './library.js';
import { bits, count, parseRate, percent, rate, size } from './words.js';

const LISTED = 200; // answers that are written out
const START = [0x89, ...new TextEncoder().encode('nidus')]; // of every filter's file

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

  async function build(bytes, called) {
    const fpr = parseRate($('fpr').value);
    if (!(fpr > 0 && fpr < 1)) {
      say('What rate is that? Try 0.001, 0.1% or 1/1000.', true);
      return;
    }
    const family = $('family').value;
    if (linesOf(bytes).next().done) {
      say(`${called}: there is no key in it.`, true);
      return;
    }
    const made = Filter.build(linesOf(bytes), { fpr, family });
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

  function answer(key, yes) {
    const item = document.createElement('li');
    item.className = yes ? 'yes' : 'no';
    const word = document.createElement('b');
    word.textContent = yes ? 'yes' : 'no';
    item.append(word, ` ${key}`);
    return item;
  }

  $('ask').addEventListener('submit', (event) => {
    event.preventDefault();
    const asked = $('questions').value.split(/\r?\n/).filter((line) => line !== '');
    const yes = filter.hasMany(asked);
    const found = yes.reduce((sum, one) => sum + one, 0);
    $('sum').textContent = `${count(found)} of ${count(asked.length)} are probably in it; the other ${count(asked.length - found)} certainly not.`;
    $('answers').replaceChildren(...asked.slice(0, LISTED).map((key, i) => answer(key, yes[i])));
    if (asked.length > LISTED) $('answers').append(answer(`… and ${count(asked.length - LISTED)} more`, 0));
  });

  $('family').append(new Option('auto: the smallest', 'auto'), ...families.map(({ name: family }) => new Option(family, family)));
}
