import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { may, type Scope } from '../session.js';

interface ButtonProps {
  readonly children: ComponentChildren;
  readonly onClick?: () => void;
  readonly type?: 'button' | 'submit';
  readonly look?: 'primary' | 'plain' | 'danger' | 'quiet';
  /** Without this scope, the button is disabled and says why. */
  readonly needs?: Scope;
  readonly disabled?: boolean;
  readonly label?: string;
  /** For a button that shows or hides something. */
  readonly pressed?: boolean;
}

export function Button(props: ButtonProps): preact.JSX.Element {
  const {
    children,
    onClick,
    type = 'button',
    look = 'plain',
    needs,
    disabled = false,
    label,
    pressed,
  } = props;
  const id = useId();
  const refused = needs !== undefined && !may(needs);
  const reason = refused ? `Needs a key with the scope “${needs}”` : undefined;
  return (
    <>
      <button
        type={type}
        class={`button ${look}`}
        disabled={disabled}
        aria-disabled={refused || undefined}
        aria-describedby={refused ? id : undefined}
        aria-label={label}
        aria-pressed={pressed}
        title={reason}
        onClick={(event) => {
          if (refused) event.preventDefault();
          else onClick?.();
        }}
      >
        {children}
      </button>
      {refused && (
        <span id={id} class="unseen">
          {reason}
        </span>
      )}
    </>
  );
}

/** A link that looks like a button. Without the scope, it is a disabled button. */
export function ButtonLink({
  href,
  needs,
  children,
}: {
  readonly href: string;
  readonly needs: Scope;
  readonly children: ComponentChildren;
}): preact.JSX.Element {
  if (!may(needs))
    return (
      <Button needs={needs} look="primary">
        {children}
      </Button>
    );
  return (
    <a class="button primary" href={href}>
      {children}
    </a>
  );
}
