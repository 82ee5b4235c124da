/** The first available encoding that an Accept-Encoding header accepts. */
export function encodingFor(accepted: string | undefined, there: readonly string[]): string | undefined {
  const taken = new Set<string>();
  for (const part of accepted?.split(',') ?? []) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
    if (!parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))) taken.add(name);
  }
  return there.find((name) => taken.has(name));
}
