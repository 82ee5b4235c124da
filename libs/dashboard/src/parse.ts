/** Parses numbers that people type. */

const MULTIPLES: Readonly<Record<string, number>> = {
  k: 1e3,
  thousand: 1e3,
  m: 1e6,
  million: 1e6,
  g: 1e9,
  b: 1e9,
  billion: 1e9,
};

/** A whole number: 1000000, 1,000,000, 1e6, 1M, 2.5 million. NaN if the text is not a number. */
export function count(text: string): number {
  const [, digits = '', word = ''] = /^\s*([\d.,_' ]+(?:e\+?\d+)?)\s*([a-z]*)\s*$/i.exec(text) ?? [];
  const multiple = word === '' ? 1 : (MULTIPLES[word.toLowerCase()] ?? NaN);
  const value = digits.trim() === '' ? NaN : Number(digits.replace(/[,_' ]/g, '')) * multiple;
  const rounded = Math.round(value);
  return Math.abs(value - rounded) < 1e-6 ? rounded : NaN;
}

/** A share: 0.0001, 1e-4, 0.01 %, 1 in 10,000, 1/10000. NaN if the text is not a share. */
export function share(text: string): number {
  const [, one] = /^\s*1\s*(?:in|\/|:)\s*(.+)$/i.exec(text) ?? [];
  const [, digits = '', percent] = /^\s*([\d.]+(?:e[+-]?\d+)?)\s*(%?)\s*$/i.exec(text) ?? [];
  const value = one === undefined ? Number(digits || NaN) / (percent === '%' ? 100 : 1) : 1 / count(one);
  return Number.isFinite(value) ? Number(value.toPrecision(12)) : NaN;
}
