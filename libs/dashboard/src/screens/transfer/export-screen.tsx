import { useRef, useState } from 'preact/hooks';
import { LEFT } from '../../connection.js';
import { bytes } from '../../format.js';
import { useAskBeforeUnload, useLeaving } from '../../leaving.js';
import { usePoll, type Polled } from '../../poll.js';
import { client } from '../../session.js';
import { entriesIn, handleOf, isLost, queueOf, type Described, type Subject } from '../../sets.js';
import { Bar } from '../../ui/bar.js';
import { Button } from '../../ui/button.js';
import { Crumbs } from '../../ui/crumbs.js';
import { Lost } from '../../ui/lost.js';
import { isGone, Missing } from '../../ui/missing.js';
import { Failure, Notice } from '../../ui/notice.js';
import { Title } from '../../ui/title.js';
import { canStream, chosenFile, download, type Target } from '../../save.js';

/** From this size on, an export goes straight to a file if the browser can write one, instead of into memory. */
const LARGE = 32e6;

/** Downloads a set as a file. A plain link couldn't send the key. */
export function ExportScreen(subject: Subject): preact.JSX.Element {
  const { kind, name } = subject;
  const polled = usePoll<Described>(
    `export of ${kind}/${name}`,
    (signal) => handleOf(client.value, kind, name).describe({ signal }),
    30_000,
  );
  return (
    <>
      <Crumbs kind={kind} name={name} />
      <Title text={`Export ${name}`} />
      <Body subject={subject} polled={polled} />
    </>
  );
}

function Body({
  subject,
  polled,
}: {
  readonly subject: Subject;
  readonly polled: Polled<Described>;
}): preact.JSX.Element {
  const { data, error } = polled;
  if (!data || isGone(error)) return <Missing subject={subject} polled={polled} rows={2} />;
  if (isLost(data)) return <Lost {...subject} />;
  return <ExportPanel subject={subject} described={data} />;
}

type State =
  | { readonly is: 'idle' }
  | { readonly is: 'running'; readonly got: number }
  | { readonly is: 'done'; readonly got: number }
  | { readonly is: 'stopped' }
  | { readonly is: 'failed'; readonly error: Error };

function ExportPanel({
  subject: { kind, name },
  described,
}: {
  readonly subject: Subject;
  readonly described: Described;
}): preact.JSX.Element {
  const [state, setState] = useState<State>({ is: 'idle' });
  const stopping = useRef(new AbortController());
  const leaving = useLeaving();
  useAskBeforeUnload(state.is === 'running');
  const { memoryBytes } = described;
  const streams = memoryBytes >= LARGE && canStream();
  const start = async (): Promise<void> => {
    stopping.current = new AbortController();
    const signal = AbortSignal.any([leaving, stopping.current.signal]);
    let target: Target | undefined;
    try {
      // Some file systems don't allow ":" in names.
      const file = `${name.replaceAll(':', '_')}.unseen`;
      target = streams ? await chosenFile(file) : download(file);
      if (!target) return;
      setState({ is: 'running', got: 0 });
      const source = await handleOf(client.value, kind, name).export({ signal });
      const got = await copy(source, target, signal, (sofar) => setState({ is: 'running', got: sofar }));
      await target.close();
      setState({ is: 'done', got });
    } catch (error) {
      await target?.abort().catch(() => undefined);
      if (leaving.aborted) return;
      setState(stopping.current.signal.aborted ? { is: 'stopped' } : { is: 'failed', error: error as Error });
    }
  };
  return (
    <section class="panel narrow" aria-labelledby="export">
      <h2 id="export">Export as a file</h2>
      <p>
        {kind === 'sets'
          ? 'The file has the counters, the queue and the URL rules.'
          : 'The file has the counters.'}{' '}
        You can import it under any name, here or elsewhere, and it gives the same answers. Clients can keep
        writing during the export.
      </p>
      <p>
        About {bytes(memoryBytes)}
        {queued(described) > 0 && ', plus the queue'}.{' '}
        {memoryBytes >= LARGE &&
          (streams
            ? 'You choose the file, and the browser writes to it as data arrives.'
            : 'This browser keeps the whole export in memory and temporary files before it saves it, so you need that much free space. Curl, and browsers that let pages write to files, do not need that space.')}
      </p>
      <div aria-live="polite">
        <Progress state={state} most={memoryBytes} />
      </div>
      <div class="actions">
        {state.is === 'running' ? (
          <Button onClick={() => stopping.current.abort(LEFT)}>Stop</Button>
        ) : (
          <Button look="primary" needs="admin" onClick={() => void start()}>
            {streams ? 'Export to a file …' : 'Export'}
          </Button>
        )}
      </div>
    </section>
  );
}

function Progress({
  state,
  most,
}: {
  readonly state: State;
  readonly most: number;
}): preact.JSX.Element | null {
  switch (state.is) {
    case 'idle':
      return null;
    case 'running':
      return (
        <div class="progress">
          <Bar value={state.got} most={most} tone="info" label="Part of the export that was received" />
          <p>
            {bytes(state.got)} of about {bytes(most)}
          </p>
        </div>
      );
    case 'done':
      return <Notice tone="good">Exported: {bytes(state.got)}.</Notice>;
    case 'stopped':
      return <Notice tone="warn">Stopped: nothing was saved.</Notice>;
    case 'failed':
      return <Failure error={state.error} what="The export broke off, and nothing was saved" />;
  }
}

function queued(described: Described): number {
  const queue = queueOf(described);
  return queue ? entriesIn(queue) : 0;
}

/** Copies the stream in parts. Throws if the source fails. */
async function copy(
  source: ReadableStream<Uint8Array>,
  target: Target,
  signal: AbortSignal,
  onPart: (got: number) => void,
): Promise<number> {
  const reader = source.getReader();
  let got = 0;
  try {
    for (;;) {
      signal.throwIfAborted();
      const { done, value } = await reader.read();
      if (done) return got;
      // Bytes from the network are never in shared memory.
      await target.write(value as Uint8Array<ArrayBuffer>);
      got += value.length;
      onPart(got);
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
