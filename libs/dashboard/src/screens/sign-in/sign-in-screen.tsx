import { useEffect, useRef, useState } from 'preact/hooks';
import { signIn, type SignInReason } from '../../session.js';
import { useAct } from '../../ui/act.js';
import { Button } from '../../ui/button.js';
import { Field } from '../../ui/field.js';
import { Failure, Notice } from '../../ui/notice.js';
import { Title } from '../../ui/title.js';

const WHY: Readonly<Partial<Record<SignInReason, string>>> = {
  'now needed': 'The service now requires an API key. Your last action was not applied.',
  ended: 'Your key is no longer valid: it expired or was revoked. Your last action was not applied.',
  left: 'You have signed out.',
};

/** Asks for a key. The address doesn't change, so the requested screen appears after the sign-in. */
export function SignInScreen({ why }: { readonly why: SignInReason }): preact.JSX.Element {
  const [key, setKey] = useState('');
  const { working, error, act } = useAct();
  const input = useRef<HTMLInputElement>(null);
  // Needed even after a rejected key, because the button lost the focus when it was disabled.
  useEffect(() => {
    if (!working) input.current?.focus();
  }, [working]);
  const submit = (event: Event): void => {
    event.preventDefault();
    if (key.trim() !== '') void act(() => signIn(key.trim()));
  };
  return (
    <form class="panel sign-in" onSubmit={submit}>
      <Title text="Sign in" />
      {WHY[why] !== undefined && <Notice tone={why === 'left' ? 'info' : 'warn'}>{WHY[why]}</Notice>}
      {error && <Failure error={error} what="Sign-in failed" />}
      <Field
        label="API key"
        hint="The browser keeps it for this tab only, and sends it only to this service."
        error={why === 'wrong' ? 'The service does not accept this key.' : undefined}
      >
        {(props) => (
          <input
            {...props}
            ref={input}
            type="password"
            autocomplete="off"
            spellcheck={false}
            value={key}
            onInput={(event) => setKey(event.currentTarget.value)}
          />
        )}
      </Field>
      <Button type="submit" look="primary" disabled={working}>
        {working ? 'Signing in …' : 'Sign in'}
      </Button>
      <p class="hint">
        Create a key with <code>npm run keys -- create</code>, or ask someone whose key has the scope “admin”.
      </p>
    </form>
  );
}
