import { useState } from 'preact/hooks';
import { time } from '../../format.js';
import { hasKey, session, signIn } from '../../session.js';
import { useAct } from '../../ui/act.js';
import { Button } from '../../ui/button.js';
import { Field } from '../../ui/field.js';
import { Failure } from '../../ui/notice.js';
import { forget, unkept, type MadeKey } from './made-keys.js';

/** Shows each new key's secret until the user confirms that it is saved. */
export function KeptSecrets(): preact.JSX.Element | null {
  const { value: keys } = unkept;
  if (keys.length === 0) return null;
  return (
    <>
      {keys.map((key) => (
        <Secret key={key.made.id} of={key} />
      ))}
    </>
  );
}

function Secret({ of }: { readonly of: MadeKey }): preact.JSX.Element {
  const { made, replaces } = of;
  const [copied, setCopied] = useState(false);
  const copying = useAct();
  const signingIn = useAct();
  const { value: now } = session;
  const isOwn = now.is === 'open' && now.me.id === `key:${made.id}`;
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(made.key);
    setCopied(true);
  };
  return (
    <section class="panel narrow secret" aria-labelledby={`secret-${made.id}`}>
      <h2 id={`secret-${made.id}`}>Key {made.name} created: save it now</h2>
      <Field label={`Key ${made.name}`} hint="The service shows it only once, and keeps only a digest of it.">
        {(props) => (
          <span class="joined">
            <input
              {...props}
              class="code"
              readOnly
              value={made.key}
              onFocus={(event) => event.currentTarget.select()}
            />
            {/* Browsers offer the clipboard only on secure pages. */}
            {'clipboard' in navigator && <Button onClick={() => void copying.act(copy)}>Copy</Button>}
          </span>
        )}
      </Field>
      {replaces && (
        <p>
          The old key <code>{replaces.id}</code> is valid until {time(replaces.until)}.
        </p>
      )}
      {isOwn && <p>You are signed in with it.</p>}
      {copying.error && <Failure error={copying.error} what="The key was not copied" />}
      {signingIn.error && <Failure error={signingIn.error} what={`Sign-in with key ${made.name} failed`} />}
      <div class="actions">
        <Button look="primary" onClick={() => forget(of)}>
          I saved it
        </Button>
        {!isOwn && (
          <Button disabled={signingIn.working} onClick={() => void signingIn.act(() => signIn(made.key))}>
            {hasKey.value ? 'Switch to it here' : 'Sign in with it'}
          </Button>
        )}
        <span role="status" class="hint">
          {copied && 'Copied.'}
        </span>
      </div>
    </section>
  );
}
