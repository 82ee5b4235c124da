import { AnswerError, ServiceError, UnreachableError } from '#client';
import type { ComponentChildren } from 'preact';
import { Button } from './button.js';

/** A sentence that stands out. */
export function Notice({
  tone = 'info',
  children,
}: {
  readonly tone?: 'info' | 'warn' | 'bad' | 'good';
  readonly children: ComponentChildren;
}): preact.JSX.Element {
  return (
    <div class={`notice ${tone}`} role={tone === 'bad' ? 'alert' : undefined}>
      {children}
    </div>
  );
}

/**
 * Something did not work: what (a sentence without its full stop), and why. `unsure`: what is said in place of it
 * where an answer is missing, so that it may have been done nevertheless.
 */
export function Failure({
  error,
  what,
  unsure = what,
  retry,
}: {
  readonly error: Error;
  readonly what: string;
  readonly unsure?: string | undefined;
  readonly retry?: () => void;
}): preact.JSX.Element {
  return (
    <Notice tone="bad">
      <p>
        <strong>{isUnsure(error) ? unsure : what}:</strong> {wordsOf(error)}
        {isUnsure(error) && unsure !== what && ' Check before you try again.'}
      </p>
      {retry && <Button onClick={retry}>Try again</Button>}
    </Notice>
  );
}

/** Whether the service may have executed the call that failed. */
export function isUnsure(error: Error): boolean {
  if (error instanceof ServiceError) return error.code === 'STORE_UNAVAILABLE';
  return error instanceof UnreachableError || error instanceof AnswerError;
}

/** What an error says to people, for the end of a sentence: it may begin with a name, whose case is its own. */
export function wordsOf(error: Error): string {
  if (error instanceof ServiceError) {
    const id = error.requestId === undefined ? '' : ` (request ${error.requestId})`;
    return `${error.detail}${id}.`;
  }
  if (error instanceof UnreachableError) return 'the service does not answer.';
  return `${error.message}.`;
}

/** Nothing is there, and what to do about it. */
export function Empty({
  title,
  children,
}: {
  readonly title: string;
  readonly children: ComponentChildren;
}): preact.JSX.Element {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** Something comes: the page has its shape already. */
export function Loading({
  what,
  rows = 3,
}: {
  readonly what: string;
  readonly rows?: number;
}): preact.JSX.Element {
  return (
    <div class="loading" role="status" aria-label={`Loading ${what}`}>
      {Array.from({ length: rows }, (_, i) => (
        <div key={i} class="bone" />
      ))}
    </div>
  );
}
