import { useRef, useState } from 'preact/hooks';
import { LEFT } from '../../connection.js';
import { bytes, share, time, whole } from '../../format.js';
import { useAskBeforeUnload, useLeaving } from '../../leaving.js';
import { FileDrop } from '../../lines/list-input.js';
import { hashOf } from '../../router.js';
import { client, may, prefix } from '../../session.js';
import { handleOf, KIND_NAMES, type Kind } from '../../sets.js';
import { Button } from '../../ui/button.js';
import { Crumbs } from '../../ui/crumbs.js';
import { Facts } from '../../ui/facts.js';
import { Field } from '../../ui/field.js';
import { Failure, Notice } from '../../ui/notice.js';
import { Title } from '../../ui/title.js';
import { headerOf, type FileHeader } from './file-header.js';

interface Chosen {
  readonly file: File;
  readonly header: FileHeader;
}

type State =
  | { readonly is: 'idle' | 'running' | 'stopped' }
  | { readonly is: 'done'; readonly kind: Kind; readonly name: string }
  | { readonly is: 'failed'; readonly error: Error };

/** Creates a set from an export file. */
export function ImportScreen(): preact.JSX.Element {
  const [chosen, setChosen] = useState<Chosen>();
  const [fault, setFault] = useState<Error>();
  const [name, setName] = useState('');
  const [state, setState] = useState<State>({ is: 'idle' });
  const stopping = useRef(new AbortController());
  const leaving = useLeaving();
  const isRunning = state.is === 'running';
  useAskBeforeUnload(isRunning);
  const choose = async ([file]: readonly File[]): Promise<void> => {
    if (!file) return;
    setState({ is: 'idle' });
    setChosen(undefined);
    setFault(undefined);
    try {
      const header = await headerOf(file);
      setChosen({ file, header });
      setName(header.name.startsWith(prefix.peek()) ? header.name : prefix.peek() + header.name);
    } catch (error) {
      setFault(error as Error);
    }
  };
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (!chosen || name.trim() === '') return;
    const { file, header } = chosen;
    stopping.current = new AbortController();
    const signal = AbortSignal.any([leaving, stopping.current.signal]);
    setState({ is: 'running' });
    try {
      const made = await handleOf(client.value, header.kind, name.trim()).import(file, { signal });
      setState({ is: 'done', kind: header.kind, name: made.name });
      setChosen(undefined);
    } catch (error) {
      if (leaving.aborted) return;
      setState(stopping.current.signal.aborted ? { is: 'stopped' } : { is: 'failed', error: error as Error });
    }
  };
  return (
    <>
      <Crumbs />
      <Title text="Import" />
      {!may('admin') && <Notice tone="warn">Importing needs a key with the scope “admin”.</Notice>}
      <form class="panel narrow" onSubmit={(event) => void submit(event)}>
        {!isRunning && (
          <FileDrop
            label="Drop an export here"
            hint="A file that an export created, usually NAME.unseen."
            onFiles={(files) => void choose(files)}
          />
        )}
        {fault && <Failure error={fault} what="This file cannot be imported" />}
        {chosen && <Described chosen={chosen} />}
        {chosen && !isRunning && (
          <Field label="Name" hint="Change the name if it is already taken">
            {(props) => (
              <input
                {...props}
                autocomplete="off"
                spellcheck={false}
                maxLength={64}
                value={name}
                onInput={(event) => setName(event.currentTarget.value)}
              />
            )}
          </Field>
        )}
        <div aria-live="polite">
          <Outcome state={state} size={chosen?.file.size ?? 0} />
        </div>
        {chosen && (
          <div class="actions">
            {isRunning ? (
              <Button onClick={() => stopping.current.abort(LEFT)}>Stop</Button>
            ) : (
              <Button
                type="submit"
                look="primary"
                needs="admin"
                disabled={may('admin') && name.trim() === ''}
              >
                Import
              </Button>
            )}
          </div>
        )}
      </form>
    </>
  );
}

function Described({ chosen: { file, header } }: { readonly chosen: Chosen }): preact.JSX.Element {
  return (
    <Facts
      facts={[
        ['File', `${file.name}, ${bytes(file.size)}`],
        ['Was', `${KIND_NAMES[header.kind]} ${header.name}`],
        ['Capacity', whole(header.capacity)],
        ['Error rate', share(header.errorRate)],
        ['Exported', time(new Date(header.exportedAt).toISOString())],
      ]}
    />
  );
}

function Outcome({
  state,
  size,
}: {
  readonly state: State;
  readonly size: number;
}): preact.JSX.Element | null {
  switch (state.is) {
    case 'idle':
      return null;
    case 'running':
      return (
        <div class="progress">
          <progress class="bar info" aria-label="Import in progress" />
          <p>
            Sending and checking {bytes(size)}. Browsers do not report the progress; nothing is created until
            the whole file has arrived.
          </p>
        </div>
      );
    case 'stopped':
      return (
        <Notice tone="warn">
          Stopped. If the whole file had already been sent, the import may still have succeeded: look for the
          name in the list before you import the file again.
        </Notice>
      );
    case 'done':
      return (
        <Notice tone="good">
          <p>
            Imported: <a href={hashOf([state.kind, state.name])}>{state.name}</a>
          </p>
        </Notice>
      );
    case 'failed':
      return (
        <Failure error={state.error} what="The export was not imported" unsure="Import status unknown" />
      );
  }
}
