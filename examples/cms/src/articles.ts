import { randomUUID } from 'node:crypto';
import type { Database, Row } from './database.js';

/** An article's fields that its author or its page sets. */
export interface Draft {
  /** As returned by `normalUrl`. */
  readonly url: string;
  readonly title: string;
  readonly body: string;
  /** Milliseconds since the epoch. */
  readonly liveUntil: number;
}

export interface Article extends Draft {
  readonly id: number;
  readonly origin: 'upload' | 'crawl';
  readonly version: number;
  readonly takenAt: number;
}

/** An article without its body, as lists show it. */
export type Listed = Omit<Article, 'body'>;

/** A person's upload, and its state. */
export interface Upload {
  readonly id: string;
  readonly url: string;
  /** `seen`: not stored, because the visited set already had its URL. */
  readonly state: 'waiting' | 'taken' | 'seen' | 'invalid';
  readonly article?: number;
}

/** A message to the visited set. It asks to visit an upload's URL, or to forget a URL. */
export interface Message {
  readonly id: number;
  readonly key: string;
  readonly url: string;
  readonly upload?: string;
  /** When the first attempt was made, if there was one. The service may have executed it. */
  readonly firstSentAt?: number;
}

/**
 * `generation` is the generation of the set that contains all articles' URLs. `sync` is the key of a sync that may
 * still be open.
 */
type Note = 'generation' | 'sync';

/** The service refuses longer URLs, and refuses calls that are too large. */
const MOST_URL = 8_192;
const PAGE = 1_000;
const LISTED = 'id, url, title, origin, version, taken_at, live_until';

/**
 * The URL without its fragment, normalised by the platform. Undefined if the text isn't an http or https URL, or is
 * longer than MOST_URL.
 */
export function normalUrl(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  url.hash = '';
  return /^https?:$/.test(url.protocol) && url.href.length <= MOST_URL ? url.href : undefined;
}

/**
 * The articles, and the messages to the visited set. A database and a service can't change in one step. So each change
 * to an article also stores its message, in the same transaction.
 */
export class Articles {
  constructor(private readonly database: Database) {}

  /**
   * Stores an upload and the message that visits its URL. The message survives a crash, and its answer is applied once.
   */
  upload(draft: Draft, force: boolean): Upload {
    const id = randomUUID();
    const { url, title, body, liveUntil } = draft;
    this.database.transaction(() => {
      this.database.run(
        'INSERT INTO uploads (id, url, title, body, live_until, force, uploaded_at) VALUES (?, ?, ?, ?, ?, ?, ?)',
        [id, url, title, body, liveUntil, Number(force), Date.now()],
      );
      this.database.run('INSERT INTO outbox (key, url, upload) VALUES (?, ?, ?)', [id, url, id]);
    });
    return { id, url, state: 'waiting' };
  }

  uploadOf(id: string): Upload | undefined {
    const row = this.database.get('SELECT id, url, state, article FROM uploads WHERE id = ?', [id]);
    if (row === undefined) return undefined;
    const { url, state, article } = row;
    return {
      id,
      url: String(url),
      state: state as Upload['state'],
      ...(article !== null && { article: Number(article) }),
    };
  }

  /**
   * Deletes an article. If the set stores the URL for this article, also stores a message that forgets it. Returns the
   * URL.
   */
  delete(id: number): string | undefined {
    return this.database.transaction(() => {
      const row = this.database.get('SELECT url, counted FROM articles WHERE id = ?', [id]);
      if (row === undefined) return undefined;
      const url = String(row['url']);
      this.database.run('DELETE FROM articles WHERE id = ?', [id]);
      // If the answer was "seen", the set doesn't store the URL for this article. Forgetting it could lose other URLs.
      if (row['counted'] === 1)
        this.database.run('INSERT INTO outbox (key, url) VALUES (?, ?)', [randomUUID(), url]);
      return url;
    });
  }

