// SPDX-License-Identifier: MIT
//
// main: starts the page: the library first, then its three parts.
import { load, version } from './library.js';
import { choose } from './choose.js';
import { use } from './use.js';
import { watch } from './watch.js';

const NAMES = ['watch', 'choose', 'use'];

function tabs(parts) {
  const tabOf = (name) => document.getElementById(`tab-${name}`);
  const open = (name, focus = false) => {
    for (const other of NAMES) {
      const here = other === name;
      document.getElementById(other).hidden = !here;
      tabOf(other).setAttribute('aria-selected', String(here));
      tabOf(other).tabIndex = here ? 0 : -1;
    }
    if (name !== 'watch') parts.watch.stop();
    if (focus) tabOf(name).focus();
  };
  const fromAddress = () => (NAMES.includes(location.hash.slice(1)) ? location.hash.slice(1) : 'watch');
  for (const name of NAMES) {
    tabOf(name).addEventListener('click', () => {
      history.replaceState(null, '', `#${name}`);
      open(name);
    });
    tabOf(name).addEventListener('keydown', (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (by) open(NAMES[(NAMES.indexOf(name) + by + NAMES.length) % NAMES.length], true);
    });
  }
  addEventListener('hashchange', () => open(fromAddress()));
  open(fromAddress());
}

/** Light, dark, or what the system says. */
function theme() {
  const button = document.getElementById('theme');
  button.addEventListener('click', () => {
    const dark = document.documentElement.dataset.theme
      ? document.documentElement.dataset.theme === 'dark'
      : matchMedia('(prefers-color-scheme: dark)').matches;
    document.documentElement.dataset.theme = dark ? 'light' : 'dark';
    document.dispatchEvent(new Event('nidus-theme'));
  });
}

async function start() {
  try {
    await load();
  } catch (error) {
    document.getElementById('starting').textContent = `This browser could not start the library: ${error.message}`;
    return;
  }
  document.getElementById('starting').hidden = true;
  document.getElementById('version').textContent = version;
  theme();
  const parts = { watch: watch(document.getElementById('watch')) };
  tabs(parts);
  choose(document.getElementById('choose'));
  use(document.getElementById('use'));
  document.documentElement.dataset.ready = 'true';
}

start();
