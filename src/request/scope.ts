/** What credentials allow, in rising order: each scope includes those before it. */
export const SCOPES = ['read', 'write', 'admin'] as const;

export type Scope = (typeof SCOPES)[number];

/** Who may use a route: everyone, or those with a scope. */
export type Access = 'public' | Scope;

/** True if one of `granted` is `needed` or includes it. */
export function includesScope(granted: readonly Scope[], needed: Scope): boolean {
  return granted.some((scope) => SCOPES.indexOf(scope) >= SCOPES.indexOf(needed));
}
