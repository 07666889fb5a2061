// SPDX-License-Identifier: MIT
//
// page: the page in Chromium, opened from a file, beside the nidus command. Leaves pictures in
// build-js/pictures.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { built, FAMILIES, folder, nidus, page as file, query, top, words } from './support.mjs';

const { chromium } = createRequire(join(top, 'web/package.json'))('playwright-core');
const pictures = join(built, 'pictures');
const WIDTHS = { phone: [390, 844], desktop: [1280, 800] };
const NESTS = FAMILIES.slice(0, 6);

let browser;
before(async () => {
  mkdirSync(pictures, { recursive: true });
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
});
after(() => browser?.close());

/** Opens the page, lets `use(page)` work, and fails if anything was logged or asked of the network. */
async function visit(part, use, { width = 1280, height = 800, ...more } = {}) {
  const page = await browser.newPage({ viewport: { width, height }, reducedMotion: 'reduce', ...more });
  const trouble = [];
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && trouble.push(message.text()));
  page.on('pageerror', (error) => trouble.push(String(error.stack)));
  page.on('request', (request) => /^(file|data|blob):/.test(request.url()) || trouble.push(request.url()));
  try {
    await page.goto(`${pathToFileURL(file)}#${part}`);
    await page.waitForSelector('html[data-ready=true]');
    await use(page);
    assert.deepEqual(trouble, []);
  } finally {
    await page.close();
  }
}

const says = (page, part = 'watch') => page.textContent(`#${part}-says`);

/** Steps until a frame's words match, at most so often. */
async function stepUntil(page, pattern, most = 400) {
  for (let i = 0; i < most; i++) {
    await page.click('#watch-step');
    if (pattern.test(await says(page))) return true;
  }
  return false;
}

/** Lets everything that waits be done, quickly. */
async function hurry(page) {
  await page.fill('#watch-speed', '16');
  await page.waitForFunction(() => document.getElementById('watch-play').textContent === 'Play', null, { timeout: 120000 });
}

/** What is drawn: places of entries, and the count that the library tells. */
function drawn(page) {
  return page.evaluate(() => ({
    places: [...document.querySelectorAll('#watch-stage .entries .entry')].map((entry) => entry.style.transform),
    count: Number(document.getElementById('watch-count').textContent),
  }));
}

async function everyEntryHasAPlace(page) {
  const { places, count } = await drawn(page);
  assert.equal(places.length, count);
  assert.equal(new Set(places).size, count, 'two entries in one place');
}

for (const family of FAMILIES) {
  test(`${family}: keys go in, are found, and come out, and every entry drawn has a place of its own`, () => visit('watch', async (page) => {
    await page.selectOption('#watch-family', family);
    const bits = family.includes('bloom');
    if (!bits) await everyEntryHasAPlace(page);
    await page.fill('#watch-speed', '16');
    for (const key of ['first key', 'схема', '🪶', 'x'.repeat(300)]) {
      await page.fill('#watch-key', key);
      await page.click('#watch-form [value=add]');
      await hurry(page);
      await page.click('#watch-form [value=ask]');
      await hurry(page);
      assert.match(await says(page), /Yes\.$/);
    }
    await page.click('#watch-generate');
    await hurry(page);
    if (bits) {
      assert.ok(await page.isDisabled('#watch-remove'));
      return;
    }
    await everyEntryHasAPlace(page);
    const { count } = await drawn(page);
    await page.fill('#watch-key', '🪶');
    await page.click('#watch-form [value=remove]');
    await hurry(page);
    await everyEntryHasAPlace(page);
    assert.equal((await drawn(page)).count, count - 1);
  }));
}

