import { createHash, randomBytes } from 'node:crypto';

const ID_BYTES = 8;
const SECRET_BYTES = 32;

/** 43 base64url characters are 32 bytes. */
const KEY = /^unseen_([0-9a-f]{16})_([A-Za-z0-9_-]{43})$/;

/** The parts of an API key. Only its owner has the text with the secret. */
export interface KeyText {
  /** 16 hex digits. Not secret. */
  readonly id: string;
  readonly secret: string;
}

/** Prefix of all keys, so that people and scanners recognise a leaked one. */
export const KEY_BEGIN = 'unseen_';

/** A new key: a random id and 256 random bits. */
export function makeKeyText(): KeyText {
  return {
    id: randomBytes(ID_BYTES).toString('hex'),
    secret: randomBytes(SECRET_BYTES).toString('base64url'),
  };
}

/** The key as its owner sends it: `unseen_<id>_<secret>`. */
export function formatKey({ id, secret }: KeyText): string {
  return `${KEY_BEGIN}${id}_${secret}`;
}

/** Undefined if the text is not a valid key. */
export function parseKey(text: string): KeyText | undefined {
  const [, id, secret] = KEY.exec(text) ?? [];
  return id === undefined || secret === undefined ? undefined : { id, secret };
}

/**
 * SHA-256 of a secret's text, which the service stores instead of the secret. A slow hash would protect weak secrets,
 * but these have 256 bits.
 */
export function digestSecret(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
