import type { UnseenClient } from '#client';
import type { Scope } from '../session.js';
import type { Send } from './sending.js';

/** What is done with a list, line by line. */
export interface Action {
  /** Names it in files. */
  readonly id: string;
  readonly text: string;
  readonly needs: Scope;
  readonly send: (client: UnseenClient, name: string) => Send;
  /** What words mean that do not explain themselves. */
  readonly meanings?: Readonly<Record<string, string>>;
  /** What is to be known of lines that are done when it was stopped before the others. */
  readonly afterStop?: string;
  /** Whether nothing more can be done after a refusal. Otherwise it can be tried again. */
  readonly endsWith?: (error: Error) => boolean;
}
