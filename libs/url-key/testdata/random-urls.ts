/** Random URLs for property tests, from ordinary to hostile. The same seed gives the same URLs. */

export type Random = () => number;

/** Generates numbers in [0, 1) with mulberry32. */
export function seeded(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const SESSION = 'jsessionid=1A530637289A03B07199A44E8D531427';

/** Splits a string at spaces. A trailing space adds the empty string. */
const words = (text: string): string[] => text.split(' ');

const SCHEMES = [
  ...words('http:// https:// HTTP:// http: https:/ http:\\\\ http:/// ftp:// mailto: // '),
  ' http://',
  'ht\ttp://',
];
const USERS = words('u@ u:p@ :p@ @ u%41:%zz@ a@b@ u;=@ é@ %40@      ');
const LABELS = [
  ...words(
    'a www example EX a-b a--b -a xn--bcher-kva XN--e1afmkfd xn--a é faß ß пример א 1 0x1 08 256 a_b com co 127',
  ),
  ...words('%61 %2e \u00ad 。 ａ e\u0301 😀 \u200d a1 1a  '),
];
const HOSTS = words(
  '[::1] [2001:DB8:0:0::1] [::ffff:1.2.3.4] 127.0.0.1 0x7f.1 3279880203 . .. localhost www.www.a.b www.com www.a.com.',
);
const PORTS = words(': :80 :443 :8080 :080 :0 :65535 :65536 :x      ');
const BITS = [
  ...words(
    'a B 0 ~ - . _ % %% %2 %41 %2e %2E %2f %2F %25 %2541 %7e %e9 %C3%A9 %3D %26 %2B %2C %27 %5B é e\u0301 日 😀',
  ),
  ...words('\ud800 \ufffd \u0001 \u007f \u0080 " \' < [ ] { | } ^ ` \\ + , ; : @ ! $ & ( ) * = \t \n'),
  ' ',
];
const SEGMENTS = [
  ...words(
    '. .. %2e .%2E ... .a index.html index.php Default.aspx http: a: 12: (S(4hqa0555fwsecu455xqckv45))  ',
  ),
  ...words(`;${SESSION} ..;${SESSION} a;v=1;${SESSION}.n1 (S(4hqa0555fwsecu455xqckv45));${SESSION}`),
];
export const PARAM_NAMES = [
  ...words(
    "a b a[] a' id é a+b a,b utm_source utm%5Fx gclid ref PHPSESSID sid ASPSESSIONIDAQCSTTBD %61 __proto__",
  ),
];
const VALUES = [
  ...words('=1 =2 =a+b =a,b =%2c == =a=b =% =é =a?b =a/../b = '),
  ...words('=1A530637289A03B07199A44E8D531427 =KCBHEGNDOGPGKMJCLPMOGBNA'),
];
const FRAGMENTS = [...words('# #a #! #/ #!/a?b=1&a=2 #%21 ##! #/a#b #?    '), '#\t!a', '# !a'];

const TAME_PATHS = words("a a.b a%2Fb it's index.html x,y;z=1 ");
const TAME_TAILS = words('?a=1 ?b&a ?b=1&a=2 ?a=%C3%A9 ?utm_source=x&b ?a[]=1 #a #!a    ');

export function randomUrls(random: Random): () => string {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const repeat = (max: number, piece: () => string): string =>
    Array.from({ length: Math.floor(random() * (max + 1)) }, piece).join('');
  const noise = (): string => repeat(4, () => pick(BITS));

  function host(): string {
    if (random() < 0.15) return pick(HOSTS);
    const labels = Array.from({ length: 1 + Math.floor(random() * 3) }, () => pick(LABELS));
    return `${labels.join('.')}${random() < 0.6 ? '.com' : ''}${pick(['', '', '', '.', '..'])}`;
  }

  function segment(): string {
    return `${pick(words('/ / / / // \\ '))}${random() < 0.5 ? pick(SEGMENTS) : noise()}`;
  }

  function token(): string {
    const text = random() < 0.7 ? pick(PARAM_NAMES) + pick(VALUES) : noise();
    return `${pick(words('& & & && ; ?'))}${text}`;
  }

  function hostile(): string {
    const path = random() < 0.005 ? '/a%2'.repeat(2_000) : repeat(4, segment);
    const query = random() < 0.6 ? `?${repeat(5, token).slice(pick([0, 1]))}` : '';
    const fragment = pick(FRAGMENTS) + (random() < 0.1 ? noise() : '');
    return (
      pick(SCHEMES) + pick(USERS) + host() + pick(PORTS) + path + query + fragment + pick(['', '', ' ', '/'])
    );
  }

  /** At most one small change away from canonical, where a fast path is most likely to be wrong. */
  function tame(): string {
    const start = `${pick(['http', 'https'])}://${pick(words('a.b www.example.com x-y.z localhost'))}`;
    const url = start + repeat(3, () => `/${pick(TAME_PATHS)}`) + pick(TAME_TAILS);
    if (random() < 0.5) return url;
    const at = Math.floor(random() * (url.length + 1));
    return (
      url.slice(0, at) + pick([...BITS, ...words('/ ? # // /. .. 1 --')]) + url.slice(at + pick([0, 0, 1]))
    );
  }

  return () => (random() < 0.4 ? tame() : hostile());
}
