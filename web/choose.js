// SPDX-License-Identifier: MIT
//
// choose: "Choose": what every family would take for a set, told by the library's planner.
import uPlot from 'uplot';
import { families, plan } from './library.js';
import { bits, count, isRate, parseCount, parseRate, rate, size } from './words.js';

const STEPS = Array.from({ length: 41 }, (_, i) => 4 + i / 2); // log2(1 / fpr) of the plot

function cell(row, text, kind = 'td') {
  const made = document.createElement(kind);
  made.textContent = text;
  row.append(made);
  return made;
}

export function choose(root) {
  const $ = (name) => root.querySelector(`#choose-${name}`);
  let plot, timer;

  const optional = (name) => ($(name).value.trim() === '' ? undefined : parseCount($(name).value));

  const wishes = () => ({
    capacity: parseCount($('n').value),
    fpr: parseRate($('fpr').value),
    maxCapacity: optional('grow'),
    valueBits: optional('values'),
    features: [...root.querySelectorAll('input[name=feature]:checked')].map(({ value }) => value),
  });

  function complain(name, words) {
    $(name).setAttribute('aria-invalid', String(words !== ''));
    $(`${name}-wrong`).textContent = words;
    return words !== '';
  }

  /** The options, or null if the form has no sense yet. */
  function options() {
    const wished = wishes();
    const { capacity, fpr, maxCapacity = capacity, valueBits = 0 } = wished;
    const bad = [
      complain('n', Number.isSafeInteger(capacity) && capacity >= 1 ? '' : 'A whole number like 1000000, 10M or 2^20'),
      complain('fpr', isRate(fpr) ? '' : 'A rate from 2^-32 to 2^-4, like 0.001, 0.1% or 1/1000'),
      complain('grow', Number.isSafeInteger(maxCapacity) && !(maxCapacity < capacity) ? '' : 'Nothing, or a whole number that is not below the keys'),
      complain('values', Number.isInteger(valueBits) && valueBits >= 0 && valueBits <= 32 ? '' : 'Nothing, or a whole number up to 32'),
    ];
    return bad.includes(true) ? null : wished;
  }

  // -------------------------------------------------------------------- table

  function tellRow(row) {
    const line = document.createElement('tr');
    const name = cell(line, row.family, 'th');
    name.scope = 'row';
    if (row.status !== 'OK') {
      line.className = 'refused';
      const why = cell(line, row.why);
      why.colSpan = 7;
      return line;
    }
    if (row.chosen) {
      line.className = 'chosen';
      const mark = document.createElement('span');
      mark.className = 'badge';
      mark.textContent = 'auto';
      name.append(' ', mark);
    }
    cell(line, row.bitsPerKey.toFixed(2)).dataset.name = 'bits per key';
    cell(line, size(row.bytes)).dataset.name = 'in all';
    cell(line, row.bytesGrowing > row.bytes ? `up to ${size(row.bytesGrowing)}` : '–').dataset.name = 'while it grows';
    cell(line, rate(row.fpr)).dataset.name = 'rate';
    cell(line, `${Math.round(row.load * 100)} %`).dataset.name = 'load';
    cell(line, row.linesPerLookup.toFixed(2)).dataset.name = 'lines per lookup';
    cell(line, row.features.includes('delete') ? 'yes' : 'no').dataset.name = 'deletes';
    return line;
  }

  function tellTable(rows, wanted) {
    const order = (row) => (row.status === 'OK' ? row.bitsPerKey : Infinity);
    $('rows').replaceChildren(...[...rows].sort((a, b) => order(a) - order(b)).map(tellRow));
    const chosen = rows.find((row) => row.chosen);
    const least = Math.log2(1 / wanted.fpr);
    $('says').textContent = chosen
      ? `Take ${chosen.family}: ${size(chosen.bytes)} for ${count(wanted.capacity)} keys, ${bits(chosen.bitsPerKey)} per key where no set can do with less than ${least.toFixed(2)}. ${sentence(chosen.why)}`
      : 'No family can do all that.';
  }

  const sentence = (words) => (words ? `${words[0].toUpperCase()}${words.slice(1)}.` : '');

  // --------------------------------------------------------------------- plot

  /** Bits per key of every family along the rates; null where it cannot be. */
  function curves(wanted) {
    const lists = new Map(families.map(({ name }) => [name, []]));
    for (const power of STEPS)
      for (const row of plan({ ...wanted, fpr: 2 ** -power }))
        lists.get(row.family).push(row.status === 'OK' ? row.bitsPerKey : null);
    return [STEPS, STEPS, ...lists.values()];
  }

  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function series() {
    const light = style('--plot-light');
    return [
      { label: 'rate', value: (_, power) => (power === null ? '' : `1 in ${count(Math.round(2 ** power))}`) },
      { label: 'lower bound', stroke: style('--text'), dash: [6, 4], width: 2, points: { show: false }, value: (_, y) => y?.toFixed(2) ?? '–' },
      ...families.map(({ name }, i) => ({
        label: name,
        stroke: `hsl(${i * 40 + 8} 70% ${light})`,
        dash: name.includes('bloom') ? [2, 3] : undefined,
        width: 2,
        points: { show: false },
        value: (_, y) => y?.toFixed(2) ?? '–',
      })),
    ];
  }

  function draw(wanted) {
    const data = curves(wanted);
    const box = $('plot');
    const axis = { stroke: style('--muted'), grid: { stroke: style('--line'), width: 1 }, ticks: { stroke: style('--line') }, font: '12px system-ui' };
    plot?.destroy();
    plot = new uPlot({
      width: Math.max(280, box.clientWidth),
      height: Math.round(Math.min(420, Math.max(260, box.clientWidth * 0.55))),
      scales: { x: { time: false } },
      series: series(),
      axes: [
        { ...axis, values: (_, ticks) => ticks.map((power) => (Number.isInteger(power) ? `2^-${power}` : '')), label: 'false-positive rate', labelFont: '12px system-ui', labelSize: 22 },
        { ...axis, label: 'bits per key', labelFont: '12px system-ui', labelSize: 22, size: 44 },
      ],
      legend: { live: true },
      cursor: { y: false, drag: { x: false, y: false } },
      hooks: { ready: [(ready) => pointAt(ready, wanted.fpr)] },
    }, data, box);
    box.querySelector('canvas').setAttribute('aria-hidden', 'true');
  }

  /** Shows the figures at the rate that was asked for. */
  function pointAt(ready, fpr) {
    const power = Math.min(24, Math.max(4, Math.round(Math.log2(1 / fpr) * 2) / 2));
    ready.setCursor({ left: ready.valToPos(power, 'x'), top: 10 });
  }

  function tell() {
    const wanted = options();
    if (!wanted) return;
    try {
      tellTable(plan(wanted), wanted);
      if (root.offsetParent !== null) draw(wanted);
    } catch (error) {
      $('says').textContent = error.message;
    }
  }

  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(tell, 120);
  };
  $('form').addEventListener('input', soon);
  $('form').addEventListener('submit', (event) => event.preventDefault());
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', soon);
  document.addEventListener('nidus-theme', soon);
  let width = 0;
  new ResizeObserver(() => {
    if ($('plot').clientWidth !== width) soon();
    width = $('plot').clientWidth;
  }).observe($('plot'));
  tell();
}