for (const family of FAMILIES.filter((name) => !name.includes('bloom'))) {
  test(`${family}: copies that find no place are drawn in the stash, and come out again`, () => visit('watch', async (page) => {
    await page.selectOption('#watch-family', family);
    await page.click('#watch-reset');
    await page.evaluate(() => { document.querySelector('#watch details').open = true; });
    await page.fill('#watch-many', Array(40).fill('heron').join('\n'));
    await page.fill('#watch-speed', '16');
    await page.click('#watch-paste button');
    await hurry(page);
    assert.match(await says(page), /stash\.$/);
    assert.match(await page.textContent('#watch-made'), / in the stash$/);
    assert.ok(Number((await page.textContent('#watch-made')).match(/; (\d+) in/)[1]) >= 40 - 16);
    await everyEntryHasAPlace(page);
    assert.equal((await drawn(page)).count, 40);
    await page.fill('#watch-key', 'heron');
    for (let left = 39; left >= 0; left -= 1) {
      await page.click('#watch-form [value=remove]');
      await hurry(page);
      if (left % 13 === 0) await everyEntryHasAPlace(page);
      assert.equal((await drawn(page)).count, left);
    }
  }));
}

for (const family of NESTS) {
  test(`${family}: a chain of moves is shown, one entry after another, before the new one lies in its slot`, () => visit('watch', async (page) => {
    await page.selectOption('#watch-family', family);
    assert.ok(await stepUntil(page, /^Both are full.*chain/));
    const moves = Number((await says(page)).match(/chain: (one|\d+)/)[1].replace('one', '1'));
    const before = await drawn(page);
    for (let i = 0; i < moves; i++) {
      await page.click('#watch-step');
      assert.match(await says(page), /moves from .* to /);
    }
    await page.click('#watch-step');
    assert.match(await says(page), /lies in/);
    await everyEntryHasAPlace(page);
    assert.equal((await drawn(page)).places.length, before.places.length + 1);
  }));
}

test('breadcrumb: a full line spills to the backyard with a crumb, and a removal brings an entry back', () => visit('watch', async (page) => {
  await page.selectOption('#watch-family', 'breadcrumb');
  await page.selectOption('#watch-size', 'small');
  assert.ok(await stepUntil(page, /crumb \d+ leads back|goes to backyard/));
  assert.ok(await page.locator('#watch-stage .entries .crumb').count() > 0);
  // Every key that is in, one by one, until one leaves a full line: the page lists them.
  await page.evaluate(() => { document.querySelector('#watch details.card').open = true; });
  let back = false;
  for (const key of await page.locator('#watch-keys .chip').allTextContents()) {
    await page.fill('#watch-key', key);
    await page.fill('#watch-speed', '16');
    await page.click('#watch-form [value=remove]');
    await hurry(page);
    back = /follows its crumb back/.test(await says(page));
    if (back) break;
  }
  assert.ok(back);
  await everyEntryHasAPlace(page);
}));

test('a filter that is full says so and is left alone', () => visit('watch', async (page) => {
  await page.selectOption('#watch-family', 'cuckoo');
  await page.selectOption('#watch-size', 'small');
  await page.evaluate(() => { document.querySelector('#watch details').open = true; });
  await page.fill('#watch-many', words(200).join('\n'));
  await page.fill('#watch-speed', '16');
  await page.click('#watch-paste button');
  await hurry(page);
  assert.match(await says(page), /^Refused: .*full.*Nothing has changed/);
  await everyEntryHasAPlace(page);
}));

test('an empty key, an emptied filter and another seed are fine', () => visit('watch', async (page) => {
  await page.fill('#watch-key', '');
  await page.click('#watch-form [value=add]');
  assert.match(await says(page), /Type a key/);
  await page.click('#watch-reset');
  assert.equal((await drawn(page)).count, 0);
  await page.click('#watch-step');
  await page.click('#watch-seed');
  assert.equal((await drawn(page)).places.length, 0);
}));

