import { describe, expect, it } from '@jest/globals';
import { HOST_HASH_SCHEME, positionsOf, type Geometry } from '#bloom';
import { compileProfile, hostOfKey, normaliseProfile } from '#url-key';
import { randomUrls, seeded } from '../../libs/url-key/testdata/random-urls.js';

const GEOMETRY: Geometry = {
  ...{ hashScheme: HOST_HASH_SCHEME, spread: 1, segments: 1, pagesPerSegment: 10 },
  ...{ cellBits: 4, hashes: 7, pageCells: 256 },
};

/** The beginning of a key's host hash, which names the host's lane. */
const laneOf = (key: string): number[] => [...positionsOf([key], new Uint8Array(16), GEOMETRY).host!];

describe('a URL key’s host', () => {
  const { key: keyOf } = compileProfile(normaliseProfile('safe'));

  it.each([
    ['http://example.org/', 'example.org'],
    ['HTTPS://User:pa:ss@Example.ORG.:8443/a@b:1/', 'example.org'],
    ['http://u%3A@a.example?x=http://b.example/', 'a.example'],
    ['http://a@b@c.example/', 'c.example'],
    ['http://[2001:DB8::1]/x', '[2001:db8::1]'],
    ['http://u:p@[::1]:8080/', '[::1]'],
    ['http://0x7f.1:81/', '127.0.0.1'],
    ['http://bücher.example/', 'xn--bcher-kva.example'],
  ])('of %s is %s', (url, host) => {
    const key = keyOf(url) as string;
    expect(hostOfKey(key)).toBe(host);
    expect(laneOf(key)).toEqual(laneOf(`http://${host}/`));
  });

  it('is the same as for the host alone, for random URLs under every rule', () => {
    const rules = { ignoreScheme: true, stripUserinfo: true, stripWww: true };
    const profile = compileProfile(normaliseProfile({ base: 'strict', ...rules }));
    const random = randomUrls(seeded(7002));
    for (let n = 0; n < 5_000; n++) {
      const url = random();
      const [key, strict] = [profile.key(url), keyOf(url)];
      if (typeof key !== 'string' || typeof strict !== 'string') continue;
      const written = hostOfKey(strict);
      expect({ url, host: profile.host(written) }).toEqual({ url, host: hostOfKey(key) });
    }
  });

  it('is the host that the kernel hashes, for random URLs', () => {
    const random = randomUrls(seeded(7001));
    let valid = 0;
    for (let n = 0; n < 5_000; n++) {
      const key = keyOf(random());
      if (typeof key !== 'string') continue;
      valid++;
      const host = hostOfKey(key);
      expect({ key, lane: laneOf(key) }).toEqual({ key, lane: laneOf(`http://${host}/`) });
    }
    expect(valid).toBeGreaterThan(1_000);
  });
});