  /** The next message. Without `uploads`, only messages that forget a URL. */
  nextMessage({ uploads }: { readonly uploads: boolean }): Message | undefined {
    const row = this.database.get(
      `SELECT id, key, url, upload, first_sent_at FROM outbox ${uploads ? '' : 'WHERE upload IS NULL'} ORDER BY id LIMIT 1`,
    );
    if (row === undefined) return undefined;
    const { id, key, url, upload, first_sent_at: firstSentAt } = row;
    return {
      id: Number(id),
      key: String(key),
      url: String(url),
      ...(upload !== null && { upload: String(upload) }),
      ...(firstSentAt !== null && { firstSentAt: Number(firstSentAt) }),
    };
  }

  /** The number of pending messages. */
  waiting(): number {
    return Number(this.database.get('SELECT count(*) AS n FROM outbox')?.['n']);
  }

  sending({ id, firstSentAt }: Message): void {
    if (firstSentAt === undefined)
      this.database.run('UPDATE outbox SET first_sent_at = ? WHERE id = ?', [Date.now(), id]);
  }

  /** Deletes a message whose URL the set has forgotten. */
  forgotten({ id }: Message): void {
    this.database.run('DELETE FROM outbox WHERE id = ?', [id]);
  }

  /**
   * Applies the set's answer after an upload's URL was visited. If `mayBeOwn`, an earlier attempt to send this message
   * may be why the URL is "seen". If the URL is seen, the upload is stored only with `force`, or if its article is
   * stale, because a stale article's URL is seen.
   */
  visited({ id, upload = '' }: Message, answer: 'new' | 'seen' | 'invalid', mayBeOwn: boolean): Upload {
    return this.database.transaction(() => {
      const row = this.database.get('SELECT * FROM uploads WHERE id = ?', [upload]);
      if (row === undefined) throw new Error(`there is no upload ${upload}`);
      const draft = draftOf(row);
      const there = this.byUrl(draft.url);
      const isLive = there !== undefined && there.liveUntil > Date.now();
      const isOwn = answer === 'new' || (answer === 'seen' && mayBeOwn && there === undefined);
      const takes =
        row['force'] === 1
          ? answer !== 'invalid'
          : !isLive && (isOwn || (answer === 'seen' && there !== undefined));
      const article = takes ? this.put(draft, 'upload', isOwn) : there?.id;
      // A live article's URL had expired in the set. The visit has added it again.
      if (!takes && isOwn && article !== undefined) this.told([draft.url]);
      const state = takes ? 'taken' : answer === 'invalid' ? 'invalid' : 'seen';
      this.database.run('UPDATE uploads SET state = ?, article = ? WHERE id = ?', [
        state,
        article ?? null,
        upload,
      ]);
      this.database.run('DELETE FROM outbox WHERE id = ?', [id]);
      return { id: upload, url: draft.url, state, ...(article !== undefined && { article }) };
    });
  }

  /**
   * Stores an article that the crawler has fetched. Repeating the call does no harm. Doesn't replace a person's live
   * upload, or an article whose deletion is pending. Returns the article's id if it was stored.
   */
  collect(draft: Draft): number | undefined {
    return this.database.transaction(() => {
      const { url } = draft;
      const deletion = 'SELECT id FROM outbox WHERE url = ? AND upload IS NULL';
      if (this.database.get(deletion, [url]) !== undefined) return undefined;
      const there = this.byUrl(url);
      if (there?.origin !== 'upload' || there.liveUntil <= Date.now()) return this.put(draft, 'crawl', true);
      this.told([url]);
      return undefined;
    });
  }

  get(id: number): Article | undefined {
    const row = this.database.get(`SELECT ${LISTED}, body FROM articles WHERE id = ?`, [id]);
    return row && { ...listedOf(row), body: String(row['body']) };
  }

  byUrl(url: string): Listed | undefined {
    const row = this.database.get(`SELECT ${LISTED} FROM articles WHERE url = ?`, [url]);
    return row && listedOf(row);
  }

  /**
   * Returns `forgotten` for a stale article whose URL isn't in the set. Otherwise the article would be live, and the
   * crawler would collect it again.
   */
  setLiveUntil(id: number, liveUntil: number): Article | 'forgotten' | undefined {
    const sql = 'UPDATE articles SET live_until = ? WHERE id = ? AND (counted = 1 OR live_until > ?)';
    const changed = this.database.run(sql, [liveUntil, id, Date.now()]);
    const there = this.get(id);
    return there !== undefined && changed === 0 ? 'forgotten' : there;
  }

