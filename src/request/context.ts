import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Permit } from './permit.js';
import type { Principal } from './principal.js';
import type { Trace } from '../tracing/trace.js';

/** Facts about a request that its head and body don't have. */
export interface RequestContext {
  /** Undefined if the request did not pass admission, as when tests inject it. */
  permit: Permit | undefined;
  /** Undefined if no traces are sent, and for probes. */
  trace: Trace | undefined;
  /** Undefined on public routes. */
  principal: Principal | undefined;
  /** A JSON body's bytes as received, for the operation's fingerprint. */
  rawBody: Buffer | undefined;
  /** The id of the request's operation, once it has one. */
  operationId: string | undefined;
  /** The call's target for the audit log, if neither path nor JSON body names it. */
  auditTarget: string | undefined;
}

const CONTEXT = Symbol('context');

interface Carrier extends IncomingMessage {
  [CONTEXT]?: RequestContext;
}

/**
 * A request's context. It is a member of Node's request, because admission runs before the framework has a request.
 * With a weak map, every request would reach the old generation: V8's young collections keep all of a weak map's
 * values, and everything that they refer to.
 */
export function contextOf(request: Carrier): RequestContext {
  const known = request[CONTEXT];
  if (known !== undefined) return known;
  const context = {
    permit: undefined,
    trace: undefined,
    principal: undefined,
    rawBody: undefined,
    operationId: undefined,
    auditTarget: undefined,
  };
  request[CONTEXT] = context;
  return context;
}

/** What names a request in the logs and in problem documents. */
export interface RequestIds {
  readonly requestId: string;
  /** Absent if the request has no trace. */
  readonly traceId?: string;
}

export function idsOf({ id, raw }: { readonly id: string; readonly raw: IncomingMessage }): RequestIds {
  const { trace } = contextOf(raw);
  return trace ? { requestId: id, traceId: trace.traceId } : { requestId: id };
}

const idPrefix = randomBytes(6).toString('base64url');
let idCount = 0;

/** Returns a request id that is unique across processes and restarts, and cheap enough for every request. */
export function nextRequestId(): string {
  idCount++;
  return `${idPrefix}-${idCount.toString(36)}`;
}
