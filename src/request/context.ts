import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Permit } from './permit.js';
import type { Principal } from './principal.js';

/** What the service knows of a request beside what the request says itself. */
export interface RequestContext {
  /** Undefined if the request was not admitted, as those that tests inject. */
  permit: Permit | undefined;
  /** Who asks; undefined on public routes. */
  principal: Principal | undefined;
  /** The bytes of a JSON body, as they came: what an operation's fingerprint is made of. */
  rawBody: Buffer | undefined;
  /** The id of the request's operation, once it has one. */
  operationId: string | undefined;
  /** What the audit log says the call is about, where neither path nor JSON body do. */
  auditTarget: string | undefined;
}

const CONTEXT = Symbol('context');

interface Carrier extends IncomingMessage {
  [CONTEXT]?: RequestContext;
}

/**
 * The context of a request. It hangs on Node's request, because admission comes before the framework has one. Not in a weak
 * map: V8's young collections keep what that holds, and all that it leads to, as long as the map, so that every request
 * would grow old.
 */
export function contextOf(request: Carrier): RequestContext {
  const known = request[CONTEXT];
  if (known !== undefined) return known;
  const context = {
    permit: undefined,
    principal: undefined,
    rawBody: undefined,
    operationId: undefined,
    auditTarget: undefined,
  };
  request[CONTEXT] = context;
  return context;
}

const idPrefix = randomBytes(6).toString('base64url');
let idCount = 0;

/** Ids unique over processes and restarts, cheap enough for every request. */
export function nextRequestId(): string {
  idCount++;
  return `${idPrefix}-${idCount.toString(36)}`;
}