  /** At most `limit` articles in id order, after the id `after`. */
  list(after: number, limit: number): Listed[] {
    const rows = this.database.all(`SELECT ${LISTED} FROM articles WHERE id > ? ORDER BY id LIMIT ?`, [
      after,
      limit,
    ]);
    return rows.map(listedOf);
  }

  /** The URLs of live articles, read in pages so that other work can run in between. */
  *liveUrls(now: number): Generator<string> {
    yield* this.urls('SELECT id, url FROM articles WHERE live_until > ? AND id > ? ORDER BY id LIMIT ?', [
      now,
    ]);
  }

  /** The URLs for a new set, from all live articles, and from the stale articles that no sync has forgotten. */
  *heldUrls(now: number): Generator<string> {
    yield* this.urls(
      'SELECT id, url FROM articles WHERE (counted = 1 OR live_until > ?) AND id > ? ORDER BY id LIMIT ?',
      [now],
    );
  }

  /** Notes that the set stores these URLs for their articles, because it has returned "new". */
  told(urls: readonly string[]): void {
    for (const url of urls) this.database.run('UPDATE articles SET counted = 1 WHERE url = ?', [url]);
  }

  /** Stale articles whose URLs the set stores for them. */
  *stale(now: number): Generator<Listed> {
    const sql = `SELECT ${LISTED} FROM articles WHERE live_until <= ? AND counted = 1 AND id > ? ORDER BY id LIMIT ?`;
    for (const row of this.pages(sql, [now])) yield listedOf(row);
  }

  /**
   * Notes that a sync has forgotten the URLs of all articles that were stale at `now`. Articles that were renewed since
   * aren't stale.
   */
  staleForgotten(now: number): void {
    this.database.run('UPDATE articles SET counted = 0 WHERE live_until <= ? AND counted = 1', [now]);
  }

  /** A stored note about the visited set. */
  note(name: Note): string | undefined {
    const row = this.database.get('SELECT value FROM notes WHERE name = ?', [name]);
    return row && String(row['value']);
  }

  setNote(name: Note, value: string | undefined): void {
    if (value === undefined) this.database.run('DELETE FROM notes WHERE name = ?', [name]);
    else this.database.run('INSERT OR REPLACE INTO notes (name, value) VALUES (?, ?)', [name, value]);
  }

  /** Stores an article. It replaces an older article with the same URL. Returns its id. */
  private put({ url, title, body, liveUntil }: Draft, origin: Article['origin'], counted: boolean): number {
    const row = this.database.get(
      `INSERT INTO articles (url, title, body, origin, taken_at, live_until, counted) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (url) DO UPDATE SET title = excluded.title, body = excluded.body, origin = excluded.origin,
         taken_at = excluded.taken_at, live_until = excluded.live_until, version = version + 1,
         counted = max(counted, excluded.counted)
       RETURNING id`,
      [url, title, body, origin, Date.now(), liveUntil, Number(counted)],
    );
    return Number(row?.['id']);
  }

  private *urls(sql: string, values: readonly number[]): Generator<string> {
    for (const { url } of this.pages(sql, values)) yield String(url);
  }

  /** All rows of a paged statement. Its last two values are the id before the page, and the page size. */
  private *pages(sql: string, values: readonly number[]): Generator<Row> {
    let after = 0;
    for (;;) {
      const rows = this.database.all(sql, [...values, after, PAGE]);
      yield* rows;
      const last = rows.at(-1);
      if (rows.length < PAGE || last === undefined) return;
      after = Number(last['id']);
    }
  }
}

function draftOf(row: Row): Draft {
  const { url, title, body, live_until: liveUntil } = row;
  return { url: String(url), title: String(title), body: String(body), liveUntil: Number(liveUntil) };
}

function listedOf(row: Row): Listed {
  return {
    id: Number(row['id']),
    url: String(row['url']),
    title: String(row['title']),
    origin: row['origin'] as Article['origin'],
    version: Number(row['version']),
    takenAt: Number(row['taken_at']),
    liveUntil: Number(row['live_until']),
  };
}
