import { readFileSync } from 'node:fs';

const PASSWORD = 'a-password';

/** A user with exactly the permissions in docs/operations.md. */
export interface LimitedUser {
  readonly username: string;
  readonly password: string;
  /** Server arguments that create the user. The default user keeps all permissions, for the tests. */
  readonly args: readonly string[];
}

/**
 * Reads the permissions from docs/operations.md.
 *
 * @param without a permission to leave out, spelled as in the document
 */
export function limitedUser(without?: string): LimitedUser {
  const text = readFileSync('docs/operations.md', 'utf8');
  const [rule] = /^ {4}user unseen .*\n(?: {6}.*\n)*/m.exec(text) ?? [];
  const words = rule?.trim().split(/\s+/) ?? [];
  const username = words[1];
  if (username === undefined || !words.includes(`>${PASSWORD}`))
    throw new Error('the document has no such user');
  if (without !== undefined && !words.includes(without)) throw new Error(`the user has no right ${without}`);
  return {
    username,
    password: PASSWORD,
    args: ['--user', ...words.slice(1).filter((word) => word !== without)],
  };
}
