import { describe, expect, it } from '@jest/globals';
import { ConfigError, readConfig } from './config.js';

const OIDC = { OIDC_ISSUER: 'https://issuer.example/realm', OIDC_AUDIENCE: 'unseen' };

describe('authentication settings', () => {
  it('require keys on any address if AUTH is "keys"', () => {
    for (const HOST of ['127.0.0.1', '0.0.0.0', '::']) {
      expect(readConfig({ HOST, AUTH: 'keys' })).toMatchObject({ auth: 'keys', allowedHosts: [] });
    }
    expect(readConfig({ AUTH: 'keys', ALLOWED_HOSTS: 'unseen' }).allowedHosts).toEqual([
      'unseen',
      '127.0.0.1',
    ]);
    expect(() => readConfig({ HOST: '0.0.0.0' })).toThrow('AUTH=keys');
  });

  it('require credentials from everyone if they name an issuer', () => {
    expect(readConfig({ ...OIDC, HOST: '0.0.0.0' })).toMatchObject({
      auth: 'keys',
      oidc: {
        issuer: 'https://issuer.example/realm',
        audience: 'unseen',
        jwksUrl: undefined,
        scopeClaim: 'scope',
        prefixClaim: 'unseen_prefix',
      },
    });
    expect(() => readConfig({ ...OIDC, AUTH: 'none' })).toThrow('AUTH is "none", but OIDC_ISSUER is set');
    const named = {
      OIDC_JWKS_URL: 'http://localhost:1/keys',
      OIDC_SCOPE_CLAIM: 'scp',
      OIDC_PREFIX_CLAIM: 'tenant',
    };
    expect(readConfig({ ...OIDC, ...named }).oidc).toMatchObject({
      jwksUrl: 'http://localhost:1/keys',
      scopeClaim: 'scp',
      prefixClaim: 'tenant',
    });
  });

  it('require issuer and audience together', () => {
    expect(() => readConfig({ OIDC_ISSUER: OIDC.OIDC_ISSUER })).toThrow('OIDC_AUDIENCE is not set');
    expect(() => readConfig({ OIDC_AUDIENCE: 'x' })).toThrow('OIDC_ISSUER is not set');
    expect(() => readConfig({ OIDC_JWKS_URL: 'https://h/k' })).toThrow('OIDC_ISSUER is not set');
  });

  it.each([
    'http://issuer.example',
    'https://user:secret@issuer.example',
    'https://issuer.example/?a',
    'https://issuer.example/#a',
    'ftp://issuer.example',
    'issuer.example',
    'http://127.0.0.1.evil.example',
  ])('allow an issuer’s keys only over https, not from %s', (url) => {
    for (const name of ['OIDC_ISSUER', 'OIDC_JWKS_URL']) {
      const read = (): unknown => readConfig({ ...OIDC, [name]: url });
      expect(read).toThrow(ConfigError);
      expect(read).toThrow(new RegExp(`^${name} is (?!.*secret)`));
    }
  });

  it('convert web origins to the form that browsers send', () => {
    expect(
      readConfig({ CORS_ORIGINS: 'HTTPS://App.Example:443, http://localhost:5173' }).corsOrigins,
    ).toEqual(['https://app.example', 'http://localhost:5173']);
    for (const value of [
      '*',
      'null',
      'https://*.example',
      'https://a.example/',
      'https://a@b',
      'a.example',
      'https://a:99999',
    ]) {
      expect(() => readConfig({ CORS_ORIGINS: value })).toThrow(
        /^CORS_ORIGINS is ".*"; it must be origins such as/,
      );
    }
  });
});
