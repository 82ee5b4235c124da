/** What credentials allow, in rising order: each scope includes those before it. */
export const SCOPES = ['read', 'write', 'admin'] as const;

export type Scope = (typeof SCOPES)[number];

/** Who may use a route: everyone, or those with a scope. */
export type Access = 'public' | Scope;
