/**
 * Different texts that murmur3 x86_128 hashes equally under every seed (after Aumasson, Bernstein and Boßlet,
 * "Hash-flooding DoS reloaded", 2012). A page can contain millions of them, to pass off one item as another.
 *
 * A word k in a block enters one of the state's lanes by XOR, as mix(k) = rotl(k·A, r)·B, which is a bijection. The
 * lane is then rotated, added to its neighbour and multiplied by 5. A difference in the highest bit alone survives
 * addition and multiplication by 5 unchanged. So these differences in 32 bytes cancel out for every state:
 *
 *   block 1, word 0   mix differs in bit 12, which lane 1's rotation by 19 makes the highest
 *   block 1, word 3   mix differs in bit 18, which lane 4's rotation by 13 makes the highest: cancels lane 1's
 *   block 2, word 0   mix differs in bit 31, which removes the remaining difference in lane 1
 *
 * Inverting mix for all words that are whole characters of UTF-8 found these words. URL keys are printable ASCII, which
 * has none, neither for these differences nor for their counterparts in the other lanes.
 */
const TWINS = [
  ['a113', '____', '____', 'qxÀ', 'AAA!', '____', '____', '____'],
  ['lbfz', '____', '____', '𒮽', 'AATu', '____', '____', '____'],
].map((words) => words.join(''));

/**
 * 2^n keys with one hash: `prefix`, then n choices between the twins. The length of `prefix` must be a multiple of 16
 * bytes.
 */
export function collidingKeys(prefix: string, n: number): string[] {
  if (Buffer.byteLength(prefix) % 16 !== 0) throw new RangeError(`"${prefix}" does not fill its blocks`);
  let keys = [prefix];
  for (let i = 0; i < n; i++) keys = keys.flatMap((key) => TWINS.map((twin) => key + twin));
  return keys;
}
