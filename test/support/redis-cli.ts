import { which } from '../../scripts/find-redis.mjs';

/** The command line of Redis or Valkey. Every package of a server includes it. */
export function cliProgram(): string {
  const program = which('redis-cli') ?? which('valkey-cli');
  if (program === undefined) throw new Error('the PATH has no redis-cli and no valkey-cli');
  return program;
}
