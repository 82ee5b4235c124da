export const BUILT_FROM: string;
export function digestOfSources(root?: string): string;
