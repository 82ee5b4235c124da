import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';
import { inReadingOrder, operationId, TAGS, withPlainNames } from './names.js';
import { completeOperations } from './operations.js';

const DESCRIPTION =
  'Have we seen this URL (or item) before? Unseen answers with a bounded rate of false ' +
  'positives, and can forget. Errors are RFC 9457 problems with a stable `code`.';

/** Builds the API description from decorators on controllers and DTOs. */
export function buildDocument(app: NestFastifyApplication): OpenAPIObject {
  const builder = new DocumentBuilder().setTitle('Unseen').setDescription(DESCRIPTION).setVersion('1');
  for (const { name, description } of TAGS) builder.addTag(name, description);
  const document = SwaggerModule.createDocument(app, builder.build(), { operationIdFactory: operationId });
  const completed = completeOperations(document);
  return withPlainNames({ ...completed, paths: inReadingOrder(completed.paths) });
}

/** Serves `/openapi.json`. Builds it on first use. */
export function serveDocument(app: NestFastifyApplication): void {
  let document: Buffer | undefined;
  app
    .getHttpAdapter()
    .getInstance()
    .get('/openapi.json', { config: { access: 'public', sharedAnswer: true } }, (_, reply) => {
      document ??= Buffer.from(JSON.stringify(buildDocument(app), undefined, 2));
      return reply.type('application/json').send(document);
    });
}
