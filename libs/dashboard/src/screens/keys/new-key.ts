import type { CreateKey } from '#client';
import { count } from '../../parse.js';
import type { Scope } from '../../session.js';

/** The contents of the form, as typed. */
export interface KeyForm {
  readonly name: string;
  readonly scope: Scope;
  readonly prefix: string;
  readonly maxFilters: string;
  /** With a unit, such as 500 MB. */
  readonly maxBytes: string;
  /** In days. '' means never, 'at' means at `endsAt`. */
  readonly ends: string;
  /** The value of a datetime field: local time without a time zone. */
  readonly endsAt: string;
}

/** The initial form: a key that can read all names and never expires. */
export const EMPTY_KEY: KeyForm = {
  name: '',
  scope: 'read',
  prefix: '',
  maxFilters: '',
  maxBytes: '',
  ends: '',
  endsAt: '',
};

const BYTES: Readonly<Record<string, number>> = { '': 1, K: 1e3, M: 1e6, G: 1e9, T: 1e12 };
const DAY_MS = 86_400_000;

/** 500 MB, 1.5G, 1,000,000. NaN if the text is not a size. */
export function byteCount(text: string): number {
  const [, digits, unit = ''] = /^\s*([\d.,]+)\s*([kmgt]?)i?b?(?:ytes)?\s*$/i.exec(text) ?? [];
  if (digits === undefined) return NaN;
  const value = Math.round(Number(digits.replace(/,/g, '')) * (BYTES[unit.toUpperCase()] ?? NaN));
  return value >= 1 && Number.isFinite(value) ? value : NaN;
}

/** Faults in form members. */
export type KeyFaults = Readonly<Partial<Record<keyof KeyForm, string>>>;

/** Faults that the page can find itself. The service finds all other faults. */
export function faultsOfKey(form: KeyForm): KeyFaults {
  const { name, prefix, maxFilters, maxBytes, ends, endsAt } = form;
  const faults: { -readonly [K in keyof KeyFaults]: string } = {};
  if (!/^[!-~]([ -~]{0,62}[!-~])?$/.test(name)) faults.name = 'Enter 1 to 64 printable ASCII characters';
  if (prefix !== '' && !/^[A-Za-z0-9][A-Za-z0-9._:-]{0,30}[._:-]$/.test(prefix))
    faults.prefix =
      'Use A-Z, a-z, 0-9, “.”, “_”, “:” and “-”, and end with “.”, “_”, “:” or “-”, as in acme-';
  if (prefix !== '' && maxFilters.trim() !== '' && !(count(maxFilters) >= 1))
    faults.maxFilters = 'Enter a whole number, or leave the field empty';
  if (prefix !== '' && maxBytes.trim() !== '' && Number.isNaN(byteCount(maxBytes)))
    faults.maxBytes = 'Enter a size such as 500 MB, or leave the field empty';
  if (ends === 'at' && !(Date.parse(endsAt) > Date.now())) faults.endsAt = 'Enter a time in the future';
  return faults;
}

/** The key to create. Call it only if the form has no faults. */
export function keyOf(form: KeyForm): CreateKey {
  const { name, scope, prefix, maxFilters, maxBytes, ends, endsAt } = form;
  const end = ends === 'at' ? Date.parse(endsAt) : Date.now() + Number(ends) * DAY_MS;
  return {
    name,
    scopes: [scope],
    ...(prefix !== '' && {
      prefix,
      ...(maxFilters.trim() !== '' && { maxFilters: count(maxFilters) }),
      ...(maxBytes.trim() !== '' && { maxBytes: byteCount(maxBytes) }),
    }),
    ...(ends !== '' && { expiresAt: new Date(end).toISOString() }),
  };
}
