import type { Credential, Credentials } from '../../port/index.js';
import type { Engine } from '../engine/engine.js';

/** Keeps credentials in memory and in a table. */
export class EmbeddedCredentials implements Credentials {
  constructor(private readonly engine: Engine) {}

  async put({ id, value }: Credential): Promise<void> {
    await this.engine.mutate(
      ({ memory, database }) => {
        database.credentials.putSync(Buffer.from(id), Buffer.from(value));
        memory.credentials.set(id, value);
      },
      { grows: true },
    );
  }

  async replace({ id, value }: Credential): Promise<boolean> {
    return this.engine.mutate(
      ({ memory, database }) => {
        if (!memory.credentials.has(id)) return false;
        database.credentials.putSync(Buffer.from(id), Buffer.from(value));
        memory.credentials.set(id, value);
        return true;
      },
      { grows: true },
    );
  }

  async list(): Promise<Credential[]> {
    return this.engine.read((memory) =>
      [...memory.credentials].map(([id, value]) => ({ id, value })).sort((a, b) => (a.id < b.id ? -1 : 1)),
    );
  }

  async delete(id: string): Promise<boolean> {
    return this.engine.mutate(({ memory, database }) => {
      database.credentials.removeSync(Buffer.from(id));
      return memory.credentials.delete(id);
    });
  }
}
