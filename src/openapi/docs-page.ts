import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { Asset } from '../assets/asset.js';

/** The Swagger UI package's files, by the names under which they are served. */
const ASSETS: ReadonlyMap<string, string> = new Map([
  ['swagger-ui.css', 'text/css'],
  ['swagger-ui-bundle.js', 'text/javascript'],
  ['favicon-32x32.png', 'image/png'],
]);

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <title>Unseen: API</title>
    <link rel="icon" type="image/png" href="docs/favicon-32x32.png" />
    <link rel="stylesheet" href="docs/swagger-ui.css" />
  </head>
  <body>
    <div id="api"></div>
    <script src="docs/swagger-ui-bundle.js"></script>
    <script src="docs/start.js"></script>
  </body>
</html>
`;

// Without `validatorUrl: null`, the page would send the document's URL to a public service.
const START = `SwaggerUIBundle({ url: 'openapi.json', dom_id: '#api', deepLinking: true, validatorUrl: null });\n`;

/** This policy also tells the browser to load nothing from other hosts. Swagger UI needs inline styles. */
const POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'";

/** Serves `/docs`: the API description for people, without files from other hosts. */
export function serveDocsPage(server: FastifyInstance): void {
  const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  // The API description contains no callers' data, and people read it before they have a key.
  const open = { config: { access: 'public', sharedAnswer: true } } as const;
  server.get('/docs', open, (_, reply) =>
    reply.header('content-security-policy', POLICY).type('text/html').send(PAGE),
  );
  server.get('/docs/', open, (_, reply) => reply.redirect('../docs'));
  server.get('/docs/start.js', open, (_, reply) => reply.type('text/javascript').send(START));
  for (const [name, type] of ASSETS) {
    const asset = new Asset(join(folder, name));
    server.get(`/docs/${name}`, open, async (request, reply) => {
      const { bytes, tag } = await asset.read();
      void reply.header('etag', tag).header('cache-control', 'no-cache');
      if (request.headers['if-none-match'] === tag) return reply.code(304).send();
      return reply.type(type).send(bytes);
    });
  }
}