test('choose tells what the command plans', () => visit('choose', async (page) => {
  await page.fill('#choose-n', '10M');
  await page.fill('#choose-fpr', '0.1%');
  await page.waitForFunction(() => document.getElementById('choose-says').textContent.includes('10,000,000'));
  const rows = JSON.parse(nidus(['plan', '-n', '10000000', '-p', '0.001', '--json']));
  const told = Object.fromEntries(await page.locator('#choose-rows tr').evaluateAll((lines) =>
    lines.map((line) => [line.cells[0].firstChild.textContent, line.cells[1].textContent])));
  for (const row of rows) assert.equal(told[row.family], row.bits_per_key.toFixed(2), row.family);
  assert.equal(await page.locator('#choose-rows .badge').count(), 1);
  assert.equal(await page.locator('#choose-plot .u-series').count(), FAMILIES.length + 3);
  await page.check('input[value=delete]');
  await page.waitForFunction(() => document.querySelectorAll('#choose-rows .refused').length === 3);
}));

test('choose tells what growth and values take, in the words of the command', () => visit('choose', async (page) => {
  await page.fill('#choose-grow', '100M');
  await page.fill('#choose-values', '8');
  await page.waitForFunction(() => document.querySelectorAll('#choose-rows .refused').length === 3);
  const rows = JSON.parse(nidus(['plan', '-n', '1000000', '-p', '0.001', '--grow', '100M', '--values', '8', '--json']));
  const told = Object.fromEntries(await page.locator('#choose-rows tr').evaluateAll((lines) =>
    lines.map((line) => [line.cells[0].firstChild.textContent, [...line.cells].slice(1, 4).map((cell) => cell.textContent)])));
  let compared = 0;
  for (const row of rows.filter(({ status }) => status === 'NIDUS_OK')) {
    const [bitsPerKey, bytes, growing] = told[row.family];
    // Records of segments have pointers, which take half as much in the page.
    assert.ok(Math.abs(bitsPerKey / row.bits_per_key - 1) < 0.02, `${row.family}: ${bitsPerKey} and ${row.bits_per_key}`);
    assert.ok(Math.abs(parseFloat(bytes) * 2 ** 20 / row.bytes - 1) < 0.02, `${row.family}: ${bytes} and ${row.bytes}`);
    assert.match(bytes, /^\d+\.\d+ MiB$/);
    assert.match(growing, /^up to \d+ MiB$/);
    compared++;
  }
  assert.ok(compared >= 5);
}));

test('choose says what is wrong with a number', () => visit('choose', async (page) => {
  const right = { n: '1000', fpr: '0.01', grow: '', values: '' };
  for (const [field, value] of [['n', 'many'], ['n', '0'], ['n', ''], ['fpr', '2'], ['fpr', '1e-12'], ['fpr', '0.5'], ['grow', '5'], ['grow', 'x'], ['values', '33'], ['values', '-1']]) {
    await page.fill(`#choose-${field}`, value);
    await page.waitForFunction((name) => document.getElementById(`choose-${name}-wrong`).textContent !== '', field);
    await page.fill(`#choose-${field}`, right[field]);
    await page.waitForFunction((name) => document.getElementById(`choose-${name}-wrong`).textContent === '', field);
  }
}));

for (const family of [...FAMILIES, 'ribbon']) {
  test(`${family}: a file of the command answers the same in the page`, () => visit('use', async (page) => {
    const keys = words(500), absent = words(1500, 'absent');
    const path = join(folder, `page-${family}.nidus`);
    nidus(['build', '-f', family, '-p', '0.02', '-o', path], keys);
    await page.setInputFiles('#use-file', path);
    await page.waitForFunction(() => /is a filter/.test(document.getElementById('use-says').textContent));
    assert.match(await page.textContent('#use-facts'), new RegExp(`family${family}`));
    const found = query(path, [...keys, ...absent]).length;
    await page.locator('#use-questions').evaluate((field, text) => { field.value = text; }, [...keys, ...absent].join('\n'));
    await page.click('#use-ask .primary');
    assert.ok((await page.textContent('#use-sum')).startsWith(`${found.toLocaleString('en')} of 2,000 are probably`));
  }));
}

