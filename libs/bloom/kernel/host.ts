const SLASH: u32 = 0x2f;
const COLON: u32 = 0x3a;
const QUESTION_MARK: u32 = 0x3f;
const HASH_SIGN: u32 = 0x23;
const AT: u32 = 0x40;
const CLOSING_BRACKET: u32 = 0x5d;

/** Start of the host, after findHost. */
export let hostStart: usize = 0;
export let hostLength: u32 = 0;

/**
 * Finds the host in the URL of `length` bytes at `at`: the text from the two slashes after the scheme to the path,
 * query or fragment, without user, password and port. The host is empty if the bytes aren't a URL with a host.
 */
export function findHost(at: usize, length: u32): void {
  const end = at + length;
  hostStart = at;
  hostLength = 0;
  while (at < end && load<u8>(at) !== COLON) at++;
  if (at + 3 > end || load<u8>(at, 1) !== SLASH || load<u8>(at, 2) !== SLASH) return;
  at += 3;
  let start = at;
  let port: usize = 0;
  for (; at < end; at++) {
    const byte: u32 = load<u8>(at);
    if (byte === SLASH || byte === QUESTION_MARK || byte === HASH_SIGN) break;
    if (byte === AT) {
      start = at + 1;
      port = 0;
    } else if (byte === COLON) port = at;
    else if (byte === CLOSING_BRACKET) port = 0;
  }
  hostStart = start;
  hostLength = <u32>((port > 0 ? port : at) - start);
}
