/** Reads and writes IP addresses in URL hosts as the URL standard prescribes. */

/** One part of an IPv4 address as a number, or undefined if it isn't one. `0x` alone is zero. */
function ipv4Part(part: string): number | undefined {
  if (/^0x[0-9a-f]*$/.test(part)) return part === '0x' ? 0 : Number.parseInt(part, 16);
  if (/^0[0-7]*$/.test(part)) return Number.parseInt(part, 8);
  return /^[1-9][0-9]*$/.test(part) ? Number(part) : undefined;
}

/** True if the last label of a lower-case ASCII name is a number. Such a name is either an IPv4 address or invalid. */
export function endsInNumber(name: string): boolean {
  const end = name.endsWith('.') ? name.length - 1 : name.length;
  const last = name.slice(name.lastIndexOf('.', end - 1) + 1, end);
  return /^(?:[0-9]+|0x[0-9a-f]*)$/.test(last);
}

/** A name that ends in a number, as an address with four decimals, or undefined if it isn't an address. */
export function canonicalIpv4(name: string): string | undefined {
  const labels = name.split('.');
  if (labels.at(-1) === '') labels.pop();
  const parts = labels.map(ipv4Part);
  if (parts.length > 4 || parts.includes(undefined)) return undefined;
  const numbers = parts as number[];
  // The last part covers all remaining bytes.
  const last = numbers.pop() ?? 0;
  if (numbers.some((number) => number > 255) || last >= 256 ** (4 - numbers.length)) return undefined;
  const address = numbers.reduce((sum, number, i) => sum + number * 256 ** (3 - i), last);
  return [24, 16, 8, 0].map((bits) => Math.floor(address / 2 ** bits) % 256).join('.');
}

/** Length of the longest form: eight groups, the last two in decimal notation. */
const MAX_IPV6_LENGTH = 45;

const EMBEDDED_IPV4 = /^(.*:)(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})$/;

/** The address in its shortest form, without brackets, or undefined if the text isn't one. */
export function canonicalIpv6(text: string): string | undefined {
  if (text.length > MAX_IPV6_LENGTH) return undefined;
  const hexadecimal = withoutEmbeddedIpv4(text);
  if (hexadecimal === undefined) return undefined;
  const halves = hexadecimal.split('::');
  const [head = [], tail = []] = halves.map((half) => (half === '' ? [] : half.split(':')));
  const given = head.length + tail.length;
  if (halves.length > 2 || (halves.length === 2 ? given > 7 : given !== 8)) return undefined;
  const groups = [...head, ...Array.from({ length: 8 - given }, () => '0'), ...tail];
  if (!groups.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return undefined;
  return shortest(groups.map((group) => Number.parseInt(group, 16).toString(16)));
}

function withoutEmbeddedIpv4(text: string): string | undefined {
  if (!text.includes('.')) return text;
  const [, groups, ...bytes] = EMBEDDED_IPV4.exec(text) ?? [];
  const [a = 256, b = 256, c = 256, d = 256] = bytes.map(Number);
  if (groups === undefined || Math.max(a, b, c, d) > 255) return undefined;
  return `${groups}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
}

/** Replaces the first of the longest runs of at least two zeros with `::`. */
function shortest(groups: readonly string[]): string {
  let longest = { at: 0, length: 1 };
  for (let at = 0; at < groups.length; at++) {
    let length = 0;
    while (groups[at + length] === '0') length++;
    if (length > longest.length) longest = { at, length };
  }
  if (longest.length === 1) return groups.join(':');
  const { at, length } = longest;
  return `${groups.slice(0, at).join(':')}::${groups.slice(at + length).join(':')}`;
}
