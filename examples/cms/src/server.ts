import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import fastify, { type FastifyInstance } from 'fastify';
import { UnseenError } from 'unseen-client';
import { normalUrl, type Listed } from './articles.js';
import type { Cms } from './cms.js';

const PUBLIC = join(import.meta.dirname, '..', 'public');
const PAGE = [
  ['/', 'index.html', 'text/html'],
  ['/page.css', 'page.css', 'text/css'],
  ['/page.js', 'page.js', 'text/javascript'],
] as const;
const MOST_BYTES = 2_000_000;
const OWN_HOST = /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/;
const ID = { type: 'object', properties: { id: { type: 'integer', minimum: 1 } } } as const;
const TIME = { type: 'string', format: 'date-time' } as const;

const UPLOAD = {
  type: 'object',
  required: ['url', 'title', 'body'],
  additionalProperties: false,
  properties: {
    url: { type: 'string', maxLength: 8_000 },
    title: { type: 'string', minLength: 1, maxLength: 1_000 },
    body: { type: 'string' },
    liveUntil: TIME,
    force: { type: 'boolean' },
  },
} as const;

interface UploadBody {
  readonly url: string;
  readonly title: string;
  readonly body: string;
  readonly liveUntil?: string;
  readonly force?: boolean;
}

interface IdParams {
  readonly id: number;
}

/** The CMS's HTTP server. `liveMs` is how long an article is live if its upload doesn't set `liveUntil`. */
export function createServer(cms: Cms, liveMs: number): FastifyInstance {
  const server = fastify({ bodyLimit: MOST_BYTES, ajv: { customOptions: { removeAdditional: false } } });
  // Other web pages could make a browser send requests to this machine, and no login would stop them.
  server.addHook('onRequest', async ({ headers: { host = '', origin } }, reply) => {
    if (OWN_HOST.test(host) && (origin === undefined || origin === `http://${host}`)) return;
    await reply.code(403).send({ error: 'the CMS refuses requests from other web pages' });
  });
  server.setErrorHandler(async (error: Error & { statusCode?: number }, _, reply) => {
    const status = error instanceof UnseenError ? 503 : (error.statusCode ?? 500);
    await reply.code(status).send({ error: error.message });
  });

  for (const [path, file, type] of PAGE)
    server.get(path, async (_, reply) => reply.type(type).send(await readFile(join(PUBLIC, file), 'utf8')));

  server.get<{ Querystring: { after: number; limit: number } }>(
    '/articles',
    {
      schema: {
        querystring: {
          type: 'object',
          properties: {
            after: { type: 'integer', minimum: 0, default: 0 },
            limit: { type: 'integer', minimum: 1, maximum: 1_000, default: 100 },
          },
        },
      },
    },
    async ({ query: { after, limit } }) => ({
      articles: cms.articles.list(after, limit).map(view),
      outbox: cms.articles.waiting(),
    }),
  );

  server.post<{ Body: UploadBody }>('/articles', { schema: { body: UPLOAD } }, async ({ body }, reply) => {
    const url = normalUrl(body.url);
    if (url === undefined) return reply.code(400).send({ error: `not an http or https URL: ${body.url}` });
    const liveUntil = body.liveUntil === undefined ? Date.now() + liveMs : Date.parse(body.liveUntil);
    if (Number.isNaN(liveUntil)) return reply.code(400).send({ error: `not a time: ${body.liveUntil}` });
    const draft = { url, title: body.title, body: body.body, liveUntil };
    const upload = await cms.upload(draft, body.force === true);
    switch (upload.state) {
      case 'taken':
        return reply.code(201).send(upload);
      case 'waiting':
        return reply.code(202).send(upload);
      case 'invalid':
        return reply.code(400).send({ ...upload, error: 'Unseen does not accept this URL' });
      case 'seen':
        return reply.code(409).send({
          ...upload,
          error:
            upload.article === undefined
              ? 'The URL was seen: the crawler is collecting it, or it is stored under another spelling, or the set wrongly reports it as seen, as it does for 1 in 10,000 new URLs. Send "force": true to store it anyway.'
              : `Article ${upload.article} already has this URL`,
        });
    }
  });

  server.get<{ Params: { id: string } }>('/uploads/:id', async ({ params: { id } }, reply) => {
    return cms.articles.uploadOf(id) ?? reply.code(404).send({ error: `there is no upload ${id}` });
  });

  server.get<{ Params: IdParams }>(
    '/articles/:id',
    { schema: { params: ID } },
    async ({ params: { id } }, reply) => {
      const article = cms.articles.get(id);
      return article === undefined ? reply.code(404).send(noArticle(id)) : view(article);
    },
  );

  server.patch<{ Params: IdParams; Body: { liveUntil: string } }>(
    '/articles/:id',
    {
      schema: {
        params: ID,
        body: {
          type: 'object',
          required: ['liveUntil'],
          additionalProperties: false,
          properties: { liveUntil: TIME },
        },
      },
    },
    async ({ params: { id }, body }, reply) => {
      const liveUntil = Date.parse(body.liveUntil);
      if (Number.isNaN(liveUntil)) return reply.code(400).send({ error: `not a time: ${body.liveUntil}` });
      const article = cms.articles.setLiveUntil(id, liveUntil);
      if (article === undefined) return reply.code(404).send(noArticle(id));
      if (article !== 'forgotten') return view(article);
      return reply
        .code(409)
        .send({ error: `article ${id} is stale and its URL was forgotten: upload it again` });
    },
  );

  server.delete<{ Params: IdParams }>(
    '/articles/:id',
    { schema: { params: ID } },
    async ({ params: { id } }, reply) =>
      cms.delete(id) ? reply.code(204).send() : reply.code(404).send(noArticle(id)),
  );

  server.post('/collect', () => cms.look());

  server.post('/sync/preview', () => cms.preview());

  server.post<{ Querystring: { force?: boolean } }>(
    '/sync',
    { schema: { querystring: { type: 'object', properties: { force: { type: 'boolean' } } } } },
    async ({ query: { force = false } }, reply) => {
      const report = await cms.sync(force);
      return reply.code(report.done ? 200 : 409).send(report);
    },
  );

  return server;
}

/** Formats times as ISO 8601. */
function view<T extends Listed>(
  article: T,
): Omit<T, 'takenAt' | 'liveUntil'> & Record<'takenAt' | 'liveUntil', string> {
  const { takenAt, liveUntil } = article;
  return {
    ...article,
    takenAt: new Date(takenAt).toISOString(),
    liveUntil: new Date(liveUntil).toISOString(),
  };
}

function noArticle(id: number): { error: string } {
  return { error: `there is no article ${id}` };
}
