import { readFileSync } from 'node:fs';
import { show } from '../errors/show.js';

/** An invalid setting. The message names the variable, its value and the allowed values. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Typed access to the environment. Errors say how to correct a setting. */
export class SettingReader {
  constructor(private readonly env: Environment) {}

  text<T extends string | undefined>(name: string, fallback: T): string | T {
    const value = this.env[name]?.trim();
    return value === undefined || value === '' ? fallback : value;
  }

  whole(name: string, fallback: number, min: number, max: number): number {
    const value = this.text(name, undefined);
    if (value === undefined) return fallback;
    const number = /^\d+$/.test(value) ? Number(value) : NaN;
    if (number >= min && number <= max) return number;
    throw new ConfigError(`${name} is ${show(value)}; it must be a whole number from ${min} to ${max}`);
  }

  optionalWhole(name: string, min: number, max: number): number | undefined {
    return this.text(name, undefined) === undefined ? undefined : this.whole(name, min, min, max);
  }

  /** A number from 0 to 1, in plain decimal notation. */
  share(name: string, fallback: number): number {
    const value = this.text(name, undefined);
    if (value === undefined) return fallback;
    const number = /^\d+(\.\d+)?$/.test(value) ? Number(value) : NaN;
    if (number <= 1) return number;
    throw new ConfigError(`${name} is ${show(value)}; it must be a number from 0 to 1, such as 0.5`);
  }

  oneOf<T extends string, F extends T | undefined>(name: string, allowed: readonly T[], fallback: F): T | F {
    const value = this.text(name, undefined);
    if (value === undefined) return fallback;
    const found = allowed.find((candidate) => candidate === value);
    if (found !== undefined) return found;
    throw new ConfigError(`${name} is ${show(value)}; it must be one of ${allowed.join(', ')}`);
  }

  list(name: string, entry: RegExp, allowed: string): string[] {
    const value = this.text(name, undefined);
    if (value === undefined) return [];
    const entries = value.split(',').map((part) => part.trim());
    if (entries.every((part) => entry.test(part))) return entries;
    throw new ConfigError(`${name} is ${show(value)}; it must be ${allowed}`);
  }

  /** Reads a Redis URL. The error doesn't show the value, because it may contain a password. */
  url(name: string): string | undefined {
    const value = this.text(name, undefined);
    if (value === undefined || isRedisUrl(value)) return value;
    throw new ConfigError(
      `${name} is not a Redis URL (its value is not shown); ` +
        'it must be redis://[user:password@]host[:port][/db], with a number as db',
    );
  }

  /** The text of the PEM file that a setting names. */
  pemFile(name: string): string | undefined {
    const path = this.text(name, undefined);
    if (path === undefined) return undefined;
    let text: string;
    try {
      text = readFileSync(path, 'utf8');
    } catch (error) {
      const reason = (error as NodeJS.ErrnoException).code ?? String(error);
      throw new ConfigError(
        `${name} is ${JSON.stringify(path)}, which cannot be read (${reason}); it must be a PEM file`,
      );
    }
    if (text.includes('-----BEGIN ')) return text;
    throw new ConfigError(
      `${name} is ${JSON.stringify(path)}, which has no PEM block; it must be a PEM file`,
    );
  }

  /** Refuses a setting that would have no effect, because an operator who changes it expects one. */
  refuseWithout(name: string, needed: string, fallback?: string): void {
    if (this.text(name, fallback) === fallback) return;
    throw new ConfigError(`${name} is set, but has no effect without ${needed}`);
  }
}

/**
 * True if a URL has a host, and valid percent escapes in user and password. A query is not allowed, because the Redis
 * client would read options from it.
 */
function isRedisUrl(text: string): boolean {
  if (!/^rediss?:\/\/[^?#]+$/.test(text)) return false;
  try {
    const { username, password, hostname, pathname } = new URL(text);
    decodeURIComponent(username + password);
    return hostname !== '' && /^\/?\d*$/.test(pathname);
  } catch {
    return false;
  }
}
