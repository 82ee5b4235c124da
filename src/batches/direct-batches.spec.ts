import {
  Header,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
  type INestApplication,
} from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { fastify } from 'fastify';
import { runBatchesDirectly } from './direct-batches.js';

type Controller = new () => object;

/** Registers a route whose handler is Nest's, for this controller's method `run`. */
function serverWith(controller: Controller) {
  const server = fastify();
  const app = { get: () => new controller() } as unknown as INestApplication;
  runBatchesDirectly(server, app);
  const config = { access: 'read', direct: { controller, name: 'run' } } as const;
  server.post('/:name', { config }, () => Promise.resolve('Nest'));
  return server;
}

class Plain {
  run(name: string): Promise<object> {
    return Promise.resolve({ name });
  }
}

describe('runBatchesDirectly', () => {
  it('passes a batch to the method, and a request with an invalid name to Nest', async () => {
    const server = serverWith(Plain);
    const post = async (path: string) => (await server.inject({ method: 'POST', url: path })).body;
    expect(await post('/urls')).toBe('{"name":"urls"}');
    expect(await post('/-')).toBe('Nest');
  });

  it.each([
    ['guards', UseGuards({ canActivate: () => false })],
    ['interceptors', UseInterceptors({ intercept: (_, next) => next.handle() })],
    ['pipes', UsePipes({ transform: (value: unknown) => value })],
    ['exceptionFilters', UseFilters({ catch: () => undefined })],
  ])('refuses a method or controller with %s', (what, decorate) => {
    class OnClass extends Plain {}
    decorate(OnClass);
    class OnMethod extends Plain {
      override run(name: string): Promise<object> {
        return super.run(name);
      }
    }
    const { prototype } = OnMethod;
    decorate(prototype, 'run', Object.getOwnPropertyDescriptor(prototype, 'run') as PropertyDescriptor);
    for (const controller of [OnClass, OnMethod]) expect(() => serverWith(controller)).toThrow(what);
  });

  it('refuses a method with headers', () => {
    class WithHeader extends Plain {
      @Header('x-a', 'b')
      override run(name: string): Promise<object> {
        return super.run(name);
      }
    }
    expect(() => serverWith(WithHeader)).toThrow('headers');
  });
});
