const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

/** Whether a path is one that tells an orchestrator about the service: answered however busy it is, or on its way out. */
export function isProbe(path: string): boolean {
  return PROBES.has(path);
}