test('a list of keys becomes a file that the command reads', () => visit('use', async (page) => {
  const keys = words(5000);
  const list = join(folder, 'keys.txt'), path = join(folder, 'downloaded.nidus');
  writeFileSync(list, keys.join('\r\n'));
  await page.setInputFiles('#use-file', list);
  await page.waitForSelector('#use-filter:not([hidden])');
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('#use-download')]);
  assert.equal(download.suggestedFilename(), 'keys.nidus');
  await download.saveAs(path);
  assert.equal(query(path, keys).length, keys.length);
}));

test('a filter with values takes more keys, grows, and tells what belongs to a key', () => visit('use', async (page) => {
  const list = join(folder, 'shards.txt'), path = join(folder, 'shards.nidus');
  writeFileSync(list, words(1000).map((key, i) => `${key}\t${i % 16}`).join('\n'));
  await page.fill('#use-values', '4');
  await page.fill('#use-grow', '100000');
  await page.fill('#use-fpr', '2^-20');
  await page.setInputFiles('#use-file', list);
  await page.waitForSelector('#use-filter:not([hidden])');
  assert.match(await page.textContent('#use-facts'), /grows up to100,000 keys.*values4 bits/);
  await page.fill('#use-questions', 'word 7\nword 999\nnobody');
  await page.click('#use-ask .primary');
  assert.deepEqual(await page.locator('#use-answers li').allTextContents(), ['yes word 7 → 7', 'yes word 999 → 7', 'no nobody']);
  await page.fill('#use-questions', 'nobody\t3\nsomebody');
  await page.click('#use-add');
  assert.match(await page.textContent('#use-sum'), /^1 of 2 keys were added\. “somebody” was not: .*no key, tab and number/);
  const before = await page.textContent('#use-facts');
  await page.click('#use-double');
  assert.match(await page.textContent('#use-sum'), /has room for [\d,]+ keys now/);
  assert.notEqual(await page.textContent('#use-facts'), before);
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('#use-download')]);
  await download.saveAs(path);
  assert.equal(query(path, [...words(1000), 'nobody']).length, 1001);
  await page.fill('#use-values', '2');
  await page.setInputFiles('#use-file', list);
  await page.waitForSelector('#use-says.refused');
  assert.match(await says(page, 'use'), /^shards\.txt: .*4/);
}));

test('a filter takes keys that are new', () => visit('use', async (page) => {
  await page.evaluate(() => { document.querySelector('#use details').open = true; });
  await page.fill('#use-grow', '1000');
  await page.fill('#use-keys', 'heron\ncrane');
  await page.click('#use-paste button');
  await page.fill('#use-questions', 'heron\nstork');
  await page.click('#use-add');
  assert.equal(await page.textContent('#use-sum'), '1 of 2 keys were added; 1 seemed to be in it.');
  await page.click('#use-ask .primary');
  assert.match(await page.textContent('#use-sum'), /^2 of 2 are probably/);
}));

test('the page says what a filter is for, and offers one thing to do first', async () => {
  for (const [part, action] of [['watch', 'Add'], ['choose', undefined], ['use', 'Choose a file']])
    await visit(part, async (page) => {
      assert.ok(await page.isVisible('.purpose'));
      assert.match(await page.textContent('.purpose'), /^A filter answers .*always right/s);
      const primary = await page.locator('.primary:visible').allTextContents();
      assert.deepEqual(primary, action ? [action] : []);
    });
  await visit('use', async (page) => {
    await page.setInputFiles('#use-file', { name: 'birds.txt', mimeType: 'text/plain', buffer: Buffer.from('heron') });
    await page.waitForSelector('#use-filter:not([hidden])');
    assert.deepEqual(await page.locator('.primary:visible').allTextContents(), ['Ask']);
  });
});

test('on a phone the form for keys stands above the table', () => visit('watch', async (page) => {
  const top = (selector) => page.locator(selector).evaluate((element) => element.getBoundingClientRect().top);
  assert.ok(await top('#watch-form') < await top('#watch-stage'));
  assert.ok(await top('#watch-key') < 844, 'the form is on the first screen');
}, { width: 390, height: 844 }));

