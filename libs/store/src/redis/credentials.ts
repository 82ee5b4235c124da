import { deadlineIn } from '../clock.js';
import type { Credential, Credentials } from '../port/index.js';
import type { Catalogue } from './catalogue/catalogue.js';
import type { Connection } from './connection/connection.js';
import { CATALOGUE } from './layout/keys.js';
import type { Script } from './scripts/script.js';

/**
 * Sets a field of a hash if it exists. KEYS: 1 the hash. ARGV: 1 field, 2 value. Returns 1, or 0 if it does not exist.
 */
const replaceScript: Script = {
  name: 'unseenReplaceCredential',
  numberOfKeys: 1,
  lua: `
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 1`,
};

/**
 * Credentials in one hash. Each change is one step on one key, and safe to repeat. New credentials and lists are refused
 * if Redis has data in another key layout.
 */
export class RedisCredentials implements Credentials {
  constructor(
    private readonly connection: Connection,
    private readonly catalogue: Catalogue,
    private readonly timeoutMs: number,
  ) {}

  async put({ id, value }: Credential): Promise<void> {
    await this.assertLayout();
    await this.connection.write('hset', CATALOGUE.credentials, [id, value], this.deadline);
  }

  async replace({ id, value }: Credential): Promise<boolean> {
    const keys = [CATALOGUE.credentials];
    return (await this.connection.mutate(replaceScript, keys, [id, value], this.deadline)) === 1;
  }

  async list(): Promise<Credential[]> {
    await this.assertLayout();
    const { client } = this.connection;
    const found = await this.connection.repeat(() => client.hgetall(CATALOGUE.credentials), this.deadline);
    return Object.entries(found)
      .map(([id, value]) => ({ id, value }))
      .sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  async delete(id: string): Promise<boolean> {
    const { client } = this.connection;
    // Read first: if the reply to the deletion is lost, its repeat would report that the credential did not exist.
    const known = await this.connection.repeat(
      () => client.hexists(CATALOGUE.credentials, id),
      this.deadline,
    );
    await this.connection.write('hdel', CATALOGUE.credentials, [id], this.deadline);
    return known === 1;
  }

  private async assertLayout(): Promise<void> {
    const fault = await this.catalogue.layoutFault();
    if (fault) throw fault;
  }

  private get deadline(): number {
    return deadlineIn(this.timeoutMs);
  }
}
