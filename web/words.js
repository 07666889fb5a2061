// SPDX-License-Identifier: MIT
//
// words: numbers as people read them.

export const percent = (share) => `${(share * 100).toLocaleString('en', { maximumFractionDigits: share < 0.0995 ? 2 : 1 })} %`;

export const bits = (number) => `${number.toFixed(2)} bits`;

/** A rate: as a percentage while that is readable, then as one in so many. */
export function rate(share) {
  if (share === 0) return '0';
  return share >= 0.001 ? percent(share) : `1 in ${Math.round(1 / share).toLocaleString('en')}`;
}

/** Bytes, in the words of the command. */
export function size(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let unit = 0;
  for (; bytes >= 1023.5 && unit < units.length - 1; unit++) bytes /= 1024;
  return `${unit > 0 ? bytes.toFixed(bytes < 9.995 ? 2 : bytes < 99.95 ? 1 : 0) : bytes} ${units[unit]}`;
}

export const count = (number) => number.toLocaleString('en');

/** A number that people write: 1000000, 1e6, 10M, 2^20. NaN if it is none. */
export function parseCount(text) {
  const plain = text.trim().replace(/[,_\s]/g, '');
  const power = plain.match(/^(\d+)\^(-?\d+)$/);
  if (power) return Number(power[1]) ** Number(power[2]);
  const units = { k: 1e3, m: 1e6, g: 1e9, t: 1e12 };
  const unit = units[plain.slice(-1).toLowerCase()];
  return plain === '' ? NaN : unit ? Number(plain.slice(0, -1)) * unit : Number(plain);
}

/** The rates that filters are made for. */
export const isRate = (share) => share >= 2 ** -32 && share <= 2 ** -4;

/** A rate that people write: 0.001, 0.1%, 1/1000, 2^-10. */
export function parseRate(text) {
  const plain = text.trim();
  if (/^[\d.]+\s*%$/.test(plain)) return parseFloat(plain) / 100;
  const parts = plain.match(/^([\d.e]+)\s*(?:\/|in)\s*([\d.e,]+)$/i);
  return parts ? Number(parts[1]) / parseCount(parts[2]) : parseCount(plain);
}
