import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Permit } from './permit.js';
import type { Principal } from './principal.js';

/** Facts about a request that its head and body do not have. */
export interface RequestContext {
  /** Undefined if the request did not pass admission, like requests that tests inject. */
  permit: Permit | undefined;
  /** Undefined on public routes. */
  principal: Principal | undefined;
  /** The bytes of a JSON body as received, for the fingerprint of the operation. */
  rawBody: Buffer | undefined;
  /** The id of the request's operation, once it has one. */
  operationId: string | undefined;
  /** The target of the call for the audit log, if neither path nor JSON body names it. */
  auditTarget: string | undefined;
}

const CONTEXT = Symbol('context');

interface Carrier extends IncomingMessage {
  [CONTEXT]?: RequestContext;
}

/**
 * The context of a request. It is a member of Node's request, because admission runs before the framework has one. A
 * weak map would not do: V8's young collections keep all values of the map, and everything they refer to, so every
 * request would reach the old generation.
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

/** Returns a request id that is unique across processes and restarts, and cheap enough for every request. */
export function nextRequestId(): string {
  idCount++;
  return `${idPrefix}-${idCount.toString(36)}`;
}
