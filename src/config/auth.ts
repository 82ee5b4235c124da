import { isIP } from 'node:net';
import { show } from '../errors/show.js';
import { isLoopback } from './loopback.js';
import { ConfigError, type SettingReader } from './reader.js';

/** An issuer of JSON Web Tokens, and which of its tokens the service accepts. */
export interface OidcSettings {
  /** The `iss` claim's value. */
  readonly issuer: string;
  readonly audience: string;
  /** Undefined if it must be read from the issuer's configuration. */
  readonly jwksUrl: string | undefined;
  readonly scopeClaim: string;
  readonly prefixClaim: string;
}

export type AuthMode = 'keys' | 'open' | 'none';

/** The mode set by `AUTH`. If an issuer is set, the default is `keys`. */
export function authMode(read: SettingReader, host: string, hasIssuer: boolean): AuthMode {
  const auth = read.oneOf('AUTH', ['keys', 'none'], hasIssuer ? 'keys' : undefined);
  if (auth === 'none' && hasIssuer) {
    throw new ConfigError('AUTH is "none", but OIDC_ISSUER is set; set only one of them');
  }
  if (auth === undefined && !isLoopback(host)) {
    throw new ConfigError(
      `HOST is "${host}", which other machines may reach: set AUTH=keys to require API keys, ` +
        'set HOST=127.0.0.1, or set AUTH=none to give everyone on the network full access',
    );
  }
  return auth ?? 'open';
}

/**
 * The configured names, and HOST. With AUTH=keys or none, empty if no name is configured, because the service may have
 * names that only its operator knows.
 */
export function allowedHosts(read: SettingReader, host: string, auth: AuthMode): string[] {
  const names = read.list(
    'ALLOWED_HOSTS',
    /^(\[[0-9a-f:.]+\]|[^\s:/[\]]+)$/i,
    'host names without ports, comma separated',
  );
  if (auth !== 'open' && names.length === 0) return [];
  return [...names, isIP(host) === 6 ? `[${host}]` : host].map((name) => name.toLowerCase());
}

/** The origins as browsers send them: lower case, without a default port. */
export function webOrigins(read: SettingReader): string[] {
  const allowed = 'origins such as https://app.example, comma separated';
  const origins = read.list('CORS_ORIGINS', /^https?:\/\/[^\s/?#@*]+$/i, allowed);
  return origins.map((text) => {
    if (!URL.canParse(text)) {
      throw new ConfigError(`CORS_ORIGINS is ${show(text)}; it must be ${allowed}`);
    }
    return new URL(text).origin;
  });
}

/** Undefined if no issuer is set. */
export function oidcSettings(read: SettingReader): OidcSettings | undefined {
  const issuer = keyUrl(read, 'OIDC_ISSUER');
  const audience = read.text('OIDC_AUDIENCE', undefined);
  const jwksUrl = keyUrl(read, 'OIDC_JWKS_URL');
  const scopeClaim = read.text('OIDC_SCOPE_CLAIM', 'scope');
  const prefixClaim = read.text('OIDC_PREFIX_CLAIM', 'unseen_prefix');
  if (issuer !== undefined && audience !== undefined) {
    return { issuer, audience, jwksUrl, scopeClaim, prefixClaim };
  }
  if (issuer === undefined && audience === undefined && jwksUrl === undefined) return undefined;
  const missing = issuer === undefined ? 'OIDC_ISSUER' : 'OIDC_AUDIENCE';
  throw new ConfigError(`${missing} is not set: set both OIDC_ISSUER and OIDC_AUDIENCE, or neither`);
}

/** Requires HTTPS, because anyone on the network could replace keys sent over plain HTTP. */
function keyUrl(read: SettingReader, name: string): string | undefined {
  const value = read.text(name, undefined);
  if (value === undefined || isKeyUrl(value)) return value;
  throw new ConfigError(
    `${name} is ${show(value)}; it must be an https URL (http on loopback) without user, query and fragment`,
  );
}

/** True if the service may fetch an issuer's keys from the URL. */
export function isKeyUrl(text: string): boolean {
  if (!URL.canParse(text) || /[?#]/.test(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  if (username !== '' || password !== '') return false;
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname.replace(/^\[|\]$/g, '')));
}
