import { useEffect, useErrorBoundary, useRef } from 'preact/hooks';
import { away, type Away } from './connection.js';
import { JobLink } from './jobs/job-link.js';
import { usePoll } from './poll.js';
import { hashOf, place } from './router.js';
import { CreateScreen } from './screens/create/create-screen.js';
import { ExplainScreen } from './screens/explain/explain-screen.js';
import { ListScreen } from './screens/list/list-screen.js';
import { ExportScreen } from './screens/transfer/export-screen.js';
import { ImportScreen } from './screens/transfer/import-screen.js';
import { KeysScreen } from './screens/keys/keys-screen.js';
import { KeptSecrets } from './screens/keys/kept-secrets.js';
import { SetScreen } from './screens/set/set-screen.js';
import { SignInScreen } from './screens/sign-in/sign-in-screen.js';
import { SyncScreen } from './screens/sync/sync-screen.js';
import { UseScreen } from './screens/use/use-screen.js';
import { client, hasKey, may, prefix, session, signOut, start, type Scope } from './session.js';
import { Button } from './ui/button.js';
import { Failure, Loading } from './ui/notice.js';
import { Title } from './ui/title.js';

/** The links in the header. To add a screen, add it here and to Screen. */
const NAV: readonly NavEntry[] = [
  { path: [], text: 'Sets and filters' },
  { path: ['import'], text: 'Import', needs: 'admin' },
  { path: ['keys'], text: 'Keys', needs: 'admin', allNames: true },
];

interface NavEntry {
  readonly path: readonly string[];
  readonly text: string;
  /** Users without this scope don't see the link. */
  readonly needs?: Scope;
  readonly allNames?: boolean;
}

function isFor({ needs, allNames = false }: NavEntry): boolean {
  return (needs === undefined || may(needs)) && (!allNames || prefix.value === '');
}

export function App(): preact.JSX.Element {
  return (
    <>
      <Header />
      <AwayBanner />
      <main>
        <Main />
      </main>
    </>
  );
}

function Header(): preact.JSX.Element {
  const { value: now } = session;
  return (
    <header class="header">
      <a class="brand" href={hashOf([])}>
        <Mark />
        Unseen
      </a>
      {now.is === 'open' && (
        <nav aria-label="Screens">
          {NAV.filter(isFor).map(({ path, text }) => (
            <a key={text} href={hashOf(path)} aria-current={place.value.path[0] === path[0] && 'page'}>
              {text}
            </a>
          ))}
          <a href="docs">API</a>
          <JobLink />
        </nav>
      )}
      {now.is === 'open' && hasKey.value && (
        <div class="who">
          <span>
            {now.me.name} <small>{now.me.scopes.join(', ')}</small>
          </span>
          <Button look="quiet" onClick={() => signOut('left')}>
            Sign out
          </Button>
        </div>
      )}
    </header>
  );
}

function Mark(): preact.JSX.Element {
  return (
    <svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true" class="mark">
      <rect width="32" height="32" rx="8" />
      <circle cx="9" cy="9" r="3" />
      <circle cx="23" cy="9" r="3" class="faint" />
      <circle cx="16" cy="16" r="3" />
      <circle cx="9" cy="23" r="3" class="faint" />
      <circle cx="23" cy="23" r="3" />
    </svg>
  );
}

const AWAY_WORDS: Readonly<Record<Away, string>> = {
  service: 'The service does not answer. The numbers shown may be stale.',
  store: 'The service is up, but its store is unavailable.',
  busy: 'The service is overloaded.',
  back: 'The service is back.',
};

/** Always in the page: screen readers announce changes only in an element that already exists. */
function AwayBanner(): preact.JSX.Element {
  const now = away.value;
  return (
    <div class={`banner ${now ?? 'none'}`} role="status" aria-live="polite">
      {now !== undefined && AWAY_WORDS[now]}
      {now !== undefined && now !== 'back' && session.value.is === 'open' && <Asking />}
    </div>
  );
}

/**
 * Polls the service, so that a screen without its own poll also notices when the service is available again. Shows the
 * polling.
 */
function Asking(): preact.JSX.Element {
  usePoll('away', (signal) => client.value.filters({ pageSize: 1, signal }).next());
  return <> Retrying …</>;
}

/** Moves the focus to the heading of a new screen, as loading a page would. */
function Main(): preact.JSX.Element {
  const { value: now } = session;
  const at = now.is === 'open' ? place.value.path.join('/') : now.is;
  const shown = useRef(at);
  useEffect(() => {
    const before = shown.current;
    shown.current = at;
    // The first screen keeps the browser's focus, and the sign-in screen focuses its own field.
    if (before === at || before === 'starting' || now.is !== 'open') return;
    scrollTo(0, 0);
    document.querySelector<HTMLElement>('main h1')?.focus();
  }, [at]);
  if (now.is === 'starting') return <Loading what="the dashboard" />;
  if (now.is === 'failed') return <CannotStart error={now.error} />;
  if (now.is === 'signed out')
    return (
      <>
        <KeptSecrets />
        <SignInScreen why={now.why} />
      </>
    );
  return <Screen key={at} at={at} />;
}

/** Shows why the page can't start. The usual poll retries. */
function CannotStart({ error }: { readonly error: Error }): preact.JSX.Element {
  const { refresh } = usePoll('start', start);
  return <Failure error={error} what="The dashboard cannot start yet" retry={refresh} />;
}

/** The screen for the current place. */
function Screen({ at }: { readonly at: string }): preact.JSX.Element {
  const { path } = place.value;
  // A proxy may have altered an answer so that the screen can't render it. The header and the other screens then still
  // work.
  const [error, again] = useErrorBoundary() as [Error | undefined, () => void];
  if (error) return <Failure error={error} what="This screen cannot be shown" retry={again} />;
  const [first, name, ...more] = path;
  if (first === undefined) return <ListScreen />;
  if (first === 'new' && name === undefined) return <CreateScreen />;
  if ((first === 'sets' || first === 'filters') && name !== undefined && more.length === 0)
    return <SetScreen key={at} kind={first} name={name} />;
  if ((first === 'sets' || first === 'filters') && name !== undefined && more.length === 1) {
    if (more[0] === 'sync') return <SyncScreen key={at} kind={first} name={name} />;
    if (more[0] === 'use') return <UseScreen key={at} kind={first} name={name} />;
    if (more[0] === 'explain') return <ExplainScreen key={at} kind={first} name={name} />;
    if (more[0] === 'export') return <ExportScreen key={at} kind={first} name={name} />;
  }
  if (first === 'import' && name === undefined) return <ImportScreen />;
  if (first === 'keys' && name === undefined) return <KeysScreen />;
  return (
    <>
      <Title text="This screen does not exist" />
      <p>
        <a href={hashOf([])}>Back to sets and filters</a>
      </p>
    </>
  );
}
