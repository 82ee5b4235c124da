import { randomUUID } from 'node:crypto';
import type { Database, Row } from './database.js';

/** What an article is made of. */
export interface Draft {
  /** As `normalUrl` has it. */
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

/** An article of which only what a list needs is there. */
export type Listed = Omit<Article, 'body'>;

/** What a person has sent, and what became of it. */
export interface Upload {
  readonly id: string;
  readonly url: string;
  /** `seen`: not taken in, since the visited set had its URL. */
  readonly state: 'waiting' | 'taken' | 'seen' | 'invalid';
  readonly article?: number;
}

/** Something to tell the visited set: an upload to be visited, or a URL to be forgotten. */
export interface Message {
  readonly id: number;
  readonly key: string;
  readonly url: string;
  readonly upload?: string;
  /** When it was first sent, as far as is known: it may have been done then. */
  readonly firstSentAt?: number;
}

/** `generation`: the one that was told of all articles. `sync`: the key of a sync that is not known to be over. */
type Note = 'generation' | 'sync';

/** The service takes no longer ones, and no call at all that is too long. */
const MOST_URL = 8_192;
const PAGE = 1_000;
const LISTED = 'id, url, title, origin, version, taken_at, live_until';

/** The URL without its fragment, as the platform writes it. Undefined for what is no http or https URL, or longer than MOST_URL. */
export function normalUrl(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  url.hash = '';
  return /^https?:$/.test(url.protocol) && url.href.length <= MOST_URL ? url.href : undefined;
}

/**
 * The articles, and beside them, in the same transactions, what the visited set is to be told: a database and a service cannot
 * change in one step, so the database says first what will be done.
 */
export class Articles {
  constructor(private readonly database: Database) {}

  /** Writes down that a URL is about to be visited. Whatever dies then, the visit is sent, and its answer acted on once. */
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

  /** Takes an article away, and has its URL forgotten if it is there for it. Answers its URL. */
  delete(id: number): string | undefined {
    return this.database.transaction(() => {
      const row = this.database.get('SELECT url, counted FROM articles WHERE id = ?', [id]);
      if (row === undefined) return undefined;
      const url = String(row['url']);
      this.database.run('DELETE FROM articles WHERE id = ?', [id]);
      // What was answered "seen" is not held for this article: to forget it would take counts from others.
      if (row['counted'] === 1)
        this.database.run('INSERT INTO outbox (key, url) VALUES (?, ?)', [randomUUID(), url]);
      return url;
    });
  }

  /** What is to be told next, uploads or only what is to be forgotten. */
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

  /** How many messages wait. */
  waiting(): number {
    return Number(this.database.get('SELECT count(*) AS n FROM outbox')?.['n']);
  }

  sending({ id, firstSentAt }: Message): void {
    if (firstSentAt === undefined)
      this.database.run('UPDATE outbox SET first_sent_at = ? WHERE id = ?', [Date.now(), id]);
  }

  /** The set has been told to forget a URL. */
  forgotten({ id }: Message): void {
    this.database.run('DELETE FROM outbox WHERE id = ?', [id]);
  }

  /**
   * The set has answered the visit of an upload. `mayBeOwn`: "seen" may be the answer to what this very message has done. What is
   * seen is taken in if it is to be whatever the set says, or if its article is stale: that is why it is seen.
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
      // The URL of a live article had expired in the set, and is there again.
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
   * Takes in what the crawler has fetched. Doing so again does no harm. What a person has brought is theirs while it is live, and what
   * is still to be forgotten has been deleted. Answers the article's id if it was taken in.
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

  /** Answers `forgotten` for a stale one whose URL the set does not hold: it would be live, and be collected all the same. */
  setLiveUntil(id: number, liveUntil: number): Article | 'forgotten' | undefined {
    const sql = 'UPDATE articles SET live_until = ? WHERE id = ? AND (counted = 1 OR live_until > ?)';
    const changed = this.database.run(sql, [liveUntil, id, Date.now()]);
    const there = this.get(id);
    return there !== undefined && changed === 0 ? 'forgotten' : there;
  }

  /** Articles by id, those after `after`, at most `limit`. */
  list(after: number, limit: number): Listed[] {
    const rows = this.database.all(`SELECT ${LISTED} FROM articles WHERE id > ? ORDER BY id LIMIT ?`, [
      after,
      limit,
    ]);
    return rows.map(listedOf);
  }

  /** The URLs that are live. They are read in pages while other things happen. */
  *liveUrls(now: number): Generator<string> {
    yield* this.urls('SELECT id, url FROM articles WHERE live_until > ? AND id > ? ORDER BY id LIMIT ?', [
      now,
    ]);
  }

  /** What a set that is new is to be told: what is live, and what is stale and no sync has forgotten. */
  *heldUrls(now: number): Generator<string> {
    yield* this.urls(
      'SELECT id, url FROM articles WHERE (counted = 1 OR live_until > ?) AND id > ? ORDER BY id LIMIT ?',
      [now],
    );
  }

  /** The set has answered "new" for these URLs, and holds them for their articles. */
  told(urls: readonly string[]): void {
    for (const url of urls) this.database.run('UPDATE articles SET counted = 1 WHERE url = ?', [url]);
  }

  /** Articles that are stale, and whose URLs the set still holds for them. */
  *stale(now: number): Generator<Listed> {
    const sql = `SELECT ${LISTED} FROM articles WHERE live_until <= ? AND counted = 1 AND id > ? ORDER BY id LIMIT ?`;
    for (const row of this.pages(sql, [now])) yield listedOf(row);
  }

  /** A sync has forgotten the URLs of all that was stale then. What has been renewed since is no longer stale. */
  staleForgotten(now: number): void {
    this.database.run('UPDATE articles SET counted = 0 WHERE live_until <= ? AND counted = 1', [now]);
  }

  /** What was noted of the visited set. */
  note(name: Note): string | undefined {
    const row = this.database.get('SELECT value FROM notes WHERE name = ?', [name]);
    return row && String(row['value']);
  }

  setNote(name: Note, value: string | undefined): void {
    if (value === undefined) this.database.run('DELETE FROM notes WHERE name = ?', [name]);
    else this.database.run('INSERT OR REPLACE INTO notes (name, value) VALUES (?, ?)', [name, value]);
  }

  /** A later article of a URL replaces the one before. Answers its id. */
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

  /** Rows of a statement whose last two values are the id after which a page begins, and how many it has. */
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
