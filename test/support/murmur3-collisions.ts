/**
 * Different texts that murmur3 x86_128 cannot tell apart, whatever its seed (after Aumasson, Bernstein and Boßlet,
 * "Hash-flooding DoS reloaded", 2012): a page can contain millions of them to pass off one item as another.
 *
 * A word k of a block enters a lane of the state by XOR, as mix(k) = rotl(k·A, r)·B, which is a bijection. The lane is
 * then rotated, added to its neighbour and multiplied by 5. A difference in the highest bit alone passes addition and
 * multiplication by 5 unchanged. So these differences in 32 bytes cancel out for every state:
 *
 *   block 1, word 0   mix differs in bit 12, which lane 1's rotation by 19 makes the highest
 *   block 1, word 3   mix differs in bit 18, which lane 4's rotation by 13 makes the highest: with lane 1's it makes 0
 *   block 2, word 0   mix differs in bit 31, which takes away what is left, in lane 1
 *
 * The words were found by inverting mix for all words that are whole characters of UTF-8. The keys of URLs are
 * printable ASCII. Within it there are none, for these differences or their counterparts in the other lanes.
 */
const TWINS = [
  ['a113', '____', '____', 'qxÀ', 'AAA!', '____', '____', '____'],
  ['lbfz', '____', '____', '𒮽', 'AATu', '____', '____', '____'],
].map((words) => words.join(''));

/**
 * 2^n keys with one hash: `prefix`, then n times either of the twins. The prefix's length is a multiple of 16 bytes.
 */
export function collidingKeys(prefix: string, n: number): string[] {
  if (Buffer.byteLength(prefix) % 16 !== 0) throw new RangeError(`"${prefix}" does not fill its blocks`);
  let keys = [prefix];
  for (let i = 0; i < n; i++) keys = keys.flatMap((key) => TWINS.map((twin) => key + twin));
  return keys;
}
