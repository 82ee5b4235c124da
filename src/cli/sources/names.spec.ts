import { describe, expect, it } from '@jest/globals';
import { shown } from './names.js';

describe('the name of a source in messages', () => {
  it.each([
    ...['access_token', 'api_key', 'auth', 'X-Amz-Credential', 'X-Amz-Signature', 'sig', 'sign'],
    ...['code', 'authCode', 'hmac', 'X-Hub-HMAC', 'hash', 'url_hash', 'jwt', 'password', 'PHPSESSION'],
  ])('hides the value of %s', (name) => {
    expect(shown(`https://example.org/map.xml?page=2&${name}=s3cret#top`)).toBe(
      `"https://example.org/map.xml?page=2&${name}=***#top"`,
    );
    expect(shown(`https://example.org/#${name}=s3cret`)).toBe(`"https://example.org/#${name}=***"`);
  });

  it.each([
    ['?token=s3cret?s3cret', '?token=***'],
    ['?token=s3cret=s3cret==', '?token=***'],
    ['?page=1?token=s3cret', '?page=1?token=***'],
    ['?hdnts=exp=1~acl=/*~hmac=s3cret&page=2', '?hdnts=exp=1~acl=/*~hmac=***&page=2'],
    ['?a=1;token=s3cret;b=2', '?a=1;token=***;b=2'],
  ])('hides secrets in every form of query: %s', (query, masked) => {
    expect(shown(`https://example.org/${query}`)).toBe(`"https://example.org/${masked}"`);
  });

  it('also hides secrets in URLs that are not http', () => {
    expect(shown('ftp://example.org/?token=s3cret')).toBe('"ftp://example.org/?token=***"');
  });

  it('is otherwise unchanged', () => {
    for (const source of ['https://example.org/code/hash=1/map.xml?page=2&lang=de&empty&x=', 'a?token=1'])
      expect(shown(source)).toBe(`"${source}"`);
    expect(shown('-')).toBe('stdin');
  });
});
