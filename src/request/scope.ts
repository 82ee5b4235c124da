/** What credentials permit, in ascending order. Each scope includes all earlier ones. */
export const SCOPES = ['read', 'write', 'admin'] as const;

export type Scope = (typeof SCOPES)[number];

/** The callers that may use a route: everyone, or principals with a scope. */
export type Access = 'public' | Scope;