test('the notices of what is inside are in the page', () => {
  const text = readFileSync(file, 'utf8');
  for (const name of ['LICENSE', 'NOTICE']) assert.ok(text.includes(readFileSync(join(top, name), 'utf8')), name);
});

test('files that are damaged, empty or nonsense are told, and the page goes on', () => visit('use', async (page) => {
  const good = join(folder, 'good.nidus'), bad = join(folder, 'bad.nidus'), empty = join(folder, 'empty.txt');
  nidus(['build', '-o', good], words(100));
  const bytes = readFileSync(good);
  bytes[bytes.length - 1] ^= 0xff;
  bytes[300] ^= 0xff;
  writeFileSync(bad, bytes);
  writeFileSync(empty, '');
  await page.setInputFiles('#use-file', bad);
  await page.waitForSelector('#use-says.refused');
  assert.match(await says(page, 'use'), /^bad\.nidus: .{10}/);
  await page.setInputFiles('#use-file', empty);
  await page.waitForFunction(() => document.getElementById('use-says').textContent.startsWith('empty.txt: '));
  const list = join(folder, 'no-filter.nidus');
  writeFileSync(list, 'heron\ncrane\n');
  await page.setInputFiles('#use-file', list);
  await page.waitForFunction(() => /^no-filter.nidus: /.test(document.getElementById('use-says').textContent));
  await page.fill('#use-fpr', 'nothing');
  await page.evaluate(() => { document.querySelector('#use details').open = true; });
  await page.fill('#use-keys', 'a\nb');
  await page.click('#use-paste button');
  assert.match(await says(page, 'use'), /What rate/);
  await page.setInputFiles('#use-file', good);
  await page.waitForSelector('#use-filter:not([hidden])');
}));

test('the tabs work by keyboard', () => visit('watch', async (page) => {
  await page.focus('#tab-watch');
  await page.keyboard.press('ArrowRight');
  assert.ok(await page.isVisible('#choose'));
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  assert.ok(await page.isVisible('#use'));
  assert.equal(await page.evaluate(() => document.activeElement.id), 'tab-use');
}));

for (const scheme of ['light', 'dark'])
  test(`nothing is in the way of a screen reader or of weak eyes: ${scheme}`, async () => {
    const axe = readFileSync(join(top, 'web/node_modules/axe-core/axe.min.js'), 'utf8');
    for (const part of ['watch', 'choose', 'use'])
      await visit(part, async (page) => {
        await page.evaluate(axe);
        const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
        assert.deepEqual(violations.map(({ id, nodes }) => `${part}: ${id}: ${nodes[0].html}`), []);
      }, { colorScheme: scheme });
  });

test('no part is wider than a small phone', async () => {
  for (const part of ['watch', 'choose', 'use'])
    for (const width of [320, 390, 768, 1280])
      await visit(part, async (page) => {
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(wide <= width, `${part} is ${wide} wide at ${width}`);
      }, { width });
});

for (const [name, [width, height]] of Object.entries(WIDTHS))
  for (const part of ['watch', 'choose', 'use'])
    for (const scheme of ['light', 'dark'])
      test(`a picture of ${part}, ${name}, ${scheme}`, () => visit(part, async (page) => {
        if (part === 'watch') await stepUntil(page, /^Both are full/);
        if (part === 'use') {
          await page.setInputFiles('#use-file', { name: 'birds.txt', mimeType: 'text/plain', buffer: Buffer.from(words(1000, 'bird').join('\n')) });
          await page.fill('#use-questions', 'bird 7\nbird 999\ncat');
          await page.click('#use-ask .primary');
        }
        const path = join(pictures, `${part}-${name}-${scheme}.png`);
        await page.evaluate(() => scrollTo(0, 0)); // or the bar is somewhere in the middle
        await page.screenshot({ path, fullPage: true });
        assert.ok(statSync(path).size > 10000);
      }, { width, height, colorScheme: scheme }));
