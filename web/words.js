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

export function size(bytes) {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  let unit = 0;
  for (; bytes >= 1000 && unit < units.length - 1; unit++) bytes /= 1000;
  return `${bytes.toLocaleString('en', { maximumFractionDigits: bytes < 10 && unit > 0 ? 2 : bytes < 100 && unit > 0 ? 1 : 0 })} ${units[unit]}`;
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

/** A rate that people write: 0.001, 0.1%, 1/1000, 2^-10. */
export function parseRate(text) {
  const plain = text.trim();
  if (/^[\d.]+\s*%$/.test(plain)) return parseFloat(plain) / 100;
  const parts = plain.match(/^([\d.e]+)\s*(?:\/|in)\s*([\d.e,]+)$/i);
  return parts ? Number(parts[1]) / parseCount(parts[2]) : parseCount(plain);
}
