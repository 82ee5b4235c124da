import { AnswerError, ServiceError, UnreachableError } from '#client';
import type { ComponentChildren } from 'preact';
import type { Polled } from '../poll.js';
import { Button } from './button.js';

/** A highlighted message. */
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
 * An error message: what failed (a sentence without its full stop) and why. If no answer arrived, `unsure` replaces
 * `what`, because the service may have done the action.
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

/** True if the service may have executed the failed call. */
export function isUnsure(error: Error): boolean {
  if (error instanceof ServiceError) return error.code === 'STORE_UNAVAILABLE';
  return error instanceof UnreachableError || error instanceof AnswerError;
}

/** An error's text, worded as the end of a sentence. Keeps the case of a name at its start. */
export function wordsOf(error: Error): string {
  if (error instanceof ServiceError) {
    const id = error.requestId === undefined ? '' : ` (request ${error.requestId})`;
    return `${error.detail}${id}.`;
  }
  if (error instanceof UnreachableError) return 'the service does not answer.';
  return `${error.message}.`;
}

/** Says that a list is empty, and how to fill it. */
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

/** Fills a screen until a poll's first answer. */
export function Pending({
  of: { data, error, refresh },
  what,
  rows = 2,
}: {
  readonly of: Polled<unknown>;
  readonly what: string;
  readonly rows?: number;
}): preact.JSX.Element | null {
  if (data !== undefined) return null;
  if (error) return <Failure error={error} what={`The ${what} could not be loaded`} retry={refresh} />;
  return <Loading what={what} rows={rows} />;
}

/** A placeholder with the page's layout. */
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
