import { createServer, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK, type JWTPayload } from 'jose';

/** An OpenID Connect issuer on loopback: its configuration, its keys, and tokens signed with them. */
export interface Issuer {
  readonly url: string;
  /** The public keys that it publishes now. */
  readonly published: JWK[];
  /** Number of requests so far, for keys and for the configuration. */
  readonly asked: { keys: number; configuration: number };
  /** If set, replaces the response to requests for keys. */
  sick: ((reply: ServerResponse) => void) | undefined;
  /** Signs with a new key from now on, and publishes only that key. */
  rotate(kid: string): Promise<void>;
  /** A token that is valid except for the given claims and options. An undefined claim is omitted. */
  token(
    claims?: Readonly<Record<string, unknown>>,
    header?: Readonly<Record<string, unknown>>,
  ): Promise<string>;
  stop(): Promise<void>;
}

export const AUDIENCE = 'unseen-test';

export async function startIssuer(port = 0): Promise<Issuer> {
  const asked = { keys: 0, configuration: 0 };
  const published: JWK[] = [];
  let signer: { kid: string; key: CryptoKey } | undefined;
  const server = createServer({ keepAliveTimeout: 0 }, (request, reply) => {
    const configuration = request.url === '/.well-known/openid-configuration';
    asked[configuration ? 'configuration' : 'keys']++;
    if (issuer.sick) {
      issuer.sick(reply);
      return;
    }
    reply.setHeader('content-type', 'application/json');
    const body = configuration ? { issuer: issuer.url, jwks_uri: `${issuer.url}/jwks` } : { keys: published };
    reply.end(JSON.stringify(body));
  }).listen(port, '127.0.0.1');
  await once(server, 'listening');
  const issuer: Issuer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    published,
    asked,
    sick: undefined,
    async rotate(kid) {
      const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
      published.splice(0, published.length, {
        ...(await exportJWK(publicKey)),
        kid,
        alg: 'ES256',
        use: 'sig',
      });
      signer = { kid, key: privateKey };
    },
    async token(claims = {}, header = {}) {
      if (!signer) throw new Error('no key yet');
      const now = Math.floor(Date.now() / 1_000);
      const valid = {
        iss: issuer.url,
        aud: AUDIENCE,
        sub: 'crawler-7',
        exp: now + 300,
        scope: 'unseen:read',
      };
      const payload = JSON.parse(JSON.stringify({ ...valid, ...claims })) as JWTPayload;
      return new SignJWT(payload)
        .setProtectedHeader({ alg: 'ES256', kid: signer.kid, ...header })
        .sign(signer.key);
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      if (server.listening) await once(server, 'close');
    },
  };
  await issuer.rotate('first');
  return issuer;
}
